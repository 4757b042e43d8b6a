import { BlockList, isIP, isIPv6 } from 'node:net'

/**
 * Networks that are not the public Internet: nothing an account or a webhook names may be dialled there unless the
 * installation allows it. From the registries of special-purpose addresses for IPv4 and IPv6, and the public address at
 * which every machine of Azure finds the services of its host.
 */
const NOT_PUBLIC: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 128],
  ['::1', 128],
  ['::ffff:0:0:0', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['100:0:0:1::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]

const blocked = new BlockList()
for (const [network, prefix] of NOT_PUBLIC) blocked.addSubnet(network, prefix, isIPv6(network) ? 'ipv6' : 'ipv4')

/** Whether an IP address, as text, belongs to the public Internet. */
export function isPublicAddress(address: string): boolean {
  const bare = address.split('%')[0] ?? ''
  switch (isIP(bare)) {
    case 4:
      return !blocked.check(bare, 'ipv4')
    case 6: {
      const inside = ipv4Inside(bare)
      return inside === null ? !blocked.check(bare, 'ipv6') : isPublicAddress(inside)
    }
    default:
      return false
  }
}

/** `::7f00:1`, `::ffff:7f00:1` and `64:ff9b::7f00:1`, as a URL writes them: in hexadecimal, the longest zeros left away. */
const WITH_IPV4 = /^(?:::|::ffff:|64:ff9b::)(?:(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4}))?$/

/** The IPv4 address that an IPv6 one stands for: mapped (::ffff:a.b.c.d), compatible (::a.b.c.d) or NAT64 (64:ff9b::). */
function ipv4Inside(address: string): string | null {
  const match = WITH_IPV4.exec(new URL(`http://[${address}]`).hostname.slice(1, -1))
  if (!match) return null
  const [high, low] = [match[1], match[2]].map((group) => Number.parseInt(group ?? '0', 16))
  return [high, low].flatMap((group = 0) => [group >> 8, group & 255]).join('.')
}

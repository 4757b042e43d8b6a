import { BlockList, isIP, isIPv6 } from 'node:net'

/**
 * Networks that are not the public Internet: nothing an account or a webhook names may be dialled there unless the
 * installation allows it. From the registries of special-purpose addresses for IPv4 and IPv6.
 */
const NOT_PUBLIC: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
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
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
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

/** The IPv4 address that an IPv6 one stands for: mapped (::ffff:a.b.c.d), compatible (::a.b.c.d) or NAT64 (64:ff9b::). */
function ipv4Inside(address: string): string | null {
  const groups = expand(address)
  const head = groups.slice(0, 6).map((group) => Number.parseInt(group, 16))
  const isZero = (from: number, to: number): boolean => head.slice(from, to).every((group) => group === 0)
  const isMapped = isZero(0, 5) && head[5] === 0xffff
  const isCompatible = isZero(0, 6) && !['::', '::1'].includes(shortOf(groups))
  const isNat64 = head[0] === 0x64 && head[1] === 0xff9b && isZero(2, 6)
  if (!isMapped && !isCompatible && !isNat64) return null
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16))
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** All eight groups, in hexadecimal. */
function expand(address: string): string[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const hex = (a: string | undefined, b: string | undefined): string => ((Number(a) << 8) | Number(b)).toString(16)
  const text = dotted ? `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}` : address
  const [head = '', tail] = text.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after]
}

function shortOf(groups: readonly string[]): string {
  const last = Number.parseInt(groups[7] ?? '0', 16)
  const isRestZero = groups.slice(0, 7).every((group) => Number.parseInt(group, 16) === 0)
  return isRestZero && last <= 1 ? (last === 0 ? '::' : '::1') : groups.join(':')
}

import { BlockList, isIP, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'

/** How many proxies stand in front, or the addresses and ranges (`10.0.0.0/8`) they have. */
export type TrustedProxies = number | readonly string[]

/**
 * Whether the proxy at `address`, `hop` steps away from us, is believed when it says in `X-Forwarded-For` whom it speaks
 * for. In the form that Fastify wants; `false` where nobody is, so that the header is not even looked at.
 */
export function trustIn(proxies: TrustedProxies): false | ((address: string, hop: number) => boolean) {
  if (typeof proxies === 'number') return proxies > 0 && ((_address, hop) => hop < proxies)
  if (proxies.length === 0) return false
  const trusted = new BlockList()
  for (const proxy of proxies) {
    const [network = '', prefix] = proxy.split('/')
    const family = isIPv6(network) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) trusted.addAddress(network, family)
    else trusted.addSubnet(network, Number(prefix), family)
  }
  return (address) => {
    const bare = withoutPort(address)
    return isIP(bare) !== 0 && trusted.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4')
  }
}

/**
 * What limits count a caller by: its address, whatever port it came from. With IPv6 whoever has one address has the 2^64
 * around it, so those count as one.
 */
export function clientOf({ ip }: Pick<FastifyRequest, 'ip'>): string {
  const address = withoutPort(ip)
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  return mapped ?? `${networkOf(address)}::/64`
}

/** Some proxies write `192.0.2.1:50123` and `[2001:db8::1]:50123`. */
function withoutPort(address: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? address
}

/** The first four groups, each in its shortest form, of an address that is known to be one. */
function networkOf(address: string): string {
  const [before = '', after] = address.toLowerCase().split('::')
  const groups = before === '' ? [] : before.split(':')
  if (after !== undefined) {
    const rest = after === '' ? [] : after.split(':')
    // An IPv4 address at the end stands for two groups.
    const written = groups.length + rest.length + (after.includes('.') ? 1 : 0)
    groups.push(...Array.from({ length: 8 - written }, () => '0'), ...rest)
  }
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}

import { CHANNELS, type Channel } from '@pillarbox/client/contract'

export { CHANNELS, type Channel } from '@pillarbox/client/contract'

export function isChannel(value: unknown): value is Channel {
  return typeof value === 'string' && (CHANNELS as readonly string[]).includes(value)
}

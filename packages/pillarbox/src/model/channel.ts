/** The ways a notification can reach somebody. One word each, in SQL, types, routes, metrics and docs. */
export const CHANNELS = ['whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook'] as const

export type Channel = (typeof CHANNELS)[number]

export function isChannel(value: unknown): value is Channel {
  return typeof value === 'string' && (CHANNELS as readonly string[]).includes(value)
}

import type { Channel } from './channel.ts'

/** Where a notification goes: what its channel needs, and the name if known. */
export interface Address {
  name?: string
  email?: string
  phone?: string
  deviceToken?: string
  platform?: 'fcm' | 'wns'
  userId?: string
  url?: string
  contactId?: string
  list?: string
}

const FIELD = {
  whatsapp: 'phone',
  sms: 'phone',
  email: 'email',
  push: 'deviceToken',
  in_app: 'userId',
  webhook: 'url',
} as const satisfies Record<Channel, keyof Address>

/** The one field of an address that the channel sends to. */
export function addressField(channel: Channel): (typeof FIELD)[Channel] {
  return FIELD[channel]
}

/** What the channel sends to, or `null` where the address has nothing for it. */
export function addressOf(channel: Channel, to: Address): string | null {
  return to[FIELD[channel]] || null
}

/** Whether text can be a user's id: one line of at most 200 characters that can stand in a path, as `.` and `..` cannot. */
export function isUserId(text: string): boolean {
  if (text === '.' || text === '..') return false
  return text.isWellFormed() && /^[^\p{Cc}\u2028\u2029]{1,200}$/u.test(text)
}

/** Enough to recognise an address one knows, too little to use one that one does not. */
export function maskAddress(to: Address): Address {
  const masked: Address = { ...to }
  if (to.email !== undefined) masked.email = maskEmail(to.email)
  if (to.phone !== undefined) masked.phone = maskMiddle(to.phone, 3, 2)
  if (to.deviceToken !== undefined) masked.deviceToken = maskMiddle(to.deviceToken, 4, 4)
  if (to.url !== undefined) masked.url = maskUrl(to.url)
  if (to.name !== undefined) masked.name = maskMiddle(to.name, 1, 0)
  return masked
}

function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  return at < 1 ? maskMiddle(email, 1, 0) : `${maskMiddle(email.slice(0, at), 1, 0)}${email.slice(at)}`
}

function maskUrl(url: string): string {
  // Scheme and host; not the user, the path, the query or the fragment, each of which may be a secret.
  const match = /^([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#]*@)?([^/?#\s]+)(.?)/i.exec(url)
  return match ? `${match[1]}${match[2]}${match[3] ? '/***' : ''}` : '***'
}

function maskMiddle(text: string, head: number, tail: number): string {
  if (text.length <= head + tail) return '***'
  return `${text.slice(0, head)}***${tail ? text.slice(-tail) : ''}`
}

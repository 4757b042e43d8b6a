import type { Channel } from './channel.ts'
import type { FieldError } from './errors.ts'
import { type Address, addressField, addressOf } from './recipient.ts'

/** What the field of an address that a channel sends to has to be, in words. */
export const ADDRESS_FORMS = {
  phone: 'a phone number in international form, such as +919876543210',
  email: 'an email address, such as guest@example.com',
  url: 'an http or https URL without user or password',
  deviceToken: 'a device token of one line and at most 4,096 characters',
  userId: 'a user id of one line and at most 4,096 characters',
} as const satisfies Record<ReturnType<typeof addressField>, string>

/** Whether an address has the form its channel needs. What has not would be refused, or worse, read differently. */
export function isDeliverable(channel: Channel, address: string): boolean {
  switch (channel) {
    case 'whatsapp':
    case 'sms':
      return isPhone(address)
    case 'email':
      return isEmail(address)
    case 'webhook':
      return isWebhookUrl(address)
    case 'push':
    case 'in_app':
      return address.length <= 4_096 && !/\p{Cc}/u.test(address)
  }
}

/**
 * What tells whether two addresses of a channel are one. Servers that give `Ada@` and `ada@` to two people are as good
 * as extinct; of every other address each character counts.
 */
export function addressIdentity(channel: Channel, address: string): string {
  return channel === 'email' ? address.toLowerCase() : address
}

/** E.164 in ASCII digits. Given on to the provider exactly as it stands. */
export function isPhone(text: string): boolean {
  return /^\+[1-9][0-9]{6,14}$/.test(text)
}

const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const DOMAIN = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/

/**
 * One plain mailbox. Quoted local parts, comments, groups, lists and source routes are refused: mail systems read them
 * in different ways. An international domain is written in its `xn--` form.
 */
export function isEmail(text: string): boolean {
  if (text.length > 254) return false
  const at = text.indexOf('@')
  return at > 0 && at <= 64 && LOCAL.test(text.slice(0, at)) && DOMAIN.test(text.slice(at + 1))
}

/** Whether the host may be reached is judged when it is dialled, not by its spelling. */
export function isWebhookUrl(text: string): boolean {
  if (text.length > 2_048 || /\s/.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.username === '' && url.password === ''
}

/**
 * What is wrong with an address that is to be used on `channel`. Every field that is given is looked at, because a
 * fallback may use it later. A recipient list stands alone: it is resolved when it is sent.
 */
export function addressProblems(channel: Channel, to: Address): FieldError[] {
  const problems: FieldError[] = []
  const wrong = (field: keyof Address, message: string): void => void problems.push({ path: `/to/${field}`, message })
  if (to.list !== undefined) {
    for (const field of Object.keys(to)) if (field !== 'list') wrong(field as keyof Address, 'cannot stand beside list')
    if (channel !== 'email')
      wrong(
        'list',
        `is addressed as a whole by email only; for ${channel} use expand: true, one notification per member`,
      )
    return problems
  }
  if (addressOf(channel, to) === null && to.contactId !== undefined)
    wrong('contactId', `names a contact without what the channel ${channel} needs: ${addressField(channel)}`)
  else if (addressOf(channel, to) === null) wrong(addressField(channel), `is required for the channel ${channel}`)
  if (to.phone !== undefined && !isPhone(to.phone))
    wrong('phone', 'must be a telephone number in E.164 form, such as +919876543210')
  if (to.email !== undefined && !isEmail(to.email)) wrong('email', 'must be an email address, such as a@example.com')
  if (to.url !== undefined && !isWebhookUrl(to.url))
    wrong('url', 'must be an http or https URL without user or password')
  if (to.deviceToken !== undefined && to.platform === undefined) wrong('platform', 'is required beside deviceToken')
  return problems
}

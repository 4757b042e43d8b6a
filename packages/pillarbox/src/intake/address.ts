import type { Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import { type Address, addressField, addressOf } from '../model/recipient.ts'

/**
 * What is wrong with an address that is to be used on `channel`. Every field that is given is looked at, because a
 * fallback may use it later.
 */
export function addressProblems(channel: Channel, to: Address): FieldError[] {
  const problems: FieldError[] = []
  const wrong = (field: keyof Address, message: string): void => void problems.push({ path: `/to/${field}`, message })
  if (addressOf(channel, to) === null) wrong(addressField(channel), `is required for the channel ${channel}`)
  if (to.phone !== undefined && !isPhone(to.phone))
    wrong('phone', 'must be a telephone number in E.164 form, such as +919876543210')
  if (to.email !== undefined && !isEmail(to.email)) wrong('email', 'must be an email address, such as a@example.com')
  if (to.url !== undefined && !isWebhookUrl(to.url))
    wrong('url', 'must be an http or https URL without user or password')
  if (to.deviceToken !== undefined && to.platform === undefined) wrong('platform', 'is required beside deviceToken')
  return problems
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

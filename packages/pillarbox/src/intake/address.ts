import { isEmail, isPhone, isWebhookUrl } from '../model/address.ts'
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

import { isEmail, isPhone, isWebhookUrl } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import { type Address, addressField, addressOf } from '../model/recipient.ts'

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

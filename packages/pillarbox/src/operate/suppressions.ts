import { isDeliverable } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import { addressField } from '../model/recipient.ts'
import { normalised } from './people.ts'

/**
 * An address as notifications on the channel have it, so that they are found by it. Null, with a line in `problems`,
 * where nothing could ever be sent to it.
 */
export function addressToSuppress(
  channel: Channel,
  text: string,
  { region, problems }: { region: string | null; problems: FieldError[] },
): string | null {
  const wrong = (message: string): null => {
    problems.push({ path: '/address', message })
    return null
  }
  const field = addressField(channel)
  if (field === 'phone' || field === 'email') {
    const found: FieldError[] = []
    const read: { phone?: string | null; email?: string | null } = { [field]: text }
    const address = normalised(read, { region, at: '', problems: found })[field]
    return typeof address === 'string' ? address : wrong(found[0]?.message ?? `must be what ${channel} sends to`)
  }
  if (isDeliverable(channel, text)) return text
  return wrong(
    channel === 'webhook'
      ? 'must be an http or https URL without user or password, as notifications have it'
      : 'must have at most 4,096 characters, and no control characters',
  )
}

/** How an address that somebody looks for may be kept, likeliest first: as it stands, as a telephone number, as an email. */
export function addressesToLookFor(text: string, region: string | null): string[] {
  const read: { phone?: string | null; email?: string | null } = { phone: text, email: text }
  const { phone, email } = normalised(read, { region, at: '', problems: [] })
  return [...new Set([text, phone, email].filter((each) => typeof each === 'string'))]
}

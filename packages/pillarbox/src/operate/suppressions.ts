import { isDeliverable } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import { type FieldError, found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { Page, PageOf } from '../model/page.ts'
import type { IdSource } from '../model/ports.ts'
import { addressField } from '../model/recipient.ts'
import type { Suppression } from '../model/suppression.ts'
import { regionOf } from '../model/tenant.ts'
import type { Store } from '../store/store.ts'
import type { Operator } from './operator.ts'
import { normalised } from './people.ts'

type SuppressionStores = Pick<Store, 'suppressions' | 'tenants'>

/** Keeps an address from being used on a channel until the suppression is lifted. */
export async function suppressAddress(
  { store, ids }: { store: SuppressionStores; ids: IdSource },
  { tenantId, actor }: Operator,
  { channel, address: given }: { channel: Channel; address: string },
): Promise<Suppression> {
  const problems: FieldError[] = []
  const region = regionOf(await store.tenants.find(tenantId))
  const address = addressToSuppress(channel, given, { region, problems })
  if (address === null) throw invalidBody(problems)
  const id = ids()
  const by = { cause: 'operator', error: null, notificationId: null, createdBy: actor } as const
  if (!(await store.suppressions.insert({ id, tenantId, channel, address, ...by })))
    throw new PillarboxError('already_exists', `The address is suppressed on ${channel} already.`)
  return found(await store.suppressions.find(tenantId, id))
}

/** The address is used again. What was stopped because of it stays parked. */
export async function liftSuppression(
  { suppressions }: Pick<Store, 'suppressions'>,
  { tenantId, actor }: Operator,
  id: string,
  note: string | null = null,
): Promise<void> {
  found(await suppressions.remove(tenantId, id, actor, note))
}

/** Suppressions by channel, and by an address however it is written. */
export async function findSuppressions(
  store: SuppressionStores,
  tenantId: string,
  { address, channel, ...page }: Page & { address?: string; channel?: Channel },
): Promise<PageOf<Suppression>> {
  const filter = channel === undefined ? {} : { channel }
  if (address === undefined) return await store.suppressions.list(tenantId, filter, page)
  // A plus sign that was not escaped arrives as a space, and no address begins with one.
  const wanted = address.replace(/^ (?=\d)/, '+')
  for (const each of addressesToLookFor(wanted, regionOf(await store.tenants.find(tenantId)))) {
    const some = await store.suppressions.list(tenantId, { ...filter, address: each }, page)
    if (some.items.length > 0) return some
  }
  return { items: [], nextCursor: null }
}

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

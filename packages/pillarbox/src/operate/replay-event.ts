import { found, PillarboxError } from '../model/errors.ts'
import type { StoredEvent } from '../model/event.ts'
import { everyRow } from '../model/page.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'

/**
 * failed → pending, to be planned again. Event ids are unique per tenant only: where no tenant is named, the one tenant
 * that has such an event is meant, and it is an error if there are several.
 */
export async function replayEvent(
  { store, nudge }: { store: Pick<Store, 'events' | 'tenants'>; nudge: (topic: WakeTopic) => void },
  { tenantId, id, actor }: { tenantId: string | null; id: string; actor: string },
): Promise<StoredEvent> {
  const event = found(tenantId === null ? await findAnywhere(store, id) : await store.events.find(tenantId, id))
  if (!(await store.events.replay(event.tenantId, id, actor)))
    throw new PillarboxError('not_failed', `The event is ${event.status}.`)
  nudge('events')
  return (await store.events.find(event.tenantId, id)) ?? event
}

async function findAnywhere(store: Pick<Store, 'events' | 'tenants'>, id: string): Promise<StoredEvent | null> {
  const matches: StoredEvent[] = []
  for await (const tenant of everyRow((page) => store.tenants.list(page))) {
    const event = await store.events.find(tenant.id, id)
    if (event) matches.push(event)
  }
  if (matches.length > 1)
    throw new PillarboxError('invalid_query', 'Several tenants have an event with this id: name one with ?tenantId=.', {
      errors: [{ path: 'tenantId', message: 'is required, because several tenants have an event with this id' }],
    })
  return matches[0] ?? null
}

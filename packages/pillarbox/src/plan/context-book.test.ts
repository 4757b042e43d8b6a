import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { sampleTemplate, storedAccount } from '../../../../test/support/samples.ts'
import type { Store } from '../store/store.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { createContextBook } from './context-book.ts'
import { bodyOf, openPlanning } from './fixture.ts'

const MAX_AGE_MS = 1_000

function setup({ loadMs = 0 } = {}) {
  const clock = createManualClock()
  const rows = {
    tenantName: 'Acme',
    templates: [sampleTemplate(), sampleTemplate({ id: 'template-2', isActive: false })],
    accounts: [
      storedAccount({ id: 'first' }),
      storedAccount({ id: 'off', status: 'suspended' }),
      storedAccount({ id: 'ill', status: 'paused' }),
      storedAccount({ id: 'second' }),
    ],
  }
  const reads: string[] = []
  const world = { isAway: false }
  const store = {
    tenants: {
      find: async (id: string) => {
        reads.push(id)
        const { tenantName } = rows
        if (loadMs > 0) await clock.sleep(loadMs)
        return id === 'acme' ? { id, name: tenantName, defaultLocale: 'en', settings: { region: 'DE' } } : null
      },
    },
    catalogue: {
      eventType: async (tenantId: string, name: string) => {
        if (world.isAway) throw new Error('the store is away')
        reads.push(`${tenantId} ${name}`)
        return name === 'booking.confirmed' ? { name, payload: null, secrets: [] } : null
      },
      cancelledBy: async () => ['booking.reminder'],
      domainEvents: async () => ({}),
      current: async (tenantId: string) => (tenantId === 'acme' ? { defaultLocale: 'de-DE' } : null),
    },
    templates: { ofEventType: async () => rows.templates },
    accounts: { list: async () => rows.accounts },
  } as unknown as Store
  return { clock, rows, reads, world, book: createContextBook(store, createTenantSnapshots(store, clock, MAX_AGE_MS)) }
}

it('loads active templates only, and accounts in the order of the store', async () => {
  const { book } = setup()

  const context = await book.get('acme', 'booking.confirmed')

  assert.equal(context.tenant?.name, 'Acme')
  assert.equal(context.eventType?.name, 'booking.confirmed')
  assert.deepEqual(
    context.templates.map(({ id }) => id),
    ['template-1'],
  )
  assert.deepEqual(
    context.accounts.map(({ id }) => id),
    ['first', 'off', 'ill', 'second'],
  )
})

it('knows what an event cancels, the last locale to try, the region and how words are rendered', async () => {
  const { cancels, catalogueLocale, region, rendering } = await setup().book.get('acme', 'booking.confirmed')

  assert.deepEqual([cancels, catalogueLocale, region], [['booking.reminder'], 'de-DE', 'DE'])
  assert.equal(rendering?.missing, 'empty')
})

it('answers that a tenant or an event type does not exist, and remembers it', async () => {
  const { book, reads } = setup()

  await book.get('nobody', 'nothing')

  const { tenant, eventType, rendering } = await book.get('nobody', 'nothing')
  assert.deepEqual([tenant, eventType, rendering], [null, null, null])
  assert.deepEqual(reads, ['nobody', 'nobody nothing'])
})

it('keeps what it read for the given time, then reads it again', async () => {
  const { book, clock, rows } = setup()
  await book.get('acme', 'booking.confirmed')
  rows.tenantName = 'Acme Ltd'

  await clock.advance(MAX_AGE_MS - 1)
  assert.equal((await book.get('acme', 'booking.confirmed')).tenant?.name, 'Acme')
  await clock.advance(1)

  assert.equal((await book.get('acme', 'booking.confirmed')).tenant?.name, 'Acme Ltd')
})

it('keeps tenants and event types apart', async () => {
  const { book, reads } = setup()

  for (const [tenantId, type] of [
    ['acme', 'booking.confirmed'],
    ['acme', 'booking.cancelled'],
    ['acme', 'booking.confirmed'],
    ['other', 'booking.confirmed'],
  ] as const)
    assert.equal((await book.get(tenantId, type)).tenant?.id ?? null, tenantId === 'acme' ? 'acme' : null)

  assert.deepEqual(reads, [
    'acme',
    'acme booking.confirmed',
    'acme booking.cancelled',
    'other',
    'other booking.confirmed',
  ])
})

it('counts the time from the answer, however long reading took', async () => {
  const { book, clock, reads } = setup({ loadMs: 5 * MAX_AGE_MS })

  void book.get('acme', 'booking.confirmed')
  await clock.advance(5 * MAX_AGE_MS)
  await book.get('acme', 'booking.confirmed')

  assert.deepEqual(reads, ['acme', 'acme booking.confirmed'])
})

it('reads anew what could not be read', async () => {
  const { book, reads, world } = setup()
  world.isAway = true
  await assert.rejects(book.get('acme', 'booking.confirmed'), /away/)
  world.isAway = false

  assert.equal((await book.get('acme', 'booking.confirmed')).eventType?.name, 'booking.confirmed')
  assert.deepEqual(reads, ['acme', 'acme booking.confirmed'])
})

describe('a change is felt within a second by every process', () => {
  const catalogue = (phone: string) => ({
    entities: { booking: 'bookings' },
    eventTypes: {
      'booking.confirmed': {
        entity: 'booking',
        recipients: [{ phone }],
        templates: [{ channel: 'sms', body: 'Hello' }],
      },
    },
  })
  const payload = { phone: '+15550100', mobile: '+15550199' }

  /** Two processes that have planned before; `each` is what the next event becomes in either of them. */
  async function openTwo(t: TestContext) {
    const bench = await openPlanning(t, { catalogue: catalogue('phone'), accounts: ['sms'] })
    const { store, clock } = bench
    const planners = [1, 2].map(() =>
      bench.planner({ contexts: createContextBook(store, createTenantSnapshots(store, clock, MAX_AGE_MS)) }),
    )
    const each = async () => {
      for (const planner of planners) {
        await bench.publish({ payload })
        await planner.round()
      }
      return (await bench.notifications()).slice(-planners.length)
    }
    await each()
    return { ...bench, each }
  }

  it('of a template', async (t) => {
    const { store, clock, each } = await openTwo(t)
    const [template] = await store.templates.ofEventType('acme', 'booking.confirmed')
    assert.ok(template)

    await store.templates.update('acme', template.id, { body: 'Welcome' }, 'test')
    await clock.advance(MAX_AGE_MS)

    assert.deepEqual((await each()).map(bodyOf), ['Welcome', 'Welcome'])
  })

  it('of an account', async (t) => {
    const { store, clock, each, ids, accountId } = await openTwo(t)
    const other = ids()

    await store.accounts.insert(storedAccount({ id: other, name: 'other' }))
    await store.accounts.setStatus(accountId('sms'), 'suspended', null, 'test')
    await clock.advance(MAX_AGE_MS)

    assert.deepEqual(
      (await each()).map((notification) => notification.accountId),
      [other, other],
    )
  })

  it('of an event type', async (t) => {
    const { clock, each, ...bench } = await openTwo(t)

    await bench.import(catalogue('mobile'))
    await clock.advance(MAX_AGE_MS)

    assert.deepEqual(
      (await each()).map(({ to }) => to.phone),
      [payload.mobile, payload.mobile],
    )
  })
})

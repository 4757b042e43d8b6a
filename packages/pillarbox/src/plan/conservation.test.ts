import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Channel } from '../model/channel.ts'
import type { NotificationView } from '../model/notification.ts'
import { openPlanning } from './fixture.ts'

const ASKED: Channel[] = ['sms', 'email', 'push', 'in_app']

const someOf = (channels: readonly Channel[]) => fc.subarray([...channels])

/** Few values, so that people are named twice and share addresses; some that no channel can send to, and nobody at all. */
const someone = fc.record(
  {
    phone: fc.constantFrom('+15550100', '+15550101', 'none'),
    email: fc.constantFrom('ada@example.test', 'bo@example.test', 'none'),
    userId: fc.constantFrom('u1', 'u2'),
    profileId: fc.constantFrom('p1', 'p2'),
  },
  { requiredKeys: [] },
)

const world = fc.record({
  accounts: someOf(ASKED),
  worded: someOf(ASKED),
  isChain: fc.boolean(),
  suppressed: fc.subarray(['ada@example.test', 'bo@example.test']),
  isCalledOff: fc.boolean(),
  events: fc.array(
    fc.record({ entity: fc.constantFrom('1', '2'), recipients: fc.array(someone, { minLength: 1, maxLength: 4 }) }),
    { minLength: 1, maxLength: 3 },
  ),
})

/** The channels that a place of an event has a row for, or that a chain of its rows still holds. */
function accountedFor(rows: readonly NotificationView[]): Channel[] {
  return rows
    .flatMap(({ channel, fallback, fallbackTo }) => [channel, ...(fallbackTo === null ? fallback : [])])
    .toSorted()
}

describe('the law of rows (P1)', () => {
  it('recipients × channels = rows + channels still held by chains, planned once or replayed', async (t) => {
    await fc.assert(
      fc.asyncProperty(world, async ({ accounts, worded, isChain, suppressed, isCalledOff, events }) => {
        const templates = worded.map((channel) => ({
          channel,
          locale: 'en',
          body: 'x',
          ...(channel === 'email' && { subject: 'S' }),
        }))
        const delivery = isChain ? { fallback: ASKED } : { channels: ASKED }
        const bench = await openPlanning(t, {
          accounts,
          catalogue: {
            entities: { booking: 'bookings' },
            eventTypes: { 'booking.confirmed': { entity: 'booking', recipients: [], delivery, templates } },
          },
          resolve: () => (isCalledOff ? { cancel: 'no' } : undefined),
        })
        const ban = {
          tenantId: 'acme',
          channel: 'email',
          cause: 'operator',
          error: null,
          notificationId: null,
        } as const
        for (const address of suppressed)
          await bench.store.suppressions.insert({ id: bench.ids(), ...ban, address, createdBy: 'test' })
        for (const { entity, recipients } of events)
          await bench.publish({ entity: { type: 'booking', id: entity }, recipients })

        const check = async (): Promise<void> => {
          const rows = await bench.notifications()
          for (const [i, { recipients }] of events.entries())
            for (const place of recipients.keys()) {
              const own = rows.filter((row) => row.eventId === `event-${i + 1}` && row.place === String(place))
              assert.deepEqual(accountedFor(own), ASKED.toSorted(), `event ${i + 1}, place ${place}`)
            }
          const counts = Object.values(await bench.store.notifications.countByStatus('acme'))
          assert.equal(
            counts.reduce((sum, count) => sum + count, 0),
            rows.length,
          )
        }
        await bench.plan()
        await check()
        for (const { tenantId, id, status } of await bench.schedules())
          if (status === 'failed') await bench.store.schedules.act({ tenantId, id, action: 'replay', actor: 'key:ada' })
        await bench.plan()
        await check()
      }),
      { numRuns: 60 },
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Bench, type Options, openPlanning } from './fixture.ts'

const templates = [
  { channel: 'sms', locale: 'en', body: 'text {{name}}' },
  { channel: 'email', locale: 'en', subject: 'S', body: 'mail {{name}}' },
]
const catalogueOf = (fields: Record<string, unknown> = {}) => ({
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone', email: 'email', name: 'name' }],
      templates,
      ...fields,
    },
  },
})

/** The tenant's mail to Ada is suppressed. */
async function setup(t: TestContext, options: Partial<Options> = {}) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), ...options })
  await bench.store.suppressions.insert({
    id: bench.ids(),
    tenantId: 'acme',
    channel: 'email',
    address: 'ada@example.test',
    cause: 'operator',
    error: null,
    notificationId: null,
    createdBy: 'test',
  })
  return bench
}

const brief = async (bench: Bench): Promise<string[]> =>
  (await bench.notifications()).map(({ channel, status, reason }) => `${channel} ${reason ?? status}`)

describe('a suppressed address', () => {
  it('is skipped when it is planned, and says how the ban is lifted', async (t) => {
    const bench = await setup(t)
    await bench.publish()

    await bench.plan()

    assert.deepEqual(await brief(bench), ['sms queued', 'email suppressed'])
    const [, skipped] = await bench.notifications()
    assert.equal(skipped?.status, 'skipped')
    assert.match(skipped.lastError ?? '', /DELETE \/api\/suppressions\//)
    assert.equal((await bench.schedule()).status, 'completed')
  })

  it('is passed over by a chain', async (t) => {
    const bench = await setup(t, { catalogue: catalogueOf({ delivery: { fallback: ['email', 'sms'] } }) })
    await bench.publish()

    await bench.plan()

    assert.deepEqual(await brief(bench), ['email suppressed', 'sms queued'])
  })

  it('is asked for once for a whole batch, and not at all on a channel without any', async (t) => {
    const asked: string[] = []
    const bench = await setup(t, {
      catalogue: catalogueOf({ once: 'per-event' }),
      plant: (base) => ({
        suppressions: {
          ...base.suppressions,
          async among(tenantId, channel, addresses) {
            asked.push(`${tenantId} ${channel} ${addresses.length}`)
            return base.suppressions.among(tenantId, channel, addresses)
          },
        },
      }),
    })
    for (let i = 0; i < 5; i++)
      await bench.publish({ recipients: [{ email: `${i}@example.test`, phone: '+15550100' }] })

    await bench.plan()

    assert.deepEqual(asked, ['acme email 5'])
  })

  it('leaves nobody to be told where it is the only one', async (t) => {
    const bench = await setup(t, { catalogue: catalogueOf({ templates: templates.slice(1) }) })
    await bench.publish()

    await bench.plan()

    const { status, lastError } = await bench.schedule()
    assert.deepEqual([await brief(bench), status], [['email suppressed'], 'failed'])
    assert.match(lastError ?? '', /^No recipient: /)
  })
})

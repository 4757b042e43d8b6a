import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock, START } from '../../../../test/support/manual-clock.ts'
import { sampleEvent } from '../../../../test/support/samples.ts'
import { bodyOf, openPlanning } from './fixture.ts'
import { askHook, type ResolveAnswer, type ResolveEvent, type ResolveHook } from './resolve-hook.ts'

const templates = [
  { channel: 'sms', body: 'Room {{room}} for {{name}}' },
  { channel: 'email', subject: 'S', body: 'Room {{room}} for {{name}}' },
]
const catalogue = {
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': { entity: 'booking', recipients: [{ phone: 'phone' }], templates },
    'booking.reminder': { entity: 'booking', recipients: [{ phone: 'phone' }], templates, timing: { after: 'PT1H' } },
  },
}
const setup = (t: TestContext, resolve: ResolveHook) => openPlanning(t, { catalogue, resolve })

describe('the host’s hook', () => {
  it('is asked when an event is due, not before', async (t) => {
    const asked: ResolveEvent[] = []
    const { publish, plan, clock } = await setup(t, (event) => {
      asked.push(event)
      return undefined
    })
    await publish({ type: 'booking.reminder', correlationId: 'c-1' })
    await plan()
    assert.equal(asked.length, 0)

    await clock.advance(3_600_000)
    await plan()

    assert.deepEqual(asked, [
      {
        tenantId: 'acme',
        id: 'event-1',
        type: 'booking.reminder',
        entity: { type: 'booking', id: 'event-1' },
        payload: sampleEvent().payload,
        occurredAt: null,
        correlationId: 'c-1',
        locale: null,
        recipients: null,
      },
    ])
  })

  it('may say who is told, and add to what the words are made from', async (t) => {
    const { publish, plan, notifications } = await setup(t, async () => ({
      recipients: [{ phone: '+15550177' }],
      context: { room: 12, name: 'Bea' },
    }))
    await publish()

    await plan()

    const told = (await notifications()).filter(({ status }) => status === 'queued')
    assert.deepEqual(
      told.map((one) => [one.to.phone, bodyOf(one)]),
      [['+15550177', 'Room 12 for Bea']],
    )
  })

  it('may bring the address that the payload has not', async (t) => {
    const { publish, plan, notifications } = await setup(t, () => ({ context: { phone: '+15550178' } }))
    await publish({ payload: {} })

    await plan()

    assert.equal((await notifications())[0]?.to.phone, '+15550178')
  })

  it('may name nobody, and then nobody it is', async (t) => {
    const { publish, plan, notifications, schedule } = await setup(t, () => ({ recipients: [] }))
    await publish()

    await plan()

    assert.deepEqual(await notifications(), [])
    const { status, lastError } = await schedule()
    assert.deepEqual([status, lastError], ['failed', 'No recipient: the event names nobody'])
  })

  it('may call it off, with a reason', async (t) => {
    const { publish, plan, notifications, schedule } = await setup(t, () => ({ cancel: 'booking cancelled' }))
    await publish()

    await plan()

    const { status, lastError } = await schedule()
    assert.deepEqual([status, lastError], ['cancelled', 'booking cancelled'])
    const skipped = await notifications()
    assert.ok(skipped.length > 0)
    for (const one of skipped) {
      assert.deepEqual([one.status, one.reason, one.lastError], ['skipped', 'cancelled_by_host', 'booking cancelled'])
      assert.deepEqual([one.place, one.contactId], ['0', null])
    }
  })

  it('may call off what is left of a large event', async (t) => {
    let asked = 0
    const { publish, plan, store, schedule } = await setup(t, () => (++asked > 2 ? { cancel: 'too late' } : undefined))
    await publish({
      channels: ['sms'],
      recipients: Array.from({ length: 2_500 }, (_, i) => ({ phone: `+1202${5_550_000 + i}` })),
    })

    await plan()

    const { queued, skipped } = await store.notifications.countByStatus('acme')
    assert.equal(queued + skipped, 2_500)
    assert.ok(queued > 0 && skipped > 0)
    assert.deepEqual([(await schedule()).status, (await schedule()).lastError], ['cancelled', 'too late'])
  })

  it('may call a schedule off when it is due', async (t) => {
    const { publish, plan, schedule, clock } = await setup(t, () => ({ cancel: 'booking cancelled' }))
    await publish({ type: 'booking.reminder' })
    await plan()
    await clock.advance(3_600_000)

    await plan()

    assert.equal((await schedule()).status, 'cancelled')
  })

  it('that throws sets back that event alone', async (t) => {
    let isBroken = true
    const { publish, plan, event, notifications, clock } = await setup(t, ({ id }) => {
      if (id === 'bad' && isBroken) throw new Error('no connection')
      return undefined
    })
    await publish({ id: 'bad' })
    await publish({ id: 'good' })

    await plan()

    const bad = await event('bad')
    assert.deepEqual([bad.status, bad.attemptCount, bad.nextAttemptAt], ['pending', 1, START + 60_000])
    assert.match(bad.lastError ?? '', /resolve hook failed: no connection/)
    assert.deepEqual([...new Set((await notifications()).map(({ eventId }) => eventId))], ['good'])
    isBroken = false
    await clock.advance(60_000)
    await plan()
    assert.equal((await event('bad')).status, 'published')
  })

  it('that throws again and again fails the event in the end', async (t) => {
    const { publish, plan, event, clock } = await setup(t, () => Promise.reject(new Error('no connection')))
    await publish()

    for (const minutes of [1, 2, 4, 8, 16, 0]) {
      await plan()
      await clock.advance(minutes * 60_000)
    }

    assert.equal((await event('event-1')).status, 'failed')
  })

  it('that throws sets back that schedule alone', async (t) => {
    const { publish, plan, schedule, clock } = await setup(t, () => Promise.reject(new Error('no connection')))
    await publish({ type: 'booking.reminder' })
    await plan()
    await clock.advance(3_600_000)

    await plan()

    const { status, attemptCount, lastError } = await schedule()
    assert.deepEqual([status, attemptCount], ['pending', 1])
    assert.match(lastError ?? '', /no connection/)
  })

  it('that does not answer in time is told to stop, and sets back that event alone', async (t) => {
    const aborted: string[] = []
    const { publish, round, event, notifications, clock } = await setup(t, ({ id }, { signal }) => {
      if (id === 'good') return undefined
      return new Promise((answer) =>
        signal.addEventListener('abort', () => {
          aborted.push(id)
          answer(undefined)
        }),
      )
    })
    await publish({ id: 'slow' })
    await publish({ id: 'good' })

    const rounded = round()
    for (let i = 0; i < 12; i++) await clock.advance(1_000)
    await rounded

    assert.deepEqual(aborted, ['slow'])
    assert.match((await event('slow')).lastError ?? '', /did not answer within 10 s/)
    assert.deepEqual([...new Set((await notifications()).map(({ eventId }) => eventId))], ['good'])
  })

  it('that answers nonsense sets the event back, and says what is wrong', async (t) => {
    const answers: Record<string, unknown> = {
      'event-1': 'yes',
      'event-2': { recipients: ['ada@example.test'] },
      'event-3': { context: [] },
      'event-4': { cancel: true },
    }
    const { publish, plan, event } = await setup(t, ({ id }) => answers[id] as ResolveAnswer)
    for (const _ of Object.keys(answers)) await publish()

    await plan()

    for (const id of Object.keys(answers)) assert.match((await event(id)).lastError ?? '', /^the resolve hook/, id)
  })

  it('sees sealed fields sealed', async (t) => {
    let seen: Record<string, unknown> = {}
    const { publish, plan, seal } = await setup(t, ({ payload }) => {
      seen = payload
      return undefined
    })
    const clear = { tenantId: 'acme', id: 'event-1', payload: { phone: '+15550100', token: 's3cret' } }
    await publish({ payload: seal.sealFields(clear, ['token']) })

    await plan()

    assert.equal(JSON.stringify(seen).includes('s3cret'), false)
    assert.equal(seen['phone'], '+15550100')
  })
})

describe('asking about many', () => {
  it('asks a few at once, and each once', async () => {
    const clock = createManualClock()
    let [atOnce, most] = [0, 0]
    const resolve: ResolveHook = async ({ id }) => {
      atOnce += 1
      most = Math.max(most, atOnce)
      await clock.sleep(10)
      atOnce -= 1
      return { context: { id } }
    }
    const events = Array.from({ length: 50 }, (_, i) => sampleEvent({ id: `event-${i}` }))

    const asking = askHook({ resolve, clock }, events)
    await clock.advance(200)

    assert.deepEqual(
      await asking,
      events.map(({ id }) => ({ context: { id } })),
    )
    assert.equal(most, 8)
  })

  it('leaves those it had no time for unasked: nothing is held against them', async () => {
    const clock = createManualClock()
    const events = Array.from({ length: 10 }, (_, i) => sampleEvent({ id: `event-${i}` }))

    const asking = askHook({ resolve: () => new Promise(() => {}), clock }, events)
    await clock.advance(10_000)

    const answers = await asking
    assert.equal(answers.filter((answer) => answer && 'failed' in answer).length, 8)
    assert.equal(answers.filter((answer) => answer && 'unasked' in answer).length, 2)
  })

  it('asks nobody where there is no hook, or nothing to ask about', async () => {
    const clock = createManualClock()

    assert.deepEqual(await askHook({ resolve: null, clock }, [sampleEvent()]), [])
    assert.deepEqual(await askHook({ resolve: () => assert.fail('asked'), clock }, []), [])
  })
})

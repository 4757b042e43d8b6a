import assert from 'node:assert/strict'
import type { AlertReading, AlertStep, AlertWay } from '../../packages/pillarbox/src/operate/alert-store.ts'
import { type Bench, FAR_MS, only, type Rule } from './fixtures.ts'

const WAYS: readonly AlertWay[] = ['event', 'webhook']
const TELLING = { ways: WAYS, notByEvent: 'ops' }

/** What is wrong is kept, told in order, and told once. */
export function alertRules(rule: Rule): void {
  rule('an alert goes from pending to open to cleared, and keeps every field', async (bench) => {
    const { alerts } = bench.store
    const now = await bench.store.now()
    const id = bench.newId()
    const of = reading('acme')
    assert.deepEqual(await alerts.apply([{ step: 'notice', id, reading: of, now }], TELLING), [])
    assert.deepEqual((await alerts.list({}, { limit: 10 })).items, [], 'what is pending is not shown')

    const raise: AlertStep = {
      step: 'raise',
      id,
      isNew: false,
      reading: { ...of, value: 7 },
      now: now + 5,
      summary: 'bad',
    }
    const told = only(await alerts.apply([raise], TELLING))
    const open = {
      id,
      ...of,
      value: 7,
      status: 'open',
      since: now,
      raisedAt: now + 5,
      goodSince: null,
      clearedAt: null,
      summary: 'bad',
      acknowledgedAt: null,
      acknowledgedBy: null,
      note: null,
      repeats: 0,
      toldAt: now + 5,
    }
    assert.deepEqual(told, { alert: open, news: 'raised' })
    assert.deepEqual(await alerts.standing(), [open])

    await alerts.apply([{ step: 'recover', id, now: now + 6 }], TELLING)
    assert.equal((await alerts.standing())[0]?.goodSince, now + 6)
    await alerts.apply([{ step: 'relapse', id }], TELLING)
    assert.equal((await alerts.standing())[0]?.goodSince, null)
    const { alert, news } = only(await alerts.apply([{ step: 'clear', id, now: now + 9 }], TELLING))
    assert.deepEqual([alert.status, alert.clearedAt, news], ['cleared', now + 9, 'cleared'])
    assert.deepEqual(await alerts.standing(), [])
    assert.deepEqual((await alerts.list({}, { limit: 10 })).items, [alert])
  })

  rule('a step whose alert stands elsewhere changes nothing, and of two looks at once one raises', async (bench) => {
    const { store, newId } = bench
    const other = await bench.another()
    const [one, two] = [newId(), newId()]
    const now = await store.now()
    const raise = (id: string): AlertStep => ({ ...raised(reading('acme'), id), now })

    const both = await Promise.all([
      store.alerts.apply([raise(one)], TELLING),
      other.alerts.apply([raise(two)], TELLING),
    ])
    assert.equal(both.flat().length, 1)
    const { id } = only(await store.alerts.standing())
    const clear = { step: 'clear', id, now } as const
    const cleared = await Promise.all([store.alerts.apply([clear], TELLING), other.alerts.apply([clear], TELLING)])
    assert.equal(cleared.flat().length, 1)
    for (const step of ['relapse', 'forget'] as const) await store.alerts.apply([{ step, id }], TELLING)
    assert.deepEqual(await store.alerts.apply([{ step: 'repeat', id, now }], TELLING), [])
    assert.equal((await store.alerts.list({ status: 'cleared' }, { limit: 10 })).items.length, 1)

    assert.equal((await store.alerts.apply([raise(newId())], TELLING)).length, 1, 'it may go wrong again')
  })

  rule('what is pending is forgotten without a word', async (bench) => {
    const { alerts } = bench.store
    const id = bench.newId()
    await alerts.apply([{ step: 'notice', id, reading: reading('acme'), now: await bench.store.now() }], TELLING)

    assert.deepEqual(await alerts.apply([{ step: 'forget', id }], TELLING), [])

    assert.deepEqual(await alerts.standing(), [])
    assert.deepEqual(await alerts.messages('webhook', 10), [])
  })

  rule('news waits in order until it was told, and what cannot be told holds up what is behind it', async (bench) => {
    const { store } = bench
    const { alerts } = store
    const id = bench.newId()
    await alerts.apply([raised(reading('acme'), id)], TELLING)
    await alerts.apply([{ step: 'repeat', id, now: await store.now() }], TELLING)
    await alerts.apply([{ step: 'repeat', id, now: await store.now() }], TELLING)
    await alerts.apply([{ step: 'clear', id, now: await store.now() }], TELLING)
    const waiting = async (way: AlertWay): Promise<string[]> =>
      (await alerts.messages(way, 10)).map(({ news, number, tries }) => `${news} ${number} ${tries}`)

    assert.deepEqual(await waiting('event'), ['raised 0 0', 'repeated 1 0', 'repeated 2 0', 'cleared 0 0'])
    const first = (await alerts.messages('webhook', 1))[0] ?? assert.fail()
    await alerts.notTold(first.sequence, 20)
    assert.deepEqual(await waiting('webhook'), [])
    assert.equal((await waiting('event')).length, 4)
    await bench.advance(40)
    assert.deepEqual((await waiting('webhook'))[0], 'raised 0 1')
    await alerts.told(first.sequence)
    await alerts.told(first.sequence)
    assert.deepEqual(await waiting('webhook'), ['repeated 1 0', 'repeated 2 0', 'cleared 0 0'])
  })

  rule('what is about the ops tenant’s own is not told by its events', async (bench) => {
    const { alerts } = bench.store
    const id = bench.newId()
    await alerts.apply([raised(reading('ops'), id)], TELLING)

    assert.deepEqual(await alerts.messages('event', 10), [])
    assert.equal((await alerts.messages('webhook', 10)).length, 1)
  })

  rule('alerts are listed newest first, by status, rule and tenant', async (bench) => {
    const { alerts } = bench.store
    const ids = [bench.newId(), bench.newId(), bench.newId()]
    const [a = '', b = '', c = ''] = ids
    const none = { ...TELLING, ways: [] }
    await alerts.apply([raised(reading('acme'), a), raised(reading('other'), b)], none)
    await alerts.apply([raised({ ...reading('acme'), rule: 'parked_rate' }, c)], none)
    await alerts.apply([{ step: 'clear', id: b, now: await bench.store.now() }], none)
    const found = async (filter: Parameters<typeof alerts.list>[0]): Promise<string[]> =>
      (await alerts.list(filter, { limit: 10 })).items.map(({ id }) => id)

    assert.deepEqual(await found({}), [c, b, a])
    assert.deepEqual(await found({ status: 'open' }), [c, a])
    assert.deepEqual(await found({ status: 'cleared' }), [b])
    assert.deepEqual(await found({ rule: 'stuck', tenantId: 'acme' }), [a])
    const page = await alerts.list({}, { limit: 2 })
    const rest = await alerts.list({}, { limit: 2, cursor: page.nextCursor ?? '' })
    assert.deepEqual(
      [...page.items, ...rest.items].map(({ id }) => id),
      [c, b, a],
    )
    assert.equal(rest.nextCursor, null)
  })

  rule('the first acknowledgement stays, and is on record', async (bench) => {
    const { store } = bench
    const id = bench.newId()
    await store.alerts.apply([raised(reading('acme'), id)], TELLING)

    const first = await store.alerts.acknowledge({ id, actor: 'key:ada', note: 'on it' })
    const second = await store.alerts.acknowledge({ id, actor: 'key:ben', note: null })

    assert.deepEqual([first?.acknowledgedBy, first?.note], ['key:ada', 'on it'])
    assert.ok(first?.acknowledgedAt)
    assert.deepEqual(second, first)
    for (const unknown of [bench.newId(), 'no id at all'])
      assert.equal(await store.alerts.acknowledge({ id: unknown, actor: 'key:ada', note: null }), null)
    const entries = (await store.audit.list({ action: 'acknowledge' }, { limit: 10 })).items
    assert.deepEqual(
      entries.map(({ tenantId, actor, subject, note }) => ({ tenantId, actor, subject, note })),
      [{ tenantId: null, actor: 'key:ada', subject: `alert:${id}`, note: 'on it' }],
    )
  })

  rule('what was cleared long ago is forgotten, and what is open never is', async (bench) => {
    const { alerts } = bench.store
    const [open, cleared] = [bench.newId(), bench.newId()]
    await alerts.apply([raised(reading('acme'), open), raised(reading('other'), cleared)], TELLING)
    await alerts.apply([{ step: 'clear', id: cleared, now: await bench.store.now() }], TELLING)
    await bench.advance(20)

    assert.equal(await alerts.prune(FAR_MS, 10), 0)
    assert.equal(await alerts.prune(5, 10), 1)
    assert.deepEqual(
      (await alerts.messages('webhook', 10)).map(({ alert }) => alert.id),
      [open],
    )
    assert.deepEqual(
      (await alerts.list({}, { limit: 10 })).items.map(({ id }) => id),
      [open],
    )
  })

  rule('operations that failed lately are found', async (bench) => {
    const { store } = bench
    const id = await failedOperation(bench)

    const { tenantId } = only(await store.alerts.failedOperations(FAR_MS, 10))
    assert.deepEqual(await store.alerts.failedOperations(FAR_MS, 10), [{ id, tenantId, action: 'retry' }])
    await bench.advance(20)
    assert.deepEqual(await store.alerts.failedOperations(5, 10), [])
  })
}

function reading(tenantId: string): AlertReading {
  return { rule: 'stuck', subject: 'tenant', subjectId: tenantId, tenantId, value: 1 }
}

function raised(of: AlertReading, id: string): Extract<AlertStep, { step: 'raise' }> {
  return { step: 'raise', id, isNew: true, reading: of, now: 1_767_225_600_000, summary: 'bad' }
}

async function failedOperation(bench: Bench): Promise<string> {
  const { operations } = bench.store
  const [id, tenantId] = [bench.newId(), await bench.tenant()]
  await operations.beginPreview(
    { id, tenantId, action: 'retry', options: {}, actor: 'key:ada', canary: 0 },
    { most: 5, lifeMs: FAR_MS },
  )
  await operations.endPreview(id, 1)
  const start = { tenantId, id, actor: 'key:ada', note: null, perSecond: null, canary: 1, graceMs: 0 }
  await operations.start(start)
  const taken = (await operations.take(FAR_MS)) ?? assert.fail()
  await operations.checkpoint({ operationId: taken.id, from: 0, position: 0, to: 'failed', problem: 'x', leaseMs: 0 })
  return id
}

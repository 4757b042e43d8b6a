import assert from 'node:assert/strict'
import { isPillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import type { Suppression } from '../../packages/pillarbox/src/model/suppression.ts'
import { allPages, assertBetween, type Bench, type Rule } from './fixtures.ts'

/** Addresses that are not used any more: each once per tenant and channel, until somebody lifts the ban. */
export function suppressionRules(rule: Rule): void {
  rule('keeps a suppression with what taught it', async (bench) => {
    const { store, newId } = bench
    const taught = { cause: 'dead_address', error: 'FCM says: UNREGISTERED', notificationId: newId() } as const
    const before = await store.now()

    const made = await suppressed(bench, { channel: 'push', address: 'Device:1', createdBy: 'system', ...taught })

    const { createdAt, ...rest } = (await store.suppressions.find(made.tenantId, made.id)) ?? assert.fail()
    assert.deepEqual(rest, made)
    assertBetween(createdAt, before, await store.now())
  })

  rule('an address is suppressed once per tenant and channel, by however many at once', async (bench) => {
    const { store, another, tenant } = bench
    const [tenantId, second, other] = [await tenant(), await tenant(), await another()]
    const insert = (on: typeof store, changes: Partial<Suppression> = {}) =>
      on.suppressions.insert(suppression(bench, { tenantId, channel: 'sms', address: '+491', ...changes }))

    const answers = await Promise.all([store, other, store, other].map((each) => insert(each)))

    assert.equal(answers.filter(Boolean).length, 1)
    assert.equal(await insert(store, { cause: 'complained' }), false)
    assert.equal(await insert(store, { channel: 'whatsapp' }), true)
    assert.equal(await insert(store, { tenantId: second }), true)
  })

  rule('tells whether a tenant has any on a channel', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    assert.equal(await store.suppressions.any(tenantId, 'push'), false)

    const { id } = await suppressed(bench, { tenantId, channel: 'push', address: 'device-1' })

    assert.equal(await store.suppressions.any(tenantId, 'push'), true)
    assert.equal(await store.suppressions.any(tenantId, 'email'), false)
    assert.equal(await store.suppressions.any(await tenant(), 'push'), false)
    await store.suppressions.remove(tenantId, id, 'key:ada')
    assert.equal(await store.suppressions.any(tenantId, 'push'), false)
  })

  rule('finds those of many addresses that are suppressed', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const many = Array.from({ length: 1_000 }, (_, i) => `guest${i}@example.com`)
    for (const address of [many[3] ?? '', many[700] ?? '', 'other@example.com'])
      await suppressed(bench, { tenantId, channel: 'email', address })

    const found = await store.suppressions.among(tenantId, 'email', [...many, ...many])

    assert.deepEqual(found.map(({ address }) => address).toSorted(), ['guest3@example.com', 'guest700@example.com'])
    assert.deepEqual(found[0], await store.suppressions.find(tenantId, found[0]?.id ?? ''))
    assert.deepEqual(await store.suppressions.among(tenantId, 'sms', many), [])
    assert.deepEqual(await store.suppressions.among(await tenant(), 'email', many), [])
    assert.deepEqual(await store.suppressions.among(tenantId, 'email', []), [])
  })

  rule('takes an email for the same in either case, and nothing else', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    await suppressed(bench, { tenantId, channel: 'email', address: 'Ada@Example.com' })
    await suppressed(bench, { tenantId, channel: 'push', address: 'TokenA' })
    const addresses = async (channel: 'email' | 'push', ...given: string[]) =>
      (await store.suppressions.among(tenantId, channel, given)).map(({ address }) => address)

    assert.deepEqual(await addresses('email', 'ada@example.com', 'ADA@example.com'), ['ada@example.com'])
    assert.deepEqual(await addresses('push', 'tokena'), [])
    assert.deepEqual(await addresses('push', 'TokenA'), ['TokenA'])
    const again = suppression(bench, { tenantId, channel: 'email', address: 'ada@EXAMPLE.com' })
    assert.equal(await store.suppressions.insert(again), false)
  })

  rule('keeps addresses of every length and with every character', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const awkward = [...['"', '\\', '{a,b}', 'null', "'", '☃', ' '].map((text) => `x${text}`), 'NULL', '']
    // Longer than what an index of PostgreSQL takes, and alike for most of it.
    const alphabet = Array.from({ length: 4_000 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7_919) % 20_000)))
    const long = ['1', '2'].map((end) => alphabet.join('') + end)
    for (const address of [...awkward, ...long]) await suppressed(bench, { tenantId, channel: 'push', address })

    const found = await store.suppressions.among(tenantId, 'push', [...awkward, ...long, 'x'])

    assert.deepEqual(found.map(({ address }) => address).toSorted(), [...awkward, ...long].toSorted())
    const [second] = (await store.suppressions.list(tenantId, { address: long[1] ?? '' }, { limit: 10 })).items
    assert.equal(second?.address, long[1])
  })

  rule('pages through suppressions, newest first, by channel and address', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const made: string[] = []
    for (const [channel, address] of [
      ['email', 'ada@example.com'],
      ['sms', '+491'],
      ['whatsapp', '+491'],
      ['email', 'bob@example.com'],
      ['in_app', 'ada@example.com'],
    ] as const)
      made.push((await suppressed(bench, { tenantId, channel, address })).id)
    await suppressed(bench, { channel: 'email', address: 'ada@example.com' })
    const listed = async (filter: Parameters<typeof store.suppressions.list>[1]) =>
      (await allPages((page) => store.suppressions.list(tenantId, filter, page), 2)).map(({ id }) => made.indexOf(id))

    assert.deepEqual(await listed({}), [4, 3, 2, 1, 0])
    assert.deepEqual(await listed({ channel: 'email' }), [3, 0])
    assert.deepEqual(await listed({ address: '+491' }), [2, 1])
    assert.deepEqual(await listed({ address: 'ADA@example.com' }), [0])
    assert.deepEqual(await listed({ address: 'ada@example.com' }), [4, 0])
    assert.deepEqual(await listed({ channel: 'sms', address: '+491' }), [1])
    assert.deepEqual(await listed({ channel: 'push', address: '+491' }), [])
    for (const cursor of ['nonsense', Buffer.from('["1"]').toString('base64url')])
      await assert.rejects(store.suppressions.list(tenantId, {}, { limit: 2, cursor }), (error) =>
        isPillarboxError(error, 'invalid_query'),
      )
  })

  rule('a lifted suppression is gone, and can be made again', async (bench) => {
    const { store } = bench
    const { tenantId, id, channel, address } = await suppressed(bench)

    assert.equal(await store.suppressions.remove(tenantId, id, 'key:ada'), true)

    assert.equal(await store.suppressions.remove(tenantId, id, 'key:ada'), false)
    assert.equal(await store.suppressions.find(tenantId, id), null)
    assert.deepEqual(await store.suppressions.among(tenantId, channel, [address]), [])
    await suppressed(bench, { tenantId, channel, address })
  })

  rule('a suppression of another tenant, or of nobody, is neither found nor lifted', async (bench) => {
    const { store, tenant, newId } = bench
    const { tenantId, id } = await suppressed(bench)
    const other = await tenant()

    for (const each of [id, newId(), 'no id at all']) {
      assert.equal(await store.suppressions.find(other, each), null)
      assert.equal(await store.suppressions.remove(other, each, 'key:eve'), false)
    }
    assert.ok(await store.suppressions.find(tenantId, id))
    assert.equal((await store.suppressions.find(tenantId, id.toUpperCase()))?.id, id)
  })
}

function suppression({ newId }: Bench, changes: Partial<Suppression>): Omit<Suppression, 'createdAt'> {
  return {
    id: newId(),
    tenantId: 'nobody',
    channel: 'email',
    address: 'ada@example.com',
    cause: 'operator',
    error: null,
    notificationId: null,
    createdBy: 'key:ada',
    ...changes,
  }
}

/** A suppression that is new; of a new tenant unless one is named. */
async function suppressed(bench: Bench, changes: Partial<Suppression> = {}): Promise<Omit<Suppression, 'createdAt'>> {
  const made = suppression(bench, { ...changes, tenantId: changes.tenantId ?? (await bench.tenant()) })
  assert.equal(await bench.store.suppressions.insert(made), true)
  return made
}

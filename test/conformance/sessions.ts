import assert from 'node:assert/strict'
import type { ApiKey } from '../../packages/pillarbox/src/model/api-key.ts'
import type { Bench, Rule } from './fixtures.ts'

const LIFE_MS = 60_000

/** Sessions of the console: opened by a secret, of which only the hash is kept, and ended with their key. */
export function sessionRules(rule: Rule): void {
  rule('begins a session with a valid key, and finds it by its hash', async (bench) => {
    const { store } = bench
    const key = await issue(bench)
    const before = await store.now()

    const begun = (await store.sessions.begin(made(bench, 'secret'), key.id)) ?? assert.fail()

    assert.deepEqual(await store.sessions.find('secret'), begun)
    assert.equal(begun.key.id, key.id)
    assert.ok(begun.session.expiresAt >= before + LIFE_MS)
    assert.equal(await store.sessions.find('another'), null)
    const { items } = await store.audit.list({ action: 'sign_in' }, { limit: 10 })
    assert.deepEqual(
      items.map(({ actor, subject, tenantId }) => [actor, subject, tenantId]),
      [['console:Ana', `key:${key.id}`, key.tenantId]],
    )
  })

  rule('begins no session with a key that is unknown, revoked or expired, and finds none of one', async (bench) => {
    const { store } = bench
    const [revoked, expired] = [await issue(bench), await issue(bench, { expiresAt: (await store.now()) - 1 })]
    await store.sessions.begin(made(bench, 'of-revoked'), revoked.id)
    await store.keys.revoke(revoked.tenantId, revoked.id)

    assert.equal(await store.sessions.find('of-revoked'), null)
    for (const id of [revoked.id, expired.id, bench.newId(), 'nonsense']) {
      assert.equal(await store.sessions.begin(made(bench, `s-${id}`), id), null)
      assert.equal(await store.sessions.offer(made(bench, `l-${id}`), id), false)
    }
  })

  rule('lets a link be used once, by one of many who try at once, and never as a session', async (bench) => {
    const { store } = bench
    const key = await issue(bench)
    assert.equal(await store.sessions.offer(made(bench, 'link'), key.id), true)
    assert.equal(await store.sessions.find('link'), null)

    const tries = ['a', 'b', 'c'].map((hash) => store.sessions.redeem(made(bench, hash), 'link'))
    const redeemed = (await Promise.all(tries)).filter((each) => each !== null)

    assert.equal(redeemed.length, 1)
    assert.equal(await store.sessions.redeem(made(bench, 'd'), 'link'), null)
    assert.equal(await store.sessions.offer({ ...made(bench, 'old'), lifeMs: -1 }, key.id), true)
    assert.equal(await store.sessions.redeem(made(bench, 'e'), 'old'), null)
  })

  rule('changes a session’s secret once, and takes the former one for its grace', async (bench) => {
    const { store } = bench
    const { id } = await issue(bench)
    const begun = (await store.sessions.begin(made(bench, 'one'), id)) ?? assert.fail()

    assert.equal(await store.sessions.change(begun.session.id, { from: 'one', to: 'two' }, LIFE_MS), true)

    assert.equal(await store.sessions.change(begun.session.id, { from: 'one', to: 'three' }, LIFE_MS), false)
    assert.ok(await store.sessions.find('one'))
    assert.ok(await store.sessions.find('two'))
    await store.sessions.change(begun.session.id, { from: 'two', to: 'four' }, -1)
    assert.deepEqual([await store.sessions.find('one'), await store.sessions.find('two')], [null, null])
    assert.ok(await store.sessions.find('four'))
  })

  rule('ends one session, or all of a key and its links', async (bench) => {
    const { store } = bench
    const [key, other] = [await issue(bench), await issue(bench)]
    for (const hash of ['a', 'b', 'c']) await store.sessions.begin(made(bench, hash), key.id)
    await store.sessions.begin(made(bench, 'other'), other.id)
    await store.sessions.offer(made(bench, 'link'), key.id)

    assert.deepEqual([await store.sessions.end('a'), await store.sessions.end('a')], [1, 0])

    assert.equal(await store.sessions.find('a'), null)
    assert.equal(await store.sessions.endAll(key.id, 'console:Ana'), 2)
    assert.deepEqual([await store.sessions.find('b'), await store.sessions.find('c')], [null, null])
    assert.equal(await store.sessions.redeem(made(bench, 'd'), 'link'), null)
    assert.ok(await store.sessions.find('other'))
  })

  rule('keeps the newest hundred sessions of a key', async (bench) => {
    const { store } = bench
    const [key, other] = [await issue(bench), await issue(bench)]
    await store.sessions.begin(made(bench, 'other'), other.id)

    for (let i = 0; i <= 100; i++) await store.sessions.begin(made(bench, `s-${i}`), key.id)

    const left = ['s-0', 's-1', 's-100', 'other'].map((hash) => store.sessions.find(hash))
    assert.deepEqual(
      (await Promise.all(left)).map((open) => open !== null),
      [false, true, true, true],
    )
  })

  rule('finds no session that has expired', async (bench) => {
    const { id } = await issue(bench)
    await bench.store.sessions.begin({ ...made(bench, 'over'), lifeMs: -1 }, id)

    assert.equal(await bench.store.sessions.find('over'), null)
    assert.equal(await bench.store.sessions.end('over'), 0)
  })
}

function made({ newId }: Bench, hash: string) {
  return { id: newId(), hash, lifeMs: LIFE_MS }
}

async function issue(bench: Bench, wanted: Partial<ApiKey> = {}) {
  const tenantId = await bench.tenant()
  const key = { id: bench.newId(), tenantId, name: 'Ana', role: 'viewer' as const, site: null, ratePerSecond: null }
  const whole = { ...key, expiresAt: null, ...wanted }
  await bench.store.keys.insert(whole, bench.newId())
  return whole
}

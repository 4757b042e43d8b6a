import assert from 'node:assert/strict'
import type { ClearTokenRow, ClearTokenTable } from '../../packages/pillarbox/src/operate/clear-token-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import type { Rule } from './fixtures.ts'

/** Device tokens from before they were sealed: each is found once, and replaced where nobody has changed it since. */
export function clearTokenRules(rule: Rule): void {
  rule(
    'finds device tokens in clear, of any channel, in stretches of any length, and no sealed ones',
    async (bench) => {
      const { store, lane, enqueue } = bench
      const push = await lane({ channel: 'push' })
      const found: string[] = []
      for (let i = 0; i < 5; i++) {
        found.push(...(await enqueue(push, 1, { to: { deviceToken: `clear-${i}` } })))
        await enqueue(push, 1, { to: { deviceToken: `t1.sealed-${i}` } })
      }
      const email = await lane({ channel: 'email' })
      found.push(...(await enqueue(email, 1, { to: { email: 'ada@example.test', deviceToken: 'clear-6' } })))
      await enqueue(email, 1, { to: { email: 'bob@example.test' } })

      for (const limit of [1, 3, 12, 100])
        assert.deepEqual(
          (await lookThrough(store, 'notifications', limit)).map(({ id }) => id),
          found,
        )
    },
  )

  rule('replaces recipient, address and key of a notification, and only what was seen', async (bench) => {
    const { store, lane, enqueue } = bench
    const push = await lane({ channel: 'push' })
    const to = { deviceToken: 'clear', platform: 'fcm' } as const
    const [id = ''] = await enqueue(push, 1, { to, idempotencyKey: '1:a:clear' })
    await enqueue(push, 1, { to: { deviceToken: 't1.x' }, idempotencyKey: '1:b:device' })
    const [other = ''] = await enqueue(push, 1, { to, idempotencyKey: '1:b:clear' })
    const rows = await lookThrough(store, 'notifications', 10)
    const sealed = { deviceToken: 't1.sealed', platform: 'fcm' }
    const changes = rows.map(({ tenantId, id: rowId, text, name }) => ({
      tenantId,
      id: rowId,
      before: text,
      after: JSON.stringify(sealed),
      address: 't1.sealed',
      key: name.replace('clear', 'device'),
      spareKey: name.replace('clear', 't1.sealed'),
    }))

    const stale = changes.map((change) => ({ ...change, before: '{}' }))
    assert.equal(await store.clearTokens.replace('notifications', stale), 0)
    assert.equal(await store.clearTokens.replace('notifications', changes), 2)
    assert.equal(await store.clearTokens.replace('notifications', changes), 0)

    assert.deepEqual((await bench.view(id)).to, sealed)
    assert.equal((await bench.view(id)).idempotencyKey, '1:a:device')
    assert.equal((await bench.view(other)).idempotencyKey, '1:b:t1.sealed')
    assert.deepEqual(
      (await store.notifications.list({ tenantId: push.tenantId, q: 't1.sealed' }, { limit: 10 })).items
        .map((found) => found.id)
        .toSorted(),
      [id, other].toSorted(),
    )
    assert.deepEqual(await lookThrough(store, 'notifications', 10), [])
  })

  rule('replaces the address of a ban, which is found by it, and removes one that is there sealed', async (bench) => {
    const { store, tenant, newId } = bench
    const tenantId = await tenant()
    const ban = { tenantId, cause: 'operator', error: null, notificationId: null, createdBy: 'key:ada' } as const
    const suppress = (channel: 'push' | 'sms', address: string) =>
      store.suppressions.insert({ id: newId(), ...ban, channel, address })
    await suppress('push', 'clear-1')
    await suppress('push', 'clear-2')
    await suppress('push', 't1.clear-2')
    await suppress('sms', '+15550100')

    const rows = await lookThrough(store, 'suppressions', 1)
    assert.deepEqual(
      rows.map(({ text }) => text),
      ['clear-1', 'clear-2'],
    )
    const changes = rows.map(({ text, ...row }) => ({ ...row, before: text, after: `t1.${text}` }))
    assert.equal(await store.clearTokens.replace('suppressions', changes), 2)

    const addresses = (await store.suppressions.among(tenantId, 'push', ['clear-1', 't1.clear-1', 't1.clear-2'])).map(
      ({ address }) => address,
    )
    assert.deepEqual(addresses.toSorted(), ['t1.clear-1', 't1.clear-2'])
    assert.equal((await store.suppressions.list(tenantId, {}, { limit: 10 })).items.length, 3)
    assert.deepEqual(await lookThrough(store, 'suppressions', 10), [])
  })

  rule('finds and replaces the payloads of events of the types that are asked for', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const event = (id: string, type: string) => bench.event(tenantId, { id, type, payload: { token: id } })
    await store.events.insert([event('a', 'push'), event('b', 'mail'), event('c', 'push')])
    const types = [{ tenantId, type: 'push' }]

    for (const limit of [1, 2, 3, 10])
      assert.deepEqual(
        (await lookThrough(store, 'events', limit, types)).map(({ id, name }) => [id, name]),
        [
          ['a', 'push'],
          ['c', 'push'],
        ],
      )
    assert.deepEqual(await lookThrough(store, 'events', 10), [])
    const row = (await lookThrough(store, 'events', 10, types))[0] ?? assert.fail()
    const change = { tenantId, id: 'a', before: row.text, after: '{"token":{"$token":"t1.x"}}' }
    assert.equal(await store.clearTokens.replace('events', [{ ...change, before: '{}' }]), 0)
    assert.equal(await store.clearTokens.replace('events', [change]), 1)
    assert.deepEqual((await bench.storedEvent(tenantId, 'a')).payload, { token: { $token: 't1.x' } })
    assert.deepEqual((await bench.storedEvent(tenantId, 'c')).payload, { token: 'c' })
  })
}

async function lookThrough(
  store: Store,
  table: ClearTokenTable,
  limit: number,
  types: { tenantId: string; type: string }[] = [],
): Promise<ClearTokenRow[]> {
  const found: ClearTokenRow[] = []
  let after: string | null = null
  do {
    const stretch = await store.clearTokens.look(table, after, limit, { sealed: 't1.', types })
    found.push(...stretch.rows)
    after = stretch.next
  } while (after !== null)
  return found
}

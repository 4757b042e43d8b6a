import assert from 'node:assert/strict'
import { isPillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import { assertBetween, only, type Rule } from './fixtures.ts'

/** The store as a whole: schema, time, transactions, wake-ups. */
export function storeRules(rule: Rule): void {
  rule('is at the schema this code wants once it is migrated', async ({ store }) => {
    const { found, wanted } = await store.schema()

    assert.equal(found, wanted)
    assert.ok(wanted >= 1)
  })

  rule('migrates an up-to-date schema by doing nothing, also when several do it at once', async ({ store }) => {
    const { wanted } = await store.schema()

    const answers = await Promise.all([store.migrate(), store.migrate(), store.migrate()])

    for (const answer of answers) assert.deepEqual(answer, { from: wanted, to: wanted })
  })

  rule('is touched any number of times, by several at once', async ({ store }) => {
    await Promise.all([store.instance.touch(), store.instance.touch()])
    const first = await store.instance.read('touched')
    await store.instance.touch()

    assert.notEqual(await store.instance.read('touched'), first)
  })

  rule('tells its own time, which goes forward', async ({ store, advance }) => {
    const before = await store.now()
    await advance(20)
    const after = await store.now()

    assert.ok(Number.isFinite(before))
    assert.ok(after >= before + 19, `${before} → ${after}`)
  })

  rule('stamps what it writes with its own time', async ({ store, lane, enqueue, view }) => {
    const target = await lane()
    const before = await store.now()
    const id = only(await enqueue(target))
    const after = await store.now()

    assertBetween((await view(id)).createdAt, before, after)
  })

  rule('a call that is refused leaves calls made at the same time alone', async ({ store, lane, notification }) => {
    const target = await lane()
    const [first, refused, last] = [
      notification(target),
      notification(target, { accountId: null }),
      notification(target),
    ] as const

    const answers = await Promise.allSettled([first, refused, last].map((row) => store.notifications.insert([row])))

    assert.deepEqual(
      answers.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.ok(await store.notifications.find(target.tenantId, first.id))
    assert.ok(await store.notifications.find(target.tenantId, last.id))
    assert.equal(await store.notifications.find(target.tenantId, refused.id), null)
  })

  rule('refuses a cursor that it never gave, and says so', async ({ store, tenant }) => {
    const tenantId = await tenant()
    for (const cursor of ['', 'nonsense', 'bnVsbA', 'W10', Buffer.from('["x","y","z"]').toString('base64url')])
      for (const list of [
        store.notifications.list({ tenantId }, { limit: 1, cursor }),
        store.events.list({ tenantId }, { limit: 1, cursor }),
        store.schedules.list({ tenantId }, { limit: 1, cursor }),
        store.templates.list(tenantId, {}, { limit: 1, cursor }),
        store.people.listContacts(tenantId, {}, { limit: 1, cursor }),
        store.people.listConversations(tenantId, {}, { limit: 1, cursor }),
        store.lists.list(tenantId, { limit: 1, cursor }),
      ])
        await assert.rejects(list, (error) => isPillarboxError(error, 'invalid_query'), JSON.stringify(cursor))
  })

  rule('takes hints for other processes without waiting and without failing', async ({ store }) => {
    const unsubscribe = store.wake.subscribe(() => {})

    for (let i = 0; i < 20; i++) {
      assert.equal(store.wake.notify('events'), undefined)
      assert.equal(store.wake.notify('dispatch'), undefined)
    }
    unsubscribe()
    unsubscribe()

    assert.ok(Number.isFinite(await store.now()))
  })
}

import assert from 'node:assert/strict'
import type { SiteContact } from '../../packages/pillarbox/src/intake/site-store.ts'
import { assertBetween, type Bench, type Lane, type Rule } from './fixtures.ts'

const contact = (tenantId: string, changes: Partial<SiteContact> = {}): SiteContact => ({
  tenantId,
  site: 'plant-1',
  incarnation: 'buffer-1',
  backlog: 0,
  clockAheadMs: null,
  refused: [],
  ...changes,
})

/** What a site hands off under these numbers, each with a key of its own. */
const items = ({ notification }: Bench, lane: Lane, ...sequences: (number | null)[]) =>
  sequences.map((sequence) => {
    const made = notification(lane, { site: 'plant-1' })
    return { notification: made, sequence, sentAt: 1_767_225_600_000 }
  })

/** Sites: what they hand off is written once, and a buffer that was restored or cloned is noticed. */
export function siteRules(rule: Rule): void {
  rule(
    'writes what a site hands off once, with the audit row of its sending, and what it repeats not again',
    async (bench) => {
      const { store, lane, view } = bench
      const target = await lane()
      const given = items(bench, target, 1, 2)
      const before = await store.now()

      const first = await store.sites.handOff(contact(target.tenantId, { backlog: 5, clockAheadMs: -1_500 }), given)
      const again = await store.sites.handOff(contact(target.tenantId, { backlog: 3 }), given)

      const ids = given.map(({ notification }) => notification.id)
      assert.deepEqual(first, { written: ids.map((id) => ({ id, duplicate: false })), isRewound: false })
      assert.deepEqual(again, { written: ids.map((id) => ({ id, duplicate: true })), isRewound: false })
      for (const id of ids) {
        assert.deepEqual([(await view(id)).site, (await view(id)).status], ['plant-1', 'queued'])
        const audit = await store.audit.list({ notificationId: id }, { limit: 10 })
        assert.deepEqual(
          audit.items.map(({ actor, action }) => [actor, action]),
          [['site:plant-1', 'notify_send']],
        )
      }
      const [entry] = (await store.audit.list({ notificationId: ids[1] ?? '' }, { limit: 1 })).items
      assert.deepEqual(entry?.after, { at: '2026-01-01T00:00:00.000Z', sequence: 2, incarnation: 'buffer-1' })
      const [site, ...others] = await store.sites.list(target.tenantId)
      assert.deepEqual(others, [])
      assert.deepEqual(
        [
          site?.site,
          site?.incarnation,
          site?.sequence,
          site?.missing,
          site?.backlog,
          site?.clockAheadMs,
          site?.rewoundAt,
        ],
        ['plant-1', 'buffer-1', 2, 0, 3, null, null],
      )
      assertBetween(site?.lastContactAt ?? 0, before, await store.now())
    },
  )

  rule('tells what is missing between the numbers of a site, and that what was refused has come', async (bench) => {
    const { store, lane } = bench
    const target = await lane()
    const sequences = async () => {
      const [site] = await store.sites.list(target.tenantId)
      return [site?.sequence, site?.missing]
    }

    await store.sites.handOff(contact(target.tenantId), items(bench, target, 1, 2, 7))
    assert.deepEqual(await sequences(), [2, 4])
    await store.sites.handOff(contact(target.tenantId, { refused: [3, 5] }), items(bench, target, 4, 6))
    assert.deepEqual(await sequences(), [7, 0])
  })

  rule('notices a buffer that gives a number twice, and takes what it hands off nevertheless', async (bench) => {
    const { store, lane, view } = bench
    const target = await lane()
    await store.sites.handOff(contact(target.tenantId), items(bench, target, 1, 2, 3))
    const [restored] = items(bench, target, 3)
    assert.ok(restored)

    assert.equal((await store.sites.handOff(contact(target.tenantId), [restored])).isRewound, true)
    assert.equal((await view(restored.notification.id)).status, 'queued')
    const [site] = await store.sites.list(target.tenantId)
    assert.ok(site?.rewoundAt)
    const [entry] = (await store.audit.list({ tenantId: target.tenantId, action: 'rewind_buffer' }, { limit: 1 })).items
    assert.deepEqual([entry?.actor, entry?.subject], ['site:plant-1', 'site:plant-1'])

    const renewed = contact(target.tenantId, { incarnation: 'buffer-2' })
    assert.equal((await store.sites.handOff(renewed, items(bench, target, 1))).isRewound, false)
    const [now] = await store.sites.list(target.tenantId)
    assert.deepEqual([now?.incarnation, now?.sequence], ['buffer-2', 1])
    const changed = await store.audit.list({ tenantId: target.tenantId, action: 'replace_buffer' }, { limit: 10 })
    assert.deepEqual(
      changed.items.map(({ before, after }) => [before, after]),
      [[{ incarnation: 'buffer-1', sequence: 3, backlog: 0 }, { incarnation: 'buffer-2' }]],
    )
  })

  rule('keeps numbers out of it where a caller has no buffer', async (bench) => {
    const { store, lane } = bench
    const target = await lane()
    const plain = contact(target.tenantId, { incarnation: null })

    await store.sites.handOff(plain, items(bench, target, null))
    assert.equal((await store.sites.handOff(plain, items(bench, target, 1, 1))).isRewound, false)

    const [site] = await store.sites.list(target.tenantId)
    assert.deepEqual([site?.incarnation, site?.sequence, site?.missing], [null, 0, 0])
  })

  rule('finds a notification by the id it has at its own site, and for nobody else', async (bench) => {
    const { store, lane, tenant } = bench
    const target = await lane()
    const [item] = items(bench, target, 1)
    assert.ok(item)
    await store.sites.handOff(contact(target.tenantId), [item])
    const { id, idempotencyKey } = item.notification

    assert.equal(await store.sites.find(target.tenantId, 'plant-1', idempotencyKey), id)
    assert.equal(await store.sites.find(target.tenantId, 'plant-2', idempotencyKey), null)
    assert.equal(await store.sites.find(await tenant(), 'plant-1', idempotencyKey), null)
  })

  rule(
    'lists the sites of one tenant or of all, with how long each has been silent, and forgets one',
    async (bench) => {
      const { store, tenant, advance } = bench
      const [one, other] = [await tenant(), await tenant()]
      await store.sites.handOff(contact(one), [])
      await advance(20)
      await store.sites.handOff(contact(other, { site: 'plant-9' }), [])

      assert.deepEqual(
        (await store.sites.list(one)).map(({ site }) => site),
        ['plant-1'],
      )
      const all = await store.sites.list(null)
      assert.deepEqual(
        all.map(({ tenantId, site }) => `${tenantId} ${site}`).toSorted(),
        [`${one} plant-1`, `${other} plant-9`].toSorted(),
      )
      assert.ok((all.find(({ tenantId }) => tenantId === one)?.silentForMs ?? 0) >= 20)

      assert.equal(await store.sites.forget(other, 'plant-1', 'key:ada'), false)
      assert.equal(await store.sites.forget(one, 'plant-1', 'key:ada'), true)
      assert.deepEqual(await store.sites.list(one), [])
      assert.equal((await store.sites.list(other)).length, 1)
    },
  )

  rule('takes the same hand-off from two connections at once, and writes each notification once', async (bench) => {
    const { store, another, lane } = bench
    const target = await lane()
    const given = items(bench, target, ...Array.from({ length: 20 }, (_, i) => i + 1))
    const twin = await another()

    const results = await Promise.all(
      [store, twin, store, twin].map((each) => each.sites.handOff(contact(target.tenantId), given)),
    )

    assert.deepEqual(
      results.map(({ isRewound }) => isRewound),
      [false, false, false, false],
    )
    const fresh = results.flatMap(({ written }) => written.filter(({ duplicate }) => !duplicate))
    assert.equal(new Set(fresh.map(({ id }) => id)).size, 20)
    assert.equal(fresh.length, 20)
    const [site] = await store.sites.list(target.tenantId)
    assert.deepEqual([site?.sequence, site?.missing], [20, 0])
  })
}

import assert from 'node:assert/strict'
import { SEALED_TABLES, type SealedRow, type SealedTable } from '../../packages/pillarbox/src/operate/sealed-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { planEvents } from '../support/planning.ts'
import { type Bench, dueNow, only, type Rule } from './fixtures.ts'

/** What a rotation of the master key goes through: every sealed text is found, and none that changed is overwritten. */
export function sealedRules(rule: Rule): void {
  for (const table of SEALED_TABLES) {
    rule(`finds what is sealed in ${table}, with the text to compare it by`, async (bench) => {
      const row = await seed(bench, table, 's1.old.text')

      const { rows, looked, next } = await bench.store.sealed.look(table, null, 10, 's1.new.')

      assert.deepEqual(rows, [{ ...row, text: textOf(table, 's1.old.text') }])
      assert.deepEqual([looked, next], [1, null])
    })

    rule(`goes through ${table} in stretches, each row once, whatever the length of a stretch`, async (bench) => {
      const ids: string[] = []
      for (let i = 0; i < 7; i++) ids.push((await seed(bench, table, `s1.old.${i}`)).id)

      for (const limit of [1, 2, 3, 7, 8])
        assert.deepEqual((await lookThrough(bench.store, table, limit)).map(({ id }) => id).sort(), ids.toSorted())
    })

    rule(`replaces a text of ${table}, and only the one that was seen`, async (bench) => {
      const { store } = bench
      const row = await seed(bench, table, 's1.old.text')
      const other = await seed(bench, table, 's1.old.other')
      const change = (before: string, after: string) => ({
        tenantId: row.tenantId,
        id: row.id,
        before: textOf(table, before),
        after: textOf(table, after),
      })

      assert.equal(await store.sealed.replace(table, [change('s1.old.else', 's1.new.wrong')]), 0)
      assert.equal(await store.sealed.replace(table, [{ ...change('s1.old.text', 'x'), tenantId: other.tenantId }]), 0)
      assert.equal(await store.sealed.replace(table, [change('s1.old.text', 's1.new.text')]), 1)
      assert.equal(await store.sealed.replace(table, [change('s1.old.text', 's1.new.again')]), 0)
      assert.equal(await store.sealed.replace(table, []), 0)

      const texts = (await lookThrough(store, table, 10)).map(({ text }) => text)
      assert.deepEqual(texts.sort(), [textOf(table, 's1.new.text'), textOf(table, 's1.old.other')].sort())
    })

    rule(`of two who replace the same texts of ${table} at once, one does`, async (bench) => {
      const { store } = bench
      const another = await bench.another()
      for (let i = 0; i < 5; i++) await seed(bench, table, `s1.old.${i}`)
      const rows = await lookThrough(store, table, 10)
      const changesBy = (who: string) =>
        rows.map(({ text, ...row }) => ({ ...row, before: text, after: text.replace('s1.old', `s1.${who}`) }))

      const counts = await Promise.all([
        store.sealed.replace(table, changesBy('one')),
        another.sealed.replace(table, changesBy('two')),
      ])

      // Whoever finds a row in the other's hands passes it over.
      const replaced = (await lookThrough(store, table, 10)).filter(({ text }) => /s1\.(one|two)/.test(text))
      assert.equal(counts[0] + counts[1], replaced.length)
      assert.ok(replaced.length > 0)
    })

    if (table !== 'events')
      rule(`passes over what is under the new key already in ${table}`, async (bench) => {
        await seed(bench, table, 's1.new.text')
        const row = await seed(bench, table, 's1.newer.text')

        const { rows, looked } = await bench.store.sealed.look(table, null, 10, 's1.new.')

        assert.deepEqual([rows.map(({ id }) => id), looked], [[row.id], 2])
      })
  }

  rule('finds sealed fields of an event whether it waits, was planned or has failed', async (bench) => {
    const { store, newId } = bench
    const planned = await seed(bench, 'events', 's1.old.planned')
    await planEvents(store, 1, () => dueNow(newId()))
    const failed = await seed(bench, 'events', 's1.old.failed')
    await store.plan.deferEvent(failed, 'no', null)
    const waiting = await seed(bench, 'events', 's1.old.waiting')
    await store.events.insert([bench.event(waiting.tenantId, { payload: { guest: 'no secret' } })])

    const { rows, looked } = await store.sealed.look('events', null, 10, '')

    assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set([planned.id, failed.id, waiting.id]))
    assert.equal(looked, 4)
  })

  rule('keeps every byte of a payload beside the sealed text', async (bench) => {
    const { store } = bench
    const { tenantId, id } = await seed(bench, 'events', 's1.old.text')
    const row = only((await store.sealed.look('events', null, 10, '')).rows)
    const after = ' {"token" : {"$sealed":"s1.new.text"}, "n": 12345678901234567890.10, "e": "\\u00e9\\u0000 é"} '

    assert.equal(await store.sealed.replace('events', [{ tenantId, id, before: row.text, after }]), 1)

    assert.equal(only((await store.sealed.look('events', null, 10, '')).rows).text, after)
  })

  rule('leaves an account alone whose secrets were changed meanwhile', async (bench) => {
    const { store } = bench
    const { tenantId, id } = await seed(bench, 'accounts', 's1.old.text')
    await store.accounts.update(tenantId, id, { sealedSecrets: 's1.old.changed' })

    const replaced = await store.sealed.replace('accounts', [
      { tenantId, id, before: 's1.old.text', after: 's1.new.text' },
    ])

    assert.equal(replaced, 0)
    assert.equal((await store.accounts.find(tenantId, id))?.sealedSecrets, 's1.old.changed')
  })

  rule('does not bring back what was scrubbed or removed meanwhile', async (bench) => {
    const { store, view } = bench
    const notification = await seed(bench, 'notifications', 's1.old.text')
    const message = await seed(bench, 'inbox_messages', 's1.old.text')
    const account = await seed(bench, 'accounts', 's1.old.text')
    await store.notifications.act({ ...notification, action: 'cancel', actor: 'key:ada' })
    assert.equal(await store.notifications.scrub(10), 1)
    assert.ok(await store.inbox.remove(message.tenantId, USER, message.id))
    assert.ok(await store.accounts.remove(account.tenantId, account.id))

    for (const [table, row] of [
      ['notifications', notification],
      ['inbox_messages', message],
      ['accounts', account],
    ] as const) {
      const change = { ...row, before: textOf(table, 's1.old.text'), after: textOf(table, 's1.new.text') }
      assert.equal(await store.sealed.replace(table, [change]), 0)
      assert.deepEqual((await store.sealed.look(table, null, 10, '')).rows, [])
    }
    assert.equal((await view(notification.id)).content, null)
  })

  rule('loses no secret that is written while others are sealed anew', async (bench) => {
    const { store } = bench
    const another = await bench.another()
    const { tenantId, id } = await seed(bench, 'accounts', 's1.old.0')
    const written: string[] = []
    const write = async (): Promise<void> => {
      for (let i = 1; i <= 20; i++) {
        await another.accounts.update(tenantId, id, { sealedSecrets: `s1.old.${i}` })
        written.push(`s1.old.${i}`)
      }
    }
    const reseal = async (): Promise<void> => {
      for (let i = 0; i < 20; i++)
        for (const { text, ...row } of (await store.sealed.look('accounts', null, 10, 's1.new.')).rows)
          await store.sealed.replace('accounts', [{ ...row, before: text, after: text.replace('old', 'new') }])
    }

    await Promise.all([write(), reseal()])
    await reseal()

    assert.equal((await store.accounts.find(tenantId, id))?.sealedSecrets, 's1.new.20')
    assert.equal(written.length, 20)
  })

  holderRules(rule)
}

function holderRules(rule: Rule): void {
  const holder = { host: 'host', pid: 7, part: 'start', keyIds: ['a'], sealsUnder: null }

  rule('knows which keys a process has, as it said last, and for how long it has been silent', async (bench) => {
    const { store, newId, advance } = bench
    const id = newId()
    await store.sealed.announce({ ...holder, id })
    await advance(40)
    const { silentForMs: silentBefore, ...before } = only(await store.sealed.holders())

    await store.sealed.announce({ ...holder, id, keyIds: ['a', 'b'], sealsUnder: 'b' })

    const { silentForMs, ...after } = only(await store.sealed.holders())
    assert.deepEqual(before, { ...holder, id })
    assert.deepEqual(after, { ...holder, id, keyIds: ['a', 'b'], sealsUnder: 'b' })
    assert.ok(silentBefore >= 39 && silentForMs < silentBefore, `${silentBefore} → ${silentForMs}`)
  })

  rule('forgets a process that leaves, and no other', async ({ store, newId }) => {
    const [one, two] = [newId(), newId()]
    await store.sealed.announce({ ...holder, id: one })
    await store.sealed.announce({ ...holder, id: two, pid: 8 })

    await store.sealed.leave(one)

    assert.deepEqual(
      (await store.sealed.holders()).map(({ id }) => id),
      [two],
    )
  })
}

const USER = 'user-1'

/** A row of that table that holds this sealed text. */
async function seed(bench: Bench, table: SealedTable, sealed: string): Promise<{ tenantId: string; id: string }> {
  const { store, event, enqueue, newId } = bench
  const lane = await bench.lane()
  const { tenantId } = lane
  switch (table) {
    case 'accounts':
      await store.accounts.update(tenantId, lane.id, { sealedSecrets: sealed, secretNames: ['key'] })
      return { tenantId, id: lane.id }
    case 'notifications':
      return { tenantId, id: only(await enqueue(lane, 1, { content: { sealed } })) }
    case 'events': {
      const given = event(tenantId, { payload: payloadOf(sealed) })
      await store.events.insert([given])
      return { tenantId, id: given.id }
    }
    case 'inbox_messages': {
      const id = newId()
      await store.inbox.put({ id, tenantId, userId: USER, sealed })
      return { tenantId, id }
    }
  }
}

function payloadOf(sealed: string): Record<string, unknown> {
  return { guest: 'Ada', token: { $sealed: sealed } }
}

function textOf(table: SealedTable, sealed: string): string {
  if (table === 'events') return JSON.stringify(payloadOf(sealed))
  return table === 'notifications' ? JSON.stringify({ sealed }) : sealed
}

/** All that is sealed in a table, stretch by stretch. */
async function lookThrough({ sealed }: Store, table: SealedTable, limit: number): Promise<SealedRow[]> {
  const found: SealedRow[] = []
  let after: string | null = null
  do {
    const stretch = await sealed.look(table, after, limit, 's1.none.')
    assert.ok(stretch.looked <= limit)
    found.push(...stretch.rows)
    after = stretch.next
  } while (after !== null)
  return found
}

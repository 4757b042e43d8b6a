import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { sampleClaim, sampleCompletion, sampleNotification, silent } from '../../../../../test/support/samples.ts'
import { secondOf } from '../../model/rollup.ts'
import { openConnection } from '../sqlite/connection.ts'
import { openSqlite } from '../sqlite/open.ts'
import { runScript } from '../sqlite/scripts.ts'
import { completionMoves, forgetNotifications, mergedMoves, movesBetween, plainMove } from './rollup-deltas.ts'
import { completionChanges } from './transitions.ts'

const GROUP = { tenantId: 'acme', channel: 'sms', accountId: 'a', site: null, eventType: null } as const

describe('moves', () => {
  it('that are alike become one, and others stay apart', () => {
    const move = plainMove({ group: GROUP, from: 'new', to: 'parked', atSecond: 5 })

    const merged = mergedMoves([
      move,
      { ...move },
      { ...move, group: { ...GROUP, site: 'mill' } },
      { ...move, atSecond: 6 },
    ])

    assert.deepEqual(
      merged.map(({ count }) => count),
      [2, 1, 1],
    )
  })

  it('are two halves where a notification is of another group, or due at another time, from then on', () => {
    const live = { group: GROUP, status: 'live', dueSecond: 7 } as const
    const parked = { group: GROUP, status: 'parked', dueSecond: null } as const
    const words = (moves: ReturnType<typeof movesBetween>): string[] =>
      moves.map(({ from, to, dueSecond }) => `${from} ${to} ${dueSecond}`)

    assert.deepEqual(words(movesBetween(live, parked, 9)), ['live parked 7'])
    assert.deepEqual(words(movesBetween(parked, live, 9)), ['parked live 7'])
    assert.deepEqual(words(movesBetween(live, { ...live, dueSecond: 8 }, 9)), ['live moved 7', 'moved live 8'])
    const elsewhere = { ...live, group: { ...GROUP, accountId: 'b' } }
    assert.deepEqual(words(movesBetween(parked, elsewhere, 9)), ['parked moved null', 'moved live 7'])
  })

  it('of a result happen when the call ended, or now where none was made, and then for no account', () => {
    const counted = sampleClaim({ visibleAt: 1_000, wantedAt: 1_000 })
    const moveOf = (changes: Parameters<typeof sampleCompletion>[0]) =>
      completionMoves(
        completionChanges(sampleCompletion({ counted, ageMs: 5_000, durationMs: 1_000, ...changes })),
        20_000,
      )

    const [sent] = moveOf({})
    const [parked] = moveOf({ to: 'parked', outcome: null, reason: 'channel_suspended' })

    assert.deepEqual([sent?.atSecond, sent?.isByAccount, sent?.isDelivered], [16, true, true])
    assert.deepEqual([parked?.atSecond, parked?.isByAccount, parked?.latency], [20, false, null])
  })
})

describe('forgetNotifications', () => {
  it('takes what is removed from what is there, and leaves what happened', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'forget-'))
    const clock = createManualClock()
    const path = join(folder, 'store.db')
    const store = await openSqlite({ path, clock, logger: silent })
    await store.migrate()
    const purger = openConnection({ path, readOnly: false, now: clock.now })
    t.after(async () => {
      purger.close()
      await store.close()
      rmSync(folder, { recursive: true })
    })
    const stopped = { status: 'parked', reason: 'no_active_channels', error: 'none' } as const
    const given = sampleNotification({ id: '019b7a00-0000-7000-8000-000000000001', stopped, accountId: null })
    await store.notifications.insert([given])

    purger.db.exec('begin; delete from pillarbox_settled; delete from pillarbox_notifications')
    const group = { tenantId: given.tenantId, channel: given.channel, accountId: null, site: null, eventType: null }
    runScript(purger, forgetNotifications(secondOf(clock.now()), [{ group, status: 'parked', count: 1 }]))
    purger.db.exec('commit')

    const query = { tenantId: null, dimensions: ['total'], stuckForMs: 1, windowSeconds: 60, range: null } as const
    const [numbers] = (await store.rollups.read(query))?.numbers ?? []
    assert.deepEqual([numbers?.standing, numbers?.window], [{}, { created: 1, parked: 1 }])
  })
})

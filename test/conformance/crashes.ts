import assert from 'node:assert/strict'
import type { PlannerSelf } from '../../packages/pillarbox/src/plan/plan-store.ts'
import { type Bench, dueLater, only, type Rule } from './fixtures.ts'

const TTL_MS = 30_000

/** What is known of planners that died, and of the rows that they were planning. */
export function crashRules(rule: Rule): void {
  const plannerOn = (bench: Bench, pid: number): PlannerSelf => ({ id: bench.newId(), host: 'here', pid })
  const crashesOf = async ({ store }: Bench, kind: 'takeEvents' | 'takeSchedules'): Promise<readonly number[]> => {
    const { crashes, release } = await store.plan[kind](10)
    await release()
    return crashes
  }

  rule(
    'a planner notes what it plans in place of what it noted before, and hears of the notes of others',
    async (bench) => {
      const { plan } = bench.store
      const [one, other] = [plannerOn(bench, 1), plannerOn(bench, 2)]
      const registered = await bench.worker()
      const rows = { kind: 'event', rows: [{ tenantId: 'nobody', id: 'event' }] } as const

      assert.deepEqual(await plan.note(one, rows, TTL_MS), [])
      assert.deepEqual(await plan.note(one, rows, TTL_MS), [])
      assert.deepEqual(await plan.note({ ...other, id: registered }, rows, TTL_MS), [{ ...one, isBeating: false }])
      await plan.forgetNote(one.id)
      assert.deepEqual(await plan.note(one, rows, TTL_MS), [{ ...other, id: registered, isBeating: true }])
    },
  )

  rule(
    'each pending row that a dead planner had noted has one more crash; replaying forgets them, as does a written part',
    async (bench) => {
      const { store, event, newId } = bench
      const { plan } = store
      const tenantId = await bench.tenant()
      const [first, second] = [event(tenantId), event(tenantId)]
      await store.events.insert([first, second])
      const dead = plannerOn(bench, 1)
      const refs = [first, second].map(({ id }) => ({ tenantId, id }))

      await plan.note(dead, { kind: 'event', rows: refs }, TTL_MS)
      assert.equal(await plan.countCrashes([dead.id]), 2)
      assert.equal(await plan.countCrashes([dead.id]), 0, 'a note counts once')
      await plan.note(dead, { kind: 'event', rows: refs }, TTL_MS)
      assert.equal(await plan.countCrashes([dead.id]), 0, 'one of several rows ended the process, not each of them')
      assert.deepEqual(await crashesOf(bench, 'takeEvents'), [1, 1])

      const batch = await plan.takeEvents(10)
      await batch.write(batch.rows.map(() => ({ kind: 'failed', reason: 'poisoned', error: 'it ended the process' })))
      await plan.note(dead, { kind: 'event', rows: refs }, TTL_MS)
      assert.equal(await plan.countCrashes([dead.id]), 0, 'what is no longer pending is not counted')
      await store.events.replay(tenantId, first.id, 'key:ada')
      assert.deepEqual(await crashesOf(bench, 'takeEvents'), [0])

      const scheduleId = newId()
      const again = await plan.takeEvents(10)
      await again.write(again.rows.map(() => dueLater(scheduleId, 0)))
      await plan.note(dead, { kind: 'schedule', rows: [{ tenantId, id: scheduleId }] }, TTL_MS)
      assert.equal(await plan.countCrashes([dead.id]), 1)
      assert.equal(only(await crashesOf(bench, 'takeSchedules')), 1)

      const progress = { cursor: '2', planned: 2, total: 3 }
      const due = await plan.takeSchedules(10)
      await due.write(due.rows.map(() => ({ kind: 'part', notifications: [], progress })))
      assert.equal(only(await crashesOf(bench, 'takeSchedules')), 0, 'a part that was written ended no process')
    },
  )
}

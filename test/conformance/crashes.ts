import assert from 'node:assert/strict'
import type { NotingPlanner } from '../../packages/pillarbox/src/plan/plan-store.ts'
import { type Bench, dueLater, only, type Rule } from './fixtures.ts'

const TTL_MS = 30_000

/** What is known of planners that died, and of the rows that they were planning. */
export function crashRules(rule: Rule): void {
  const plannerOn = (bench: Bench, pid: number): NotingPlanner => {
    return { id: bench.newId(), host: 'here', pid, space: 'its own', boot: `start ${pid}`, number: 1 }
  }
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
      const rows = [{ kind: 'event', tenantId: 'nobody', id: 'event' }] as const

      assert.deepEqual(await plan.note(one, rows, TTL_MS), [])
      assert.deepEqual(await plan.note(one, rows, TTL_MS), [])
      assert.deepEqual(await plan.note({ ...other, id: registered }, rows, TTL_MS), [{ ...one, isBeating: true }])
      await bench.advance(10)
      assert.deepEqual(await plan.note({ ...other, id: registered }, rows, 5), [{ ...one, isBeating: false }])
      await plan.forgetNote(one.id)
      assert.deepEqual(await plan.note(one, rows, TTL_MS), [{ ...other, id: registered, isBeating: true }])
    },
  )

  rule(
    'a crash among several rows makes each of them suspect, and no more; one alone counts; replaying forgets, as does a written part',
    async (bench) => {
      const { store, event, newId } = bench
      const { plan } = store
      const tenantId = await bench.tenant()
      const [first, second] = [event(tenantId), event(tenantId)]
      await store.events.insert([first, second])
      const dead = plannerOn(bench, 1)
      const refs = [first, second].map(({ id }) => ({ kind: 'event', tenantId, id }) as const)

      await plan.note(dead, refs, TTL_MS)
      assert.equal(await plan.countCrashes([{ ...dead, number: 0 }]), 0, 'it has noted something else since')
      assert.equal(await plan.countCrashes([dead]), 2)
      assert.equal(await plan.countCrashes([dead]), 0, 'a note counts once')
      await plan.note(dead, refs, TTL_MS)
      assert.equal(await plan.countCrashes([dead]), 0, 'one of several rows ended the process, not each of them')
      assert.deepEqual(await crashesOf(bench, 'takeEvents'), [1, 1])
      for (const crashes of [2, 3]) {
        await plan.note(dead, refs.slice(0, 1), TTL_MS)
        assert.equal(await plan.countCrashes([dead]), 1)
        assert.deepEqual(await crashesOf(bench, 'takeEvents'), [crashes, 1], 'what was planned alone')
      }

      const batch = await plan.takeEvents(10)
      await batch.write(batch.rows.map(() => ({ kind: 'failed', reason: 'poisoned', error: 'it ended the process' })))
      await plan.note(dead, refs, TTL_MS)
      assert.equal(await plan.countCrashes([dead]), 0, 'what is no longer pending is not counted')
      await store.events.replay(tenantId, first.id, 'key:ada')
      assert.deepEqual(await crashesOf(bench, 'takeEvents'), [0])

      const scheduleId = newId()
      const again = await plan.takeEvents(10)
      await again.write(again.rows.map(() => dueLater(scheduleId, 0)))
      await plan.note(dead, [{ kind: 'schedule', tenantId, id: scheduleId }], TTL_MS)
      assert.equal(await plan.countCrashes([dead]), 1)
      assert.equal(only(await crashesOf(bench, 'takeSchedules')), 2)

      const progress = { cursor: '2', planned: 2, total: 3 }
      const due = await plan.takeSchedules(10)
      await due.write(due.rows.map(() => ({ kind: 'part', notifications: [], progress })))
      assert.equal(only(await crashesOf(bench, 'takeSchedules')), 0, 'a part that was written ended no process')
    },
  )

  rule('what could be planned, though it was refused, has ended no process', async (bench) => {
    const { store, event, newId } = bench
    const { plan } = store
    const tenantId = await bench.tenant()
    const { id } = only(await store.events.insert([event(tenantId)]))
    const dead = plannerOn(bench, 1)
    await plan.note(dead, [{ kind: 'event', tenantId, id }], TTL_MS)
    await plan.countCrashes([dead])
    assert.equal(only(await crashesOf(bench, 'takeEvents')), 2)

    await plan.deferEvent({ tenantId, id }, 'the database refused it', 0)

    assert.equal(only(await crashesOf(bench, 'takeEvents')), 0)
    const scheduleId = newId()
    const batch = await plan.takeEvents(10)
    await batch.write(batch.rows.map(() => dueLater(scheduleId, 0)))
    await plan.note(dead, [{ kind: 'schedule', tenantId, id: scheduleId }], TTL_MS)
    await plan.countCrashes([dead])
    await plan.deferSchedule({ tenantId, id: scheduleId }, 'the database refused it', 0)
    assert.equal(only(await crashesOf(bench, 'takeSchedules')), 0)
  })
}

import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { silent } from '../../../../test/support/samples.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createCrashGuard } from './crash-guard.ts'
import type { NoteRef, PlannerSelf } from './plan-store.ts'

const TTL_MS = 30_000
const ROWS = [{ kind: 'event', tenantId: 'acme', id: 'event-1' }] as const

async function setup(t: TestContext) {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const guardOf = async (self: PlannerSelf) => {
    const { id, host, pid } = self
    await store.workers.register({ id, host, pid, version: 'v', channels: null })
    const isRunning = (other: number): boolean => other === 1 || other === 3
    return createCrashGuard({ plan: store.plan, self: () => self, isRunning, ttlMs: TTL_MS, logger: silent })
  }
  return { clock, store, guardOf }
}

const idsOf = (notes: readonly NoteRef[]): string[] => notes.map(({ id }) => id).toSorted()

const OWN: PlannerSelf = { id: 'own', host: 'web', pid: 1, space: 'here', boot: 'now' }

it('a planner that beats is dead only where its process would be seen and is not, or this one has taken its place', async (t) => {
  const { clock, store, guardOf } = await setup(t)
  const own = await guardOf(OWN)
  for (const [id, changes] of Object.entries<Partial<PlannerSelf>>({
    'engine in the same process': {},
    killed: { pid: 2, boot: 'before' },
    'another process': { pid: 3, boot: 'before' },
    'earlier start of the same container': { space: 'there', boot: 'before' },
    'earlier process of the same number': { boot: 'before' },
    'same number in another container': { host: 'api', space: 'there', boot: 'before' },
    'another number in another container': { host: 'api', space: 'there', boot: 'before', pid: 2 },
  }))
    await (await guardOf({ ...OWN, ...changes, id })).begin('hand', ROWS)

  const dead = ['earlier process of the same number', 'earlier start of the same container', 'killed']
  assert.deepEqual(idsOf(await own.begin('hand', ROWS)), dead)

  await clock.advance(TTL_MS + 1)
  await store.workers.beat('another process')
  assert.deepEqual(idsOf(await own.begin('hand', ROWS)), [
    'another number in another container',
    ...dead,
    'same number in another container',
  ])
})

it('a planner that was asked to stop leaves no note, whatever it still plans', async (t) => {
  const { store, guardOf } = await setup(t)
  const [leaving, other] = [await guardOf(OWN), await guardOf({ ...OWN, id: 'other', host: 'api', pid: 2 })]
  await leaving.begin('hand', ROWS)

  await leaving.leave()

  assert.deepEqual(await other.begin('hand', ROWS), [])
  assert.deepEqual(await leaving.begin('hand', ROWS), [])
  const notes = await store.plan.note({ ...OWN, id: 'third', number: 1 }, ROWS, TTL_MS)
  assert.deepEqual(
    notes.map(({ id }) => id),
    ['other'],
  )
})

it('a planner that is declared dead and registers anew takes its note along', async (t) => {
  const { store } = await setup(t)
  let id = 'first'
  const guard = createCrashGuard({
    plan: store.plan,
    self: () => ({ ...OWN, id }),
    isRunning: () => true,
    ttlMs: TTL_MS,
    logger: silent,
  })
  const noted = async () => {
    const others = await store.plan.note({ ...OWN, id: 'looker', number: 1 }, ROWS, TTL_MS)
    return others.map((other) => other.id)
  }
  await guard.begin('hand', ROWS)

  id = 'second'
  assert.deepEqual(await guard.begin('hand', ROWS), [])
  assert.deepEqual(await noted(), ['second'])
  id = 'third'
  await guard.end('hand')

  assert.deepEqual(await noted(), [])
})

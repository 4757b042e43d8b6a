import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { silent } from '../../../../test/support/samples.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createAuditLook } from './audit-look.ts'

/** A store that notes what is asked of its audit. */
async function setup(t: TestContext) {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const asked: string[] = []
  const noting = new Proxy(store.audit, {
    get(audit, name: 'horizon' | 'lastId' | 'isOver') {
      asked.push(name)
      return audit[name]
    },
  })
  const record = () => store.audit.record({ tenantId: null, actor: 'system', action: 'x', subject: 's' })
  return { clock, asked, record, look: createAuditLook({ store: { audit: noting }, clock }, 1_000) }
}

it('looks once for all who ask within its time, and takes no horizon where nothing was written', async (t) => {
  const { clock, asked, record, look } = await setup(t)
  await record()

  const first = await Promise.all(Array.from({ length: 200 }, look))

  assert.deepEqual(asked.splice(0), ['lastId', 'horizon', 'isOver'])
  assert.ok(first.every(({ settled, taken }) => settled === taken && taken > 0))
  await clock.advance(1_000)
  await Promise.all(Array.from({ length: 200 }, look))
  assert.deepEqual(asked.splice(0), ['lastId'])
  await record()
  await clock.advance(1_000)
  assert.equal((await look()).settled, (first[0]?.settled ?? 0) + 1)
})

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { silent } from '../../../../../test/support/samples.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { listNotifications } from '../shared/notification-list.ts'
import { boundStatement } from '../shared/script.ts'
import { type Connection, localText, openConnection } from './connection.ts'
import { openSqlite } from './open.ts'
import { dialect } from './scripts.ts'

const ID = '019b7a00-0000-7000-8000-000000000001'

/** SQLite knows nothing of how many rows there are, so a plan for an empty ledger is the plan for any. */
describe('a list of notifications on SQLite', () => {
  let folder: string
  let connection: Connection

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
    const path = join(folder, 'store.db')
    const clock = createManualClock()
    const store = await openSqlite({ path, clock, logger: silent })
    await store.migrate()
    await store.close()
    connection = openConnection({ path, readOnly: true, now: clock.now })
  })
  after(async () => {
    connection.close()
    await rm(folder, { recursive: true })
  })

  function planOf(filter: NotificationFilter): string[] {
    const { value: statement } = listNotifications(dialect, { tenantId: 'acme', ...filter }, { limit: 50 }).next()
    assert.ok(statement && 'text' in statement)
    const { text, values } = boundStatement(dialect, statement)
    const bound = values.map((value) => (typeof value === 'boolean' ? Number(value) : value))
    const steps = connection.db.prepare(`explain query plan ${localText(text)}`).all(...bound)
    return steps.map(({ detail }) => String(detail))
  }

  /** What the ledger is read by, from the outside in. */
  const readBy = (filter: NotificationFilter): string[] =>
    planOf(filter).flatMap((step) => /^(?:SEARCH|SCAN) n(?: USING.* INDEX (\S+ \(.*\)))?/.exec(step)?.[1] ?? [])

  it('finds the few rows of an entity or a contact by their own index', () => {
    const byEntity = 'pillarbox_notifications_entity (tenant_id=? AND entity_type=? AND entity_id=?'
    const [ofEntity = ''] = readBy({ entityType: 'booking', entityId: '42' })
    assert.ok(ofEntity.startsWith(byEntity), ofEntity)
    const [ofContact = ''] = readBy({ contactId: ID })
    assert.ok(ofContact.startsWith('pillarbox_notifications_contact (tenant_id=? AND contact_id=?'), ofContact)
  })

  it('begins a window of time where its ids begin, and ends where they end', () => {
    const [ofWindow] = readBy({ from: 1_000, to: 2_000 })
    assert.equal(ofWindow, 'pillarbox_notifications_newest (tenant_id=? AND id>? AND id<?)')
  })

  it('looks each row of a page up by its id, however long the history is', () => {
    for (const filter of [{}, { status: ['queued'] }, { status: ['parked'] }, { stuckForMs: 1 }, { q: 'somebody' }]) {
      const steps = planOf(filter as NotificationFilter)
      assert.deepEqual(
        steps.filter((step) => step.startsWith('SCAN n')),
        [],
        JSON.stringify({ filter, steps }),
      )
      assert.ok(
        steps.some((step) => step.startsWith('SEARCH n USING INDEX sqlite_autoindex_pillarbox_notifications_1 (id=?)')),
      )
    }
  })
})

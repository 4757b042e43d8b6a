import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createBench } from '../../../../../test/conformance/fixtures.ts'
import { createManualClock } from '../../../../../test/support/manual-clock.ts'
import { silent } from '../../../../../test/support/samples.ts'
import type { EventFilter } from '../../plan/event-store.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { listEvents } from '../shared/events.ts'
import { listNotifications } from '../shared/notification-list.ts'
import { listContacts } from '../shared/people.ts'
import { listSchedules } from '../shared/schedules.ts'
import { boundStatement, type Row, type Script } from '../shared/script.ts'
import type { Store } from '../store.ts'
import { type Connection, localText, openConnection } from './connection.ts'
import { openSqlite } from './open.ts'
import { dialect } from './scripts.ts'

const ID = '019b7a00-0000-7000-8000-000000000001'
const PAGE = { limit: 50 }

const MARKED = /SEARCH m USING PRIMARY KEY \(tenant_id=\? AND kind=\? AND value=\?/

/** Steps that read a table from end to end: not the work table, which is as long as the backlog, nor an index of few rows. */
function endToEnd(steps: readonly string[]): string[] {
  return steps.filter((step) => /^SCAN (?:n|m|s|a|x|e)\b(?!.*possible_duplicate)/.test(step))
}

/** What `analyze` would have counted in a ledger of a million. */
const STATISTICS = `analyze;
  delete from sqlite_stat1;
  insert into sqlite_stat1 values
    ('pillarbox_notifications', 'pillarbox_notifications_newest', '1000000 500000 1'),
    ('pillarbox_notifications', 'pillarbox_notifications_entity', '1000000 500000 250000 4 2'),
    ('pillarbox_notifications', 'pillarbox_notifications_contact', '1000000 500000 20'),
    ('pillarbox_notifications', 'sqlite_autoindex_pillarbox_notifications_1', '1000000 1'),
    ('pillarbox_notifications', 'sqlite_autoindex_pillarbox_notifications_2', '1000000 500000 1'),
    ('pillarbox_notification_marks', 'pillarbox_notification_marks', '1000000 500000 250000 50000 1'),
    ('pillarbox_settled', 'pillarbox_settled', '700000 1'),
    ('pillarbox_settled', 'pillarbox_settled_status', '700000 350000 100000 1'),
    ('pillarbox_settled', 'pillarbox_settled_reason', '10000 5000 2000 1000 1'),
    ('pillarbox_settled', 'pillarbox_settled_cause', '10000 5000 1000 1'),
    ('pillarbox_attempts', 'pillarbox_attempts', '1000000 1 1 1'),
    ('pillarbox_attempts', 'pillarbox_attempts_audit', '1000000 500000 1'),
    ('pillarbox_dispatch', 'pillarbox_dispatch', '1000 1'),
    ('pillarbox_dispatch', 'pillarbox_dispatch_due', '1000 500 2 1'),
    ('pillarbox_events', 'pillarbox_events_newest', '500000 250000 2 1'),
    ('pillarbox_events', 'pillarbox_events_entity', '500000 250000 250000 2 1 1'),
    ('pillarbox_events', 'pillarbox_events_created', '500000 2'),
    ('pillarbox_events', 'sqlite_autoindex_pillarbox_events_1', '500000 250000 1'),
    ('pillarbox_schedules', 'pillarbox_schedules', '500000 1'),
    ('pillarbox_schedules', 'pillarbox_schedules_completed', '500000 250000 1'),
    ('pillarbox_schedules', 'pillarbox_schedules_event', '500000 250000 1'),
    ('pillarbox_schedules', 'pillarbox_schedules_entity', '500000 250000 250000 2');
  analyze sqlite_schema;`

/** What SQLite knows of how many rows there are: nothing, as in a new file, or what it has counted. */
for (const statistics of ['none', 'of a large ledger'] as const)
  describe(`a list on SQLite, with statistics ${statistics}`, () => {
    let folder: string
    let store: Store
    let connection: Connection

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
      const path = join(folder, 'store.db')
      const clock = createManualClock()
      store = await openSqlite({ path, clock, logger: silent })
      await store.migrate()
      connection = openConnection({ path, readOnly: false, now: clock.now })
      if (statistics !== 'none') connection.db.exec(STATISTICS)
      connection.close()
      connection = openConnection({ path, readOnly: true, now: clock.now })
    })
    after(async () => {
      connection.close()
      await store.close()
      await rm(folder, { recursive: true })
    })

    /** How SQLite goes about each statement of a script. */
    function plansOf(script: Script<unknown>): string[] {
      const steps: string[] = []
      let step = script.next()
      while (!step.done) {
        const { text, values } = boundStatement(dialect, step.value)
        const bound = values.map((value) => (typeof value === 'boolean' ? Number(value) : value))
        const plan = connection.db.prepare(`explain query plan ${localText(text)}`).all(...bound)
        steps.push(...plan.map(({ detail }) => String(detail)))
        const answer: Row[] = text.includes('pillarbox.events where')
          ? [{ entity_type: 'booking', entity_id: '42' }]
          : []
        step = script.next(answer)
      }
      return steps
    }

    const ofNotifications = (filter: NotificationFilter): string[] =>
      plansOf(listNotifications(dialect, { tenantId: 'acme', ...filter }, PAGE))

    /** By what each filter is found: one of the steps, and none that goes through a table from end to end. */
    const FILTERS: [NotificationFilter, RegExp][] = [
      [{}, /SEARCH n USING COVERING INDEX pillarbox_notifications_newest \(tenant_id=\?\)/],
      [{ status: ['queued'] }, /SCAN d/],
      [{ status: ['parked'] }, /SEARCH s USING .*INDEX pillarbox_settled_status \(tenant_id=\? AND status=\?\)/],
      [{ status: ['sent'] }, /SEARCH n USING .*INDEX pillarbox_notifications_newest \(tenant_id=\?\)/],
      [{ channel: 'sms' }, MARKED],
      [{ eventType: 'booking.confirmed' }, MARKED],
      [{ accountId: ID }, MARKED],
      [{ site: 'harbour' }, MARKED],
      [{ eventType: 'booking.confirmed', status: ['sent'] }, MARKED],
      [
        { entityType: 'booking', entityId: '42' },
        /pillarbox_notifications_entity \(tenant_id=\? AND entity_type=\? AND entity_id=\?/,
      ],
      [
        { eventId: 'event-1' },
        /pillarbox_notifications_entity \(tenant_id=\? AND entity_type=\? AND entity_id=\? AND event_id=\?/,
      ],
      [{ contactId: ID }, /pillarbox_notifications_contact \(tenant_id=\? AND contact_id=\?\)/],
      [{ conversationId: ID }, /pillarbox_notifications_conversation \(conversation_id=\?\)/],
      [{ reason: 'expired' }, /pillarbox_settled_reason \(tenant_id=\? AND status=\? AND reason=\?/],
      [{ reason: 'fallback_triggered' }, /pillarbox_settled_reason \(tenant_id=\? AND status=\? AND reason=\?/],
      [{ fingerprint: 'print' }, /pillarbox_settled_cause \(tenant_id=\? AND fingerprint=\?/],
      [{ possibleDuplicate: true }, /SEARCH n USING INDEX sqlite_autoindex_pillarbox_notifications_1 \(id=\?\)/],
      [{ stuckForMs: 1 }, /SCAN d/],
      [
        { staleForMs: 1 },
        /pillarbox_notifications_newest \(tenant_id=\? AND id>\? AND id<\?\)|pillarbox_notifications_newest \(tenant_id=\? AND id<\?\)/,
      ],
      [{ from: 1_000, to: 2_000 }, /pillarbox_notifications_newest \(tenant_id=\? AND id>\? AND id<\?\)/],
      [{ q: 'somebody' }, /pillarbox_notifications_address \(address=\?\)/],
      [{ q: 'somebody' }, /pillarbox_attempts_message \(provider_message_id=\?\)/],
      [{ q: 'somebody' }, /sqlite_autoindex_pillarbox_notifications_2 \(tenant_id=\? AND idempotency_key=\?\)/],
    ]
    for (const [filter, step] of FILTERS)
      it(`finds notifications by ${JSON.stringify(filter)} through ${step.source.split(' ')[0]}`, () => {
        const steps = ofNotifications(filter)
        assert.ok(
          steps.some((each) => step.test(each)),
          JSON.stringify(steps, null, 1),
        )
        assert.deepEqual(endToEnd(steps), [])
        assert.ok(
          steps.some((each) =>
            each.startsWith('SEARCH n USING INDEX sqlite_autoindex_pillarbox_notifications_1 (id=?)'),
          ),
          'each row of a page is looked up by its id',
        )
      })

    const EVENTS: [EventFilter, RegExp][] = [
      [{ tenantId: 'acme' }, /pillarbox_events_newest \(tenant_id=\?/],
      [{ tenantId: 'acme', type: 'booking.confirmed' }, /pillarbox_events_newest \(tenant_id=\?/],
      [{ tenantId: 'acme', entityType: 'booking', entityId: '42' }, /pillarbox_events_entity/],
      [{ tenantId: 'acme', derivedFrom: 'event-1' }, /pillarbox_events_derived \(tenant_id=\? AND derived_from=\?\)/],
      [
        { tenantId: 'acme', from: 1, to: 2 },
        /pillarbox_events_newest \(tenant_id=\? AND created_at>\? AND created_at<\?\)/,
      ],
      [{}, /SCAN e USING INDEX pillarbox_events_created/],
    ]
    for (const [filter, step] of EVENTS)
      it(`finds events by ${JSON.stringify(filter)} through ${step.source.split(' ')[0]}`, () => {
        const steps = plansOf(listEvents(dialect, filter, PAGE))
        assert.ok(
          steps.some((each) => step.test(each)),
          JSON.stringify(steps, null, 1),
        )
      })

    it('finds the schedules of a tenant by two indexes in their order, and those of an entity by its own', () => {
      const [ofTenant, ofEntity] = [{}, { entityType: 'booking', entityId: '42' }].map((filter) =>
        plansOf(listSchedules(dialect, { tenantId: 'acme', ...filter }, PAGE)).join('\n'),
      )
      assert.match(ofTenant ?? '', /pillarbox_schedules_unfinished \(tenant_id=\?\)/)
      assert.match(ofTenant ?? '', /pillarbox_schedules_completed \(tenant_id=\?\)/)
      assert.match(ofEntity ?? '', /pillarbox_schedules_entity \(tenant_id=\? AND entity_type=\? AND entity_id=\?/)
    })

    it('finds contacts by each thing that a text may be', () => {
      const steps = plansOf(listContacts(dialect, 'acme', { q: 'ada' }, PAGE)).join('\n')
      for (const index of ['contacts_phone', 'contacts_email', 'contacts_name'])
        assert.match(steps, new RegExp(`SEARCH c USING .*INDEX pillarbox_${index} \\(tenant_id=\\? AND`))
    })
  })

describe('a page of notifications on SQLite', () => {
  async function setup(t: { after(end: () => unknown): void }) {
    const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
    const path = join(folder, 'store.db')
    const clock = createManualClock()
    const store = await openSqlite({ path, clock, logger: silent })
    t.after(async () => {
      await store.close()
      await rm(folder, { recursive: true })
    })
    await store.migrate()
    const db = openConnection({ path, readOnly: false, now: clock.now })
    t.after(() => db.close())
    return { db, bench: await createBench({ store, advance: async () => {}, close: () => store.close() }) }
  }

  it('looks no further than ten thousand rows for what no index has, and says where to go on', async (t) => {
    const { bench } = await setup(t)
    const lane = await bench.lane()
    const [oldest] = await bench.enqueue(lane, 1, { triggeredBy: 'somebody' })
    for (let k = 0; k < 3; k++) await bench.enqueue(lane, 5_000)
    const filter = { tenantId: lane.tenantId, triggeredBy: 'somebody' }

    const first = await bench.store.notifications.list(filter, { limit: 10 })
    const second = await bench.store.notifications.list(filter, { limit: 10, cursor: first.nextCursor ?? '' })

    assert.deepEqual([first.items, typeof first.nextCursor], [[], 'string'])
    assert.deepEqual([second.items.map(({ id }) => id), second.nextCursor], [[oldest], null])
  })

  it('has what was moved to another account by that account, and no mark of what is gone', async (t) => {
    const { db, bench } = await setup(t)
    const [lane, other] = [await bench.lane(), await bench.lane()]
    const [id = ''] = await bench.enqueue(lane)
    const found = async (accountId: string) =>
      (await bench.store.notifications.list({ tenantId: lane.tenantId, accountId }, PAGE)).items.map((each) => each.id)
    assert.deepEqual([await found(lane.id), await found(other.id)], [[id], []])

    db.db.prepare('update pillarbox_notifications set account_id = ? where id = ?').run(other.id, id)
    assert.deepEqual([await found(lane.id), await found(other.id)], [[], [id]])

    db.db.prepare('delete from pillarbox_notifications where id = ?').run(id)
    const marks = db.db.prepare('select value from pillarbox_notification_marks').all()
    assert.deepEqual(marks, [])
  })
})

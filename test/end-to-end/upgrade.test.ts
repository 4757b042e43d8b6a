import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import pg from 'pg'
import { spine as postgresSpine } from '../../packages/pillarbox/src/store/postgres/migrations/0001-spine.ts'
import { spine as sqliteSpine } from '../../packages/pillarbox/src/store/sqlite/migrations/0001-spine.ts'
import { ENGINE_NAMES, type EngineName } from '../support/engines.ts'
import { CLI } from '../support/product-process.ts'
import { until } from '../support/until.ts'
import { openWorld, type World } from '../support/world.ts'
import {
  DIALECTS,
  NOTIFICATIONS,
  notificationId,
  rowsOfFirstSchema,
  STATES,
  scheduleId,
  TENANT,
} from './first-schema.ts'

/** The first schema as it landed: whoever has it in a database can never be given another. */
const FIRST_SCHEMA: Readonly<Record<EngineName, { sql: string; sha256: string }>> = {
  sqlite: { sql: sqliteSpine, sha256: 'e2851b1db1dbc435373864870ec0e46f3071679a7c0dfdfbb6a856ec2eded530' },
  postgres: { sql: postgresSpine, sha256: 'a79c85b98de8edb02cf34b07c97a6cbd946b508a4804d00e04cfcb27125896b6' },
}

/** As the first version left it: its schema, its rows, and nobody running. */
async function fillWithFirst({ engine, databaseUrl }: World): Promise<void> {
  const { prefix, ago } = DIALECTS[engine]
  const at = engine === 'sqlite' ? 'integer not null' : 'timestamptz not null default now()'
  const statements = `${FIRST_SCHEMA[engine].sql}
    create table ${prefix}schema_versions (version integer primary key, name text not null, applied_at ${at});
    insert into ${prefix}schema_versions values (1, 'spine', ${ago(9_000)});
    ${rowsOfFirstSchema(DIALECTS[engine])}`
  if (engine === 'sqlite') {
    const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length))
    database.exec(statements)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(statements)
  await client.end()
}

interface Seen {
  id: string
  status: string
  possibleDuplicate: boolean
}

describe('a database of the first schema', () => {
  for (const engine of ENGINE_NAMES) {
    it(`${engine}: is made by a migration that nobody has changed since`, () => {
      const { sql, sha256 } = FIRST_SCHEMA[engine]
      assert.equal(createHash('sha256').update(sql).digest('hex'), sha256)
    })

    it(`${engine}: is brought up to date by a start, which finishes what was pending and loses nothing`, async () => {
      await using world = await openWorld(engine, {
        settings: { PILLARBOX_WORKER_TTL: 'PT2S', PILLARBOX_PROVIDER_TIMEOUT: 'PT0.5S' },
      })
      await fillWithFirst(world)
      assert.match(await said(world, 1, 'migrate', '--check'), /behind: schema version 1, wanted \d+/)

      await world.start()
      const ask = async <T>(method: string, target: string): Promise<T> => {
        const separator = target.includes('?') ? '&' : '?'
        const { status, body } = await world.ops(method, `${target}${separator}tenantId=${TENANT}`)
        assert.ok(status < 300, `${method} ${target}: ${status} ${JSON.stringify(body)}`)
        return body as T
      }
      const all = async (): Promise<Seen[]> =>
        (await ask<{ items: Seen[] }>('GET', '/api/notifications?limit=200')).items
      const live = async (): Promise<number> =>
        (await all()).filter(({ status }) => ['queued', 'retrying', 'sending'].includes(status)).length
      const event = async (id: string) => (await ask<{ status: string }>('GET', `/api/events/${id}`)).status
      await until('what was pending is done', async () => (await event('e-pending')) === 'published')
      const schedule = async (id: string) =>
        (await ask<{ status: string }>('GET', `/api/automation-schedules/${id}`)).status
      await until('what was due is planned', async () => (await schedule(scheduleId('pending'))) === 'completed')
      await until('what was to be sent is sent', async () => (await live()) === 0)

      const rows = new Map((await all()).map((row) => [row.id, row]))
      assert.deepEqual(
        Object.fromEntries(STATES.map((state) => [state, rows.get(notificationId(state))?.status])),
        NOTIFICATIONS,
      )
      // One for the event that was pending, and one for the schedule.
      assert.equal(rows.size, STATES.length + 2)
      assert.equal(await event('e-failed'), 'failed')
      for (const status of ['awaiting_approval', 'completed', 'failed', 'cancelled'] as const)
        assert.equal(await schedule(scheduleId(status)), status)
      assert.deepEqual(
        new Set(world.sandboxMessages().map((message) => message.notificationId)),
        new Set(
          [...rows.keys()].filter((id) => !STATES.some((state) => notificationId(state) === id && !WAITED.has(state))),
        ),
      )

      // What had stopped can still be moved by hand.
      await ask('POST', `/api/notifications/${notificationId('parked')}/retry`)
      await ask('POST', '/api/events/e-failed/replay')
      await ask('POST', `/api/automation-schedules/${scheduleId('awaiting_approval')}/approve`)
      await until('they are sent', async () => {
        const now = await all()
        return now.length === STATES.length + 4 && now.filter(({ status }) => status === 'sent').length === 4 + 5
      })

      const numbers = await until('the numbers are counted', async () => {
        const { body } = await world.ops('GET', `/ops/kpis?tenantId=${TENANT}`)
        const { total } = body as { total: Record<string, number | null> }
        return total['parkedCount'] === null ? null : total
      })
      assert.deepEqual([numbers['parkedCount'], numbers['uncertainCount'], numbers['queueDepth']], [0, 1, 0])
      assert.match(await said(world, 0, 'rollups', 'rebuild'), /every sum was right/)
      await said(world, 0, 'audit', 'verify')
      await said(world, 0, 'migrate', '--check')
    })
  }
})

/** Those that the sandbox is sent by this version; the others were done with before. */
const WAITED: ReadonlySet<string> = new Set(['queued', 'retrying', 'sending'])

/** What a command of the product says, which ends with `code`. */
async function said(world: World, code: number, ...command: string[]): Promise<string> {
  const made = world.runScript([CLI, ...command])
  assert.equal((await made.exited).code, code, made.log())
  return made.log()
}

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { sealWith } from '@pillarbox/client'
import pg from 'pg'
import { succeed } from '../support/api.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { startPostgres } from '../support/postgres/launcher.ts'
import { until } from '../support/until.ts'
import { openWorld, type World } from '../support/world.ts'

const TENANT = 'eventhub'

const CATALOGUE = {
  name: 'eventhub',
  defaultLocale: 'en',
  eventTypes: {
    InvitationSent: {
      entity: 'invitation',
      once: 'per-event',
      payload: {
        type: 'object',
        required: ['guestEmail', 'rsvpToken'],
        properties: { guestEmail: { type: 'string' }, rsvpToken: { type: 'string' }, guests: { type: 'array' } },
      },
      recipients: [{ email: 'guestEmail' }],
      delivery: { channels: ['email'] },
      secrets: ['rsvpToken', 'guests[].token'],
      templates: [
        {
          channel: 'email',
          locale: 'en',
          subject: 'You are invited',
          body: '<p>https://rsvp.example.com/{{rsvpToken}}</p>{% for guest in guests %}{{guest.token}} {% endfor %}',
        },
      ],
    },
  },
}

/** Where a secret could be found by somebody who has stolen all there is on the disk. */
interface Disk {
  /** Every row of every table, as text. */
  dump(): Promise<string>
  /** All files but the pretend vendor's own. */
  files(): Promise<string[]>
}

describe('a secret in a payload (P10)', () => {
  for (const engine of ENGINE_NAMES)
    it(`${engine}: reaches the guest and stands in clear nowhere: tables, files, logs; once final it is gone`, async () => {
      await using server = engine === 'postgres' ? await startPostgres() : null
      await using world = await openWorld(engine, server ? { databaseUrl: server.url } : {})
      const product = await world.startProcess('start', { PILLARBOX_LOG_LEVEL: 'debug' })
      const call = caller(product.url)
      await call('POST', '/ops/tenants', { id: TENANT, name: 'Event hub', catalogue: CATALOGUE })
      const account = {
        channel: 'email',
        provider: 'sandbox',
        name: 'mail',
        retry: { maxAttempts: 3, fixed: 'PT0.05S' },
      }
      await call('POST', `/api/channel-accounts?tenantId=${TENANT}`, account)
      const disk = server ? postgresDisk(world, server.dataDir) : sqliteDisk(world)
      const tokens = {
        host: newToken(),
        http: newToken(),
        nested: newToken(),
        flaky: newToken(),
        refused: newToken(),
        direct: newToken(),
      }

      // (a) In the application's own transaction, sealed by it.
      const { sealingKey } = await call<{ sealingKey: string }>('GET', '/api/sealing-key')
      const sealed = sealWith(sealingKey, { tenantId: TENANT })(tokens.host)
      const byHost = { tenantId: TENANT, ...invitation('by-host', { rsvpToken: sealed }) }
      await (await world.host()).transact({ events: [byHost] })
      // (b) Over HTTP, in clear.
      const byHttp = [
        invitation('by-http', { rsvpToken: tokens.http, guests: [{ token: tokens.nested }] }),
        invitation('flaky', { rsvpToken: tokens.flaky, guestEmail: 'guest+flaky@example.com' }),
        invitation('refused', { rsvpToken: tokens.refused, guestEmail: 'guest+bounce@example.com' }),
      ]
      for (const event of byHttp) await call('POST', `/api/events?tenantId=${TENANT}`, event)
      // (c) Straight to the ledger, as the context of a template.
      await call('POST', `/api/notifications?tenantId=${TENANT}`, {
        channel: 'email',
        to: { email: 'guest@example.com' },
        eventType: 'InvitationSent',
        context: { rsvpToken: tokens.direct },
      })

      const { refused: _refused, ...delivered } = tokens
      const words = await until('four messages have arrived', async () => {
        const bodies = world.sandboxMessages().map(({ body }) => body)
        return bodies.length >= 4 && bodies
      })
      for (const token of Object.values(delivered))
        assert.ok(words.join('\n').includes(token), 'the guest has the token')
      const [parked] = await until('the refused one is parked', async () => {
        const { items } = await call<{ items: Seen[] }>('GET', `/api/notifications?tenantId=${TENANT}&status=parked`)
        return items.length > 0 && items
      })
      assert.deepEqual([parked?.reason, parked?.isSealed], ['invalid_recipient', true])

      await assertNowhere(disk, world, Object.values(tokens))

      await call('POST', `/api/notifications/${parked?.id}/discard?tenantId=${TENANT}`)
      await until('nothing sealed is left', async () => {
        const dump = await disk.dump()
        return !dump.includes('$sealed') && !dump.includes('"sealed"') && !dump.includes(sealed.$sealed)
      })
      const { items } = await call<{ items: Seen[] }>('GET', `/api/notifications?tenantId=${TENANT}`)
      assert.equal(items.length, 5)
      assert.ok(items.every(({ isScrubbed, isSealed }) => isScrubbed && !isSealed))
      await assertNowhere(disk, world, Object.values(tokens))
      assert.ok((await disk.dump()).includes('by-host'), 'the dump has the rows')
    })
})

interface Seen {
  id: string
  reason: string | null
  isSealed: boolean
  isScrubbed: boolean
}

function invitation(id: string, payload: Record<string, unknown>) {
  const entity = { type: 'invitation', id }
  return { id, type: 'InvitationSent', entity, payload: { guestEmail: 'guest@example.com', ...payload } }
}

/** Long enough to be found nowhere by chance, and not of a form that is taken for a key anyway. */
function newToken(): string {
  return `rsvp-${randomBytes(9).toString('hex')}`
}

/** In clear, or in a form that gives it away. */
async function assertNowhere(disk: Disk, world: World, tokens: readonly string[]): Promise<void> {
  const forms = tokens.flatMap((token) => [
    token,
    Buffer.from(token).toString('base64url'),
    Buffer.from(token).toString('hex'),
  ])
  const dump = await disk.dump()
  for (const form of forms) {
    assert.ok(!dump.includes(form), 'no table has the token')
    assert.ok(!world.lastLog().includes(form), 'no log has the token')
  }
  const files = await disk.files()
  let hasEvents = false
  for (const file of files) {
    const bytes = readFileSync(file)
    hasEvents ||= bytes.includes('by-host')
    for (const form of forms) assert.ok(!bytes.includes(form), `${file} has the token`)
  }
  assert.ok(hasEvents, 'what is not secret is found in the files')
}

function filesIn(folder: string, isWanted: (name: string) => boolean = () => true): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isWanted(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
}

/** The database, its write-ahead log and shared memory, the logs of the process; not the vendor's file. */
const isOurs = (name: string): boolean => !name.startsWith('sandbox.db')

function sqliteDisk({ dataDir, databaseUrl }: World): Disk {
  return {
    async dump() {
      const db = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true, timeout: 5_000 })
      const tables = db.prepare(`select name from sqlite_schema where type = 'table'`).all()
      const rows = tables.flatMap(({ name }) => db.prepare(`select * from "${String(name)}"`).all())
      db.close()
      return rows.map((row) => Object.values(row).map(String).join('\t')).join('\n')
    },
    files: async () => filesIn(dataDir, isOurs),
  }
}

function postgresDisk({ dataDir, databaseUrl }: World, clusterDir: string): Disk {
  async function query(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows
    } finally {
      await client.end()
    }
  }
  return {
    async dump() {
      const tables = await query(
        `select format('%I.%I', schemaname, tablename) as name from pg_tables
         where schemaname not in ('pg_catalog', 'information_schema')`,
      )
      assert.ok(tables.length > 10)
      const texts: string[] = []
      for (const { name } of tables)
        for (const { line } of await query(`select t::text as line from ${String(name)} t`)) texts.push(String(line))
      // A row's text doubles the quotes of the JSON in it.
      return texts.join('\n').replaceAll('""', '"')
    },
    async files() {
      await query('checkpoint')
      return [...filesIn(clusterDir), ...filesIn(dataDir, isOurs)]
    },
  }
}

type Call = <T = unknown>(method: string, url: string, body?: unknown) => Promise<T>

function caller(base: string): Call {
  return (method, url, body) => succeed(base + url, { method, ...(body !== undefined && { body }) })
}

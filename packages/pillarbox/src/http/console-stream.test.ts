import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { migratedDatabase } from '../../../../test/support/postgres/database.ts'
import { silent } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import { systemClock } from '../runtime/system.ts'
import { hashKey } from '../security/keys.ts'
import { openPostgres } from '../store/postgres/open.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { type Fixture, type FixtureOptions, openFixture, type TestTenant } from './fixture.ts'

interface Heard {
  event: string
  id: number
  data: { items?: { id: string; status: string }[]; more?: boolean; queueDepth?: number; tenantId?: string }
}

async function setup(t: TestContext, config = {}, open?: FixtureOptions['open']) {
  // The stream waits by the clock of the machine; everything else by the test's.
  const f = await openFixture({ config, deps: { clock: systemClock }, ...(open && { open }) })
  t.after(() => f.app.close())
  const acme = await f.tenant('acme')
  await f.call(acme.keys.admin, 'POST', '/api/channel-accounts', { channel: 'email', provider: 'sandbox', name: 'a' })
  const address = await f.app.listen({ host: '127.0.0.1', port: 0 })
  return { f, acme, address }
}

/** Listens until the test is over; what is heard grows. */
function listen(t: TestContext, url: string, headers: Record<string, string>) {
  const heard: Heard[] = []
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const state = { status: 0, isOver: false }
  const run = async () => {
    const answer = await fetch(url, { headers, signal: leaving.signal })
    state.status = answer.status
    let rest = ''
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = `${rest}${chunk}`.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const found = /^event: (\w+)\nid: (\d+)\ndata: (.*)$/.exec(block)
        if (found)
          heard.push({ event: found[1] ?? '', id: Number(found[2]), data: JSON.parse(found[3] ?? '') as Heard['data'] })
      }
    }
    state.isOver = true
  }
  run().catch(() => {})
  return { heard, state, leave: () => leaving.abort() }
}

async function submit(f: Fixture, tenant: TestTenant): Promise<string> {
  const mail = { channel: 'email', to: { email: 'ada@example.test' }, body: 'a secret word' }
  return (await f.call(tenant.keys.publisher, 'POST', '/api/notifications', mail)).json().id
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const moves = (heard: readonly Heard[]) => heard.flatMap(({ data }) => data.items ?? [])

it('tells of what moved by id and status, and of the numbers, and nothing of anybody', async (t) => {
  const { f, acme, address } = await setup(t)
  const { heard } = listen(t, `${address}/api/stream`, bearer(acme.keys.viewer))
  await until('what was waited for', () => heard.some(({ event }) => event === 'kpis'))
  const id = await submit(f, acme)
  await f.call(acme.keys.operator, 'POST', `/api/notifications/${id}/park`)

  await until(
    'what was waited for',
    () => moves(heard).length > 0 && heard.filter(({ event }) => event === 'kpis').length > 1,
  )

  assert.deepEqual(heard[0], { event: 'hello', id: heard[0]?.id ?? -1, data: { tenantId: 'acme' } })
  assert.deepEqual(moves(heard), [{ id, status: 'parked' }])
  assert.doesNotMatch(JSON.stringify(heard), /ada|secret/)
})

it('tells nothing of another tenant', async (t) => {
  const { f, acme, address } = await setup(t)
  const other = await f.tenant('other')
  const { heard } = listen(t, `${address}/api/stream`, bearer(other.keys.viewer))
  const own = listen(t, `${address}/api/stream?tenantId=acme`, bearer(f.opsKey))
  await until('what was waited for', () => heard.length > 1 && own.heard.length > 1)
  const id = await submit(f, acme)
  await f.call(acme.keys.operator, 'POST', `/api/notifications/${id}/park`)

  await until('what was waited for', () => moves(own.heard).length > 0)

  assert.deepEqual(moves(heard), [])
})

it('goes on after what was heard last, and says so where too much was missed', async (t) => {
  const { f, acme, address } = await setup(t)
  const first = listen(t, `${address}/api/stream`, bearer(acme.keys.viewer))
  await until('what was waited for', () => first.heard.length > 1)
  const last = first.heard.at(-1)?.id ?? 0
  first.leave()
  const id = await submit(f, acme)
  await f.call(acme.keys.operator, 'POST', `/api/notifications/${id}/park`)

  const second = listen(t, `${address}/api/stream`, { ...bearer(acme.keys.viewer), 'last-event-id': String(last) })
  const third = listen(t, `${address}/api/stream?lastEventId=900000`, bearer(acme.keys.viewer))

  await until('what was waited for', () => moves(second.heard).length > 0 && third.heard.length > 1)
  assert.deepEqual(moves(second.heard), [{ id, status: 'parked' }])
  assert.deepEqual(
    third.heard.slice(0, 2).map(({ event }) => event),
    ['hello', 'reset'],
  )
})

it('says that it is still there where nothing happens', async (t) => {
  const { acme, address } = await setup(t, { streamBeatMs: 50 })
  const { heard } = listen(t, `${address}/api/stream`, bearer(acme.keys.viewer))

  await until('two beats', () => heard.filter(({ event }) => event === 'beat').length > 1)
})

it('ends when the key is revoked', async (t) => {
  const { f, acme, address } = await setup(t)
  const { id, key } = (await f.call(acme.keys.admin, 'POST', '/api/keys', { name: 'Bo', role: 'viewer' })).json()
  const { heard, state } = listen(t, `${address}/api/stream`, bearer(key))
  await until('what was waited for', () => heard.length > 0)

  await f.call(acme.keys.admin, 'DELETE', `/api/keys/${id}`)

  await until('what was waited for', () => state.isOver)
})

it('refuses more than its number of one key', async (t) => {
  const { acme, address } = await setup(t, { maxConsoleStreamsPerKey: 1 })
  const first = listen(t, `${address}/api/stream`, bearer(acme.keys.viewer))
  await until('what was waited for', () => first.heard.length > 0)

  assert.equal((await fetch(`${address}/api/stream`, { headers: bearer(acme.keys.viewer) })).status, 429)
})

describe('what is committed after something with a higher number', () => {
  const LATE = '019bc186-0000-7000-8000-000000000001'
  const AFTER = '019bc186-0000-7000-8000-000000000002'

  /** A stream on PostgreSQL, and two connections of somebody else's: one with a move that is not committed yet. */
  async function behind(t: TestContext) {
    const database = await migratedDatabase()
    const [late, other] = [
      new pg.Client({ connectionString: database.url }),
      new pg.Client({ connectionString: database.url }),
    ]
    await Promise.all([late.connect(), other.connect()])
    const open = () => openPostgres({ url: database.url, clock: systemClock, logger: silent })
    const { acme, address } = await setup(t, {}, open)
    t.after(async () => {
      await Promise.all([late.end(), other.end()])
      await database.drop()
    })
    const { heard } = listen(t, `${address}/api/stream`, bearer(acme.keys.viewer))
    await until('it is heard', () => heard.length > 1)
    const move = (client: pg.Client, id: string) =>
      client.query(
        `insert into pillarbox.audit (tenant_id, actor, action, notification_id, to_status)
          values ('acme', 'key:x', 'park', $1, 'parked')`,
        [id],
      )
    await late.query('begin')
    await move(late, LATE)
    const passOver = (count: number) =>
      other.query(`select nextval('pillarbox.audit_ids') from generate_series(1, ${count})`)
    return { late, heard, passOver, after: () => move(other, AFTER) }
  }

  it('is told all the same, however many numbers lie between', async (t) => {
    const { late, heard, passOver, after } = await behind(t)
    await passOver(600)
    await after()
    await until('the one behind it is told', () => moves(heard).some(({ id }) => id === AFTER))

    await late.query('commit')

    await until('it is told', () => moves(heard).some(({ id }) => id === LATE))
    assert.deepEqual(
      moves(heard).map(({ id }) => id),
      [AFTER, LATE],
    )
    const before = heard.find(({ data }) => data.items?.some(({ id }) => id === AFTER))?.id ?? assert.fail()
    assert.ok((heard.at(-1)?.id ?? 0) > before + 600, 'whoever comes back begins behind what was settled')
  })

  it('is said to be more where it lies too far back to be looked at', async (t) => {
    const { late, heard, passOver, after } = await behind(t)
    const mores = () => heard.filter(({ data }) => data.more).length
    await passOver(3_000)
    await after()
    await until('numbers were left out', () => mores() === 1)

    await late.query('commit')

    await until('all of them are settled', () => mores() === 2)
  })
})

it('ends with its session, also where those who bring unknown cookies from there are refused', async (t) => {
  const open = () => openSqlite({ path: ':memory:', clock: systemClock, logger: silent })
  const { f, acme, address } = await setup(t, { failedKeysPerSecond: 0.001, failedKeysBurst: 1 }, open)
  const signedIn = await fetch(`${address}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: acme.keys.viewer }),
  })
  const cookie = signedIn.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  const { heard, state } = listen(t, `${address}/api/stream`, { cookie })
  await until('it is heard', () => heard.length > 0)
  const forged = { headers: { cookie: `pbx_session=${'x'.repeat(43)}` } }
  await until('forgers are refused', async () => (await fetch(`${address}/api/session`, forged)).status === 429)

  // As another process does.
  await f.store.sessions.end(hashKey(cookie.slice('pbx_session='.length)))

  await until('it is over', () => state.isOver)
})

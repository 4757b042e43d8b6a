import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { fromNodeSqlite, fromPg, InvalidEventError, type NewEvent, publish, publishSync } from '@pillarbox/client'
import pg from 'pg'
import { type Fixture, openFixture, type TestTenant } from '../../packages/pillarbox/src/http/fixture.ts'
import { openPostgres } from '../../packages/pillarbox/src/store/postgres/open.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres/database.ts'
import { CORPUS, type EventCase, GOOD_EVENT } from './corpus.ts'

interface Fault {
  path: string
  message: string
}

/** What a way in answered: the id of what it took, or everything it found wrong. */
type WayAnswer = { id: string } | { faults: Fault[] }

interface WayIn {
  name: string
  fixture: () => Fixture
  tenantId: string
  kinds: readonly EventCase['kind'][]
  send(event: Record<string, unknown>, given: EventCase): Promise<WayAnswer>
}

let database: FreshDatabase
let folder: string
let client: pg.Client
let sqlite: DatabaseSync
let onPostgres: Fixture
let onSqlite: Fixture
const publishers = new Map<string, TestTenant>()

before(async () => {
  database = await freshDatabase()
  folder = mkdtempSync(path.join(tmpdir(), 'pillarbox-contract-'))
  const file = path.join(folder, 'events.db')
  onPostgres = await openFixture({ open: (deps) => openPostgres({ ...deps, url: database.url }) })
  onSqlite = await openFixture({ open: (deps) => openSqlite({ ...deps, path: file }) })
  client = new pg.Client(database.url)
  await client.connect()
  sqlite = new DatabaseSync(file)
  for (const { fixture, tenantId } of WAYS) {
    const tenant = await fixture().tenant(tenantId)
    publishers.set(tenantId, tenant)
    const answer = await fixture().call(tenant.keys.admin, 'PUT', '/api/event-types', { eventTypes: eventTypes() })
    assert.equal(answer.statusCode, 200, answer.body)
  }
})
after(async () => {
  sqlite?.close()
  await client?.end()
  await onSqlite?.app.close()
  await onPostgres?.app.close()
  await database?.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** A catalogue that knows the types of all events of the corpus, so that no event is refused for its type. */
function eventTypes(): Record<string, object> {
  return Object.fromEntries(
    CORPUS.filter(({ refused }) => refused === null).map(({ changes }) => {
      const { type, entity } = { ...GOOD_EVENT, ...changes }
      return [type, { entity: entity.type, recipients: [] }]
    }),
  )
}

const WAYS: readonly WayIn[] = [
  {
    name: 'publish() on PostgreSQL',
    fixture: () => onPostgres,
    tenantId: 'publish-postgres',
    kinds: ['any', 'javascript', 'not sql', 'not http'],
    send: async (event) => {
      await client.query('begin')
      try {
        return await publish(fromPg(client), event as unknown as NewEvent).catch(faultsOf)
      } finally {
        await client.query('commit')
      }
    },
  },
  {
    name: 'publish() on SQLite',
    fixture: () => onSqlite,
    tenantId: 'publish-sqlite',
    kinds: ['any', 'javascript', 'not sql', 'not http'],
    send: async (event) => {
      sqlite.exec('begin immediate')
      try {
        return publishSync(fromNodeSqlite(sqlite), event as unknown as NewEvent)
      } catch (error) {
        return faultsOf(error)
      } finally {
        sqlite.exec('commit')
      }
    },
  },
  httpWay('postgres'),
  httpWay('sqlite'),
  {
    name: 'the SQL function',
    fixture: () => onPostgres,
    tenantId: 'sql',
    kinds: ['any', 'json', 'not http'],
    send: callFunction,
  },
]

function faultsOf(error: unknown): WayAnswer {
  if (!(error instanceof InvalidEventError)) throw error
  return { faults: [...error.problems] }
}

/** `POST /api/events`, the event alone and in a list between good ones, which must come to the same. */
function httpWay(engine: 'postgres' | 'sqlite'): WayIn {
  const tenantId = `http-${engine}`
  const fixture = (): Fixture => (engine === 'postgres' ? onPostgres : onSqlite)
  const post = (payload: string) =>
    fixture().inject({
      method: 'POST',
      url: '/api/events',
      headers: {
        authorization: `Bearer ${publishers.get(tenantId)?.keys.publisher}`,
        'content-type': 'application/json',
      },
      payload,
    })
  return {
    name: `POST /api/events over ${engine}`,
    fixture,
    tenantId,
    kinds: ['any', 'json', 'not sql'],
    async send(given, { payloadText, refused }) {
      const { tenantId: _, ...event } = given
      const body = payloadText === undefined ? JSON.stringify(event) : withPayload(event, payloadText)
      const answer = await post(body)
      const list = await post(`[${JSON.stringify(GOOD_EVENT)},${body},${JSON.stringify(GOOD_EVENT)}]`)
      if (answer.statusCode === 400) {
        assert.equal(list.statusCode, 400, list.body)
        return { faults: [{ path: '', message: answer.json().detail }] }
      }
      const [first, own, last] = list.json().results
      assert.deepEqual([first?.status, last?.status], [202, 202], 'one bad event spoils no other')
      if (refused === null) {
        assert.equal(answer.statusCode, 202, answer.body)
        assert.deepEqual(
          [own?.status, own?.id],
          'id' in event && event['id'] !== null ? [200, answer.json().id] : [202, own?.id],
        )
        return { id: answer.json().id }
      }
      assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'], answer.body.slice(0, 500))
      assert.deepEqual([own?.status, own?.errors], [422, answer.json().errors.slice(0, 20)])
      return { faults: answer.json().errors }
    },
  }
}

function withPayload(event: Record<string, unknown>, payloadText: string): string {
  const { payload: _, ...others } = event
  return `${JSON.stringify(others).slice(0, -1)},"payload":${payloadText}}`
}

/** The arguments of `pillarbox.publish`, and where `publish()` has them. */
const ARGUMENTS: Record<string, string> = {
  tenant_id: 'tenantId',
  type: 'type',
  entity_type: 'entity.type',
  entity_id: 'entity.id',
  payload: 'payload',
  id: 'id',
  due_at: 'dueAt',
  occurred_at: 'occurredAt',
  correlation_id: 'correlationId',
  topic: 'topic',
  traceparent: 'traceparent',
  locale: 'locale',
  recipients: 'recipients',
  channels: 'channels',
  conversation: 'conversation',
}

async function callFunction(event: Record<string, unknown>, { payloadText }: EventCase): Promise<WayAnswer> {
  const { entity, payload, ...others } = event as typeof GOOD_EVENT & Record<string, unknown>
  const values: Record<string, unknown> = { ...others, 'entity.type': entity.type, 'entity.id': entity.id }
  const json = (value: unknown): unknown => (value === null || value === undefined ? value : JSON.stringify(value))
  for (const field of ['recipients', 'channels', 'conversation']) values[field] = json(values[field])
  values['payload'] = payloadText ?? json(payload)
  // What is left out is left to the function's own default.
  const given = Object.entries(ARGUMENTS).filter(([, field]) => values[field] !== undefined)
  const call = `select pillarbox.publish(${given.map(([name], i) => `${name} => $${i + 1}`).join(', ')}) as id`
  try {
    const { rows } = await client.query<{ id: string }>(
      call,
      given.map(([, field]) => values[field]),
    )
    return { id: rows[0]?.id ?? '' }
  } catch (error) {
    const { code, column, message, hint = '', detail } = error as pg.DatabaseError & { column?: string }
    assert.deepEqual([code, detail], ['22023', undefined], message)
    assert.ok(hint.length > 10 && message.length < 400, message)
    const [, place = '', words = ''] = /^pillarbox\.publish: (\S+) (.*)$/s.exec(message) ?? []
    const [argument = '', inside = ''] = place.split(/(?<=^\w+)(?=[.[])/)
    assert.equal(argument, column)
    const root = (ARGUMENTS[argument] ?? '').replaceAll('.', '/')
    return { faults: [{ path: `/${root}${inside.replace(/\[(\d+)\]/g, '/$1').replaceAll('.', '/')}`, message: words }] }
  }
}

describe('an event', () => {
  for (const [index, given] of CORPUS.entries()) {
    it(`${given.refused === null ? 'is taken with' : 'is refused for'} ${given.name}, whichever way it comes`, async () => {
      const stored: { way: string; row: object }[] = []
      for (const way of WAYS.filter(({ kinds }) => kinds.includes(given.kind))) {
        const event = eventOf(given, way, index)
        const answer = await way.send(event, given)
        if (given.refused === null) {
          assert.ok('id' in answer, `${way.name}: ${JSON.stringify(answer).slice(0, 500)}`)
          stored.push({ way: way.name, row: await storedRow(way, String(event['tenantId']), answer.id) })
        } else checkRefusal(given, way, answer)
      }

      assert.ok(stored.length > 0 || given.refused !== null)
      for (const { way, row } of stored) assert.deepEqual(row, stored[0]?.row, `${way} as ${stored[0]?.way}`)
    })
  }
})

function eventOf({ changes }: EventCase, { tenantId }: WayIn, index: number): Record<string, unknown> {
  const event = { ...GOOD_EVENT, tenantId, id: `case-${index}`, ...changes }
  return Object.fromEntries(Object.entries(event).filter(([, value]) => value !== undefined))
}

/** What the row holds of the event. An id that was made, the tenant and whose key it came with differ by way. */
async function storedRow({ fixture }: WayIn, tenantId: string, id: string): Promise<object> {
  const row = await fixture().store.events.find(tenantId, id)
  assert.ok(row, `the event ${id} of ${tenantId} was not stored`)
  const { tenantId: _, createdAt: _1, nextAttemptAt: _2, publishedBy: _3, ...held } = row
  if (id.startsWith('case-') || id.length !== 36) return held
  return { ...held, id: 'made', correlationId: held.correlationId === id ? 'its id' : held.correlationId }
}

function checkRefusal({ refused, sqlWords }: EventCase, way: WayIn, answer: WayAnswer): void {
  assert.ok('faults' in answer, `${way.name} took it`)
  const { path: place, words } = refused ?? { path: '', words: '' }
  const isSql = way.name === 'the SQL function'
  const expected = isSql ? (sqlWords ?? words) : words
  const [fault, ...others] = answer.faults
  assert.ok(fault && others.length === 0, `${way.name}: ${JSON.stringify(answer.faults)}`)
  assert.ok(fault.message.startsWith(expected), `${way.name} says “${fault.message}” instead of “${expected}”`)
  // SQL names the argument; where in a JSON argument, only for recipients, channels and conversation.
  if (isSql) assert.ok(`${place}/`.startsWith(`${fault.path}/`) || place === '', `${way.name} says ${fault.path}`)
  else assert.equal(fault.path, place, way.name)
}

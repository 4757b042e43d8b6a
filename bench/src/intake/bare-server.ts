/**
 * What the intake is compared with: the same request, checked by a schema of the same fields, answered by a route that
 * keeps nothing (`none`), or one durable row (`postgres`, `sqlite`). Says its port when it listens.
 */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'
import pg from 'pg'
import { postgresAddress } from '../environment.ts'

const [, , kind = 'none', target = ''] = process.argv
const COLUMNS = 'id uuid primary key, idempotency_key text unique, body text not null'

interface Body {
  idempotencyKey: string
}

const insert = await openStore()
const app = Fastify()
const text = { type: 'string', maxLength: 4_000 }
const body = {
  type: 'object',
  additionalProperties: false,
  required: ['idempotencyKey', 'channel', 'to', 'body'],
  properties: {
    idempotencyKey: { type: 'string', minLength: 1, maxLength: 255 },
    channel: { type: 'string', enum: ['email', 'sms', 'push'] },
    to: { type: 'object', additionalProperties: false, properties: { email: text, name: text } },
    subject: text,
    body: text,
  },
}
app.post('/api/notifications', { schema: { body } }, async (request, reply) => {
  const id = randomUUID()
  await insert(id, (request.body as Body).idempotencyKey, JSON.stringify(request.body))
  return reply.status(202).send({ id, status: 'queued' })
})
process.send?.(Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port))

async function openStore(): Promise<(id: string, key: string, body: string) => Promise<unknown>> {
  if (kind === 'postgres') {
    const pool = new pg.Pool({ ...postgresAddress(), database: target, max: 10 })
    await pool.query(`create table bare (${COLUMNS})`)
    const statement = { name: 'insert', text: 'insert into bare values ($1, $2, $3)' }
    return (...values) => pool.query({ ...statement, values })
  }
  if (kind === 'sqlite') {
    const database = new DatabaseSync(target)
    database.exec(`pragma journal_mode = wal; pragma synchronous = full; create table bare (${COLUMNS})`)
    const statement = database.prepare('insert into bare values (?, ?, ?)')
    return async (...values) => statement.run(...values)
  }
  return async () => undefined
}

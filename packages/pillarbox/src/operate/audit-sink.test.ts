import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startWebhookReceiver } from '@pillarbox/vendors'
import { Webhook } from 'standardwebhooks'
import { chainAudit } from '../../../../test/support/audit.ts'
import { testOutbound } from '../../../../test/support/providers.ts'
import { silent } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock, systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { type AuditSink, runAuditFeeder } from './audit-sink.ts'
import { fileSink, webhookSink } from './audit-sinks.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A store with two chained acts, and a feeder of it that looks all the time. */
async function setup(t: TestContext) {
  const store = await openSqlite({ path: ':memory:', clock: systemClock, logger: silent })
  await store.migrate()
  const ids = createIdSource(systemClock, systemRandom())
  const stop = new AbortController()
  const running: Promise<void>[] = []
  t.after(async () => {
    stop.abort()
    await Promise.all(running)
    await store.close()
  })
  const log: string[] = []
  const write = (_fields: unknown, message: string): void => void log.push(message)
  const feed = (sink: AuditSink): void => {
    const deps = { store, sink, ids, clock: systemClock, random: () => 0.5, everyMs: 1, scrub: (text: string) => text }
    running.push(runAuditFeeder({ ...deps, logger: { ...silent, warn: write } }, stop.signal))
  }
  const record = async (action: string): Promise<void> => {
    await store.audit.record({ tenantId: null, actor: 'cli', action, subject: 'x', note: `why ${action}` })
    await chainAudit(store)
  }
  await record('first')
  await record('second')
  return { store, feed, record, log }
}

describe('an audit sink', () => {
  it('as a file has every entry as a line, and each link’s hash behind its entries', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'pillarbox-'))
    t.after(() => rm(folder, { recursive: true }))
    const path = join(folder, 'audit.jsonl')
    const { store, feed, record } = await setup(t)
    const lines = async (): Promise<Record<string, unknown>[]> =>
      (await readFile(path, 'utf8').catch(() => ''))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>)

    feed(fileSink(path))
    await until('both links are in the file', async () => (await lines()).length === 4)
    await record('third')
    await until('the third is, too', async () => (await lines()).length === 6)

    const found = await lines()
    assert.deepEqual(
      found.map(({ type, action, note, number }) =>
        [type, action ?? number, note].filter((part) => part !== undefined),
      ),
      [
        ['audit.entry', 'first', 'why first'],
        ['audit.link', 1],
        ['audit.entry', 'second', 'why second'],
        ['audit.link', 2],
        ['audit.entry', 'third', 'why third'],
        ['audit.link', 3],
      ],
    )
    const [, , last] = await store.audit.links('', 0, 10)
    assert.equal(found.at(-1)?.['hash'], last?.hash)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
  })

  it('as an endpoint gets signed requests, each link again under the same id until it is taken', async (t) => {
    const { store, feed, log } = await setup(t)
    const receiver = await startWebhookReceiver()
    t.after(receiver.close)
    receiver.alwaysAnswer({ status: 500 })
    const { outbound } = testOutbound(t)

    feed(webhookSink({ outbound, clock: systemClock, url: `${receiver.url}/audit`, secret: SECRET }))
    await until('the store says that there is trouble', () => store.audit.sink.trouble())
    assert.ok(log.some((line) => line.includes('the audit sink could not be fed')))
    assert.match((await store.audit.sink.trouble())?.error ?? '', /answered 500/)
    receiver.acceptAll()
    await until('the trouble is over', async () => (await store.audit.sink.trouble()) === null)
    const taken = (): string[] => [...new Set(receiver.received.map(({ headers }) => String(headers['webhook-id'])))]
    await until('both were taken', () => taken().length === 2)

    assert.deepEqual(taken(), ['audit_1_1', 'audit_2_1'])
    const { body, headers } = receiver.received.at(-1) ?? assert.fail('nothing arrived')
    const message = new Webhook(SECRET).verify(body, headers) as { type: string; data: Record<string, unknown> }
    assert.equal(message.type, 'audit.linked')
    const [, second] = await store.audit.links('', 0, 10)
    assert.deepEqual(message.data['link'], {
      tenantId: null,
      number: 2,
      fromId: 1,
      toId: 2,
      rows: 1,
      hash: second?.hash,
    })
  })
})

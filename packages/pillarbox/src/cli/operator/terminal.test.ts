import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type CommandSetting, operatorCommand } from '../../../../../test/support/operator-command.ts'
import { widthOf } from '../words.ts'

const ESCAPE = '\u001b'
const HOSTILE = `a${ESCAPE}[2J${ESCAPE}]0;title\u0007b\u009b31mc\r\nd\u202ee`

/** A server that answers every request alike, and remembers how it was asked. */
async function stub(t: TestContext, answer: { status?: number; type?: string; body: unknown }) {
  const asked: { url: string; authorization: string | undefined }[] = []
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? '', authorization: request.headers.authorization })
    response.writeHead(answer.status ?? 200, { 'content-type': answer.type ?? 'application/json' })
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dataDir = mkdtempSync(join(tmpdir(), 'operator-'))
  t.after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(dataDir, { recursive: true })
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const cli = (args: string, setting: CommandSetting = {}) =>
    operatorCommand({ url, dataDir }, args.split(' '), { key: 'pbx_key', ...setting })
  return { cli, asked, url, dataDir }
}

/** Control characters but the end of a line, and what turns the order. */
const UNSAFE = /[^\P{Cc}\n]|\u202e/u

const ROW = {
  id: '019b2c7e-1111-7000-8000-000000000000',
  tenantId: 'acme',
  status: 'parked',
  channel: 'email',
  to: { email: HOSTILE },
  eventType: HOSTILE,
  entity: { type: 'booking', id: '日本語の予約番号' },
  reason: HOSTILE,
  createdAt: '2026-07-01T12:00:00.000Z',
}
const PAGE = { items: [ROW], nextCursor: null }

describe('what is shown in a terminal', () => {
  it('lets nobody who wrote it move the cursor, or change colours', async (t) => {
    const { cli } = await stub(t, { body: PAGE })
    const table = await cli('notifications list', { isTerminal: true, columns: 200 })
    const json = await cli('notifications list --json', { isTerminal: true })

    assert.doesNotMatch(table.stdout, UNSAFE)
    assert.equal(table.stdout.trimEnd().split('\n').length, 2)
    assert.match(json.stdout, /^[ -~]*日本語の予約番号[ -~]*\n$/)
    assert.equal(json.rows[0]?.['reason'], HOSTILE)
  })

  it('fits the width of the terminal, with … where something is left out and ids whole', async (t) => {
    const { cli } = await stub(t, { body: PAGE })
    for (const columns of [80, 100, 140, 200]) {
      const { stdout } = await cli('notifications list', { isTerminal: true, columns })
      for (const line of stdout.trimEnd().split('\n')) assert.ok(widthOf(line) <= columns, `${widthOf(line)}: ${line}`)
      assert.ok(stdout.includes(ROW.id))
    }
    assert.match((await cli('notifications list', { isTerminal: true, columns: 140 })).stdout, /…/)
    const narrow = await cli('notifications list', { isTerminal: true, columns: 80 })
    assert.match(narrow.stderr, /^the terminal is too narrow for tenant, event type, .*; --json has all\n$/)
    assert.match(narrow.stdout, /^ID +STATUS +CHANNEL +TO/)
  })

  it('has colours only where there are some, and none where NO_COLOR says so', async (t) => {
    const { cli } = await stub(t, { body: PAGE })
    const terminal = { isTerminal: true, hasColours: true, columns: 200 }

    assert.ok((await cli('notifications list', terminal)).stdout.includes(`${ESCAPE}[31mparked`))
    assert.ok(!(await cli('notifications list', { ...terminal, env: { NO_COLOR: '1' } })).stdout.includes(ESCAPE))
    assert.ok(!(await cli('notifications list', { ...terminal, hasColours: false })).stdout.includes(ESCAPE))
  })

  it('names the zone of its times, which JSON has in UTC', async (t) => {
    const { cli } = await stub(t, { body: PAGE })
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone

    const local = await cli('notifications list', { isTerminal: true, columns: 250 })
    assert.ok(local.stdout.includes(`MADE (${zone})`))
    const utc = await cli('notifications list --utc', { isTerminal: true, columns: 250 })
    assert.match(utc.stdout, /MADE \(UTC\)\n.*2026-07-01 12:00:00\n/)
    assert.equal((await cli('notifications list')).rows[0]?.['createdAt'], ROW.createdAt)
  })

  it('is a table in a pipe where one is asked for, and says where nothing was found', async (t) => {
    const { cli } = await stub(t, { body: PAGE })
    assert.match((await cli('notifications list --table')).stdout, /^ID +TENANT +STATUS/)
    const { cli: empty } = await stub(t, { body: { items: [], nextCursor: null } })
    assert.equal((await empty('notifications list', { isTerminal: true })).stdout, 'nothing found\n')
    assert.equal((await empty('notifications list')).stdout, '')
  })
})

describe('a server', () => {
  it('that is not there is named', async (t) => {
    const { dataDir } = await stub(t, { body: PAGE })
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`
    closed.close()
    await once(closed, 'close')

    for (const args of [['kpis'], ['tail'], ['notifications', 'list']]) {
      const { code, stderr } = await operatorCommand({ url, dataDir }, args)
      assert.equal(code, 1)
      assert.ok(stderr.startsWith(`pillarbox: no server answers at ${url}: ECONNREFUSED\n`), stderr)
      assert.match(stderr, /→ start one with "pillarbox start", or name another with --url/)
    }
  })

  it('that is no Pillarbox is told from one', async (t) => {
    const { cli } = await stub(t, { body: '<html>hello</html>', type: 'text/html' })
    assert.match((await cli('kpis')).stderr, /is no Pillarbox server/)
    const { cli: refusing } = await stub(t, { status: 502, body: 'Bad gateway', type: 'text/plain' })
    assert.match((await refusing('kpis')).stderr, /502 unexpected_answer.*\n +→ something else than Pillarbox/)
  })

  it('that answers the same page again and again is not asked for ever', async (t) => {
    const { cli } = await stub(t, { body: { items: [], nextCursor: '\u001b[31msame' } })
    const { code, stderr } = await cli('notifications list --all')
    assert.equal(code, 1)
    assert.match(stderr, /the server answers the same page again and again/)
    const { stderr: more } = await (await stub(t, { body: { ...PAGE, nextCursor: '\u001b[31mnext' } })).cli(
      'notifications list --limit 1',
    )
    assert.match(more, /--cursor {2}?\[31mnext/)
    assert.ok(!more.includes('\u001b'))
  })

  it('is told of by its problem, whatever that holds', async (t) => {
    const body = {
      title: HOSTILE,
      detail: HOSTILE,
      code: 'invalid_body',
      errors: [{ path: '/name', message: HOSTILE }],
    }
    const { cli } = await stub(t, { status: 422, body, type: 'application/problem+json' })
    const { code, stderr } = await cli('tenants create acme')

    assert.equal(code, 1)
    assert.doesNotMatch(stderr, UNSAFE)
    assert.match(stderr, /\(422 invalid_body\)/)
    assert.match(stderr, /^ +\/name a \[2J/m)
  })

  it('must be named by a whole address, without a password', async (t) => {
    const { cli } = await stub(t, { body: PAGE })
    for (const url of ['nonsense', 'ftp://example.com', 'http://ada:secret@example.com']) {
      const { code, stderr } = await cli(`kpis --url ${url}`)
      assert.equal(code, 2, url)
      assert.match(stderr, /--url must/)
      assert.doesNotMatch(stderr, /secret/)
    }
  })
})

describe('the key', () => {
  it('comes from the flag, the environment or a file, in this order', async (t) => {
    const { cli, asked, dataDir } = await stub(t, { body: PAGE })
    writeFileSync(join(dataDir, 'key'), 'pbx_of-the-file\n')

    await cli('notifications list --key pbx_of-the-flag')
    await cli('notifications list', { env: { PILLARBOX_KEY_FILE: 'key' } })
    await cli('notifications list', { key: null, env: { PILLARBOX_KEY_FILE: 'key' } })

    assert.deepEqual(
      asked.map(({ authorization }) => authorization),
      ['Bearer pbx_of-the-flag', 'Bearer pbx_key', 'Bearer pbx_of-the-file'],
    )
  })

  it('is missed aloud; one in the data folder is named and not sent to whoever listens', async (t) => {
    const { cli, asked, dataDir } = await stub(t, { body: PAGE })
    const without = await cli('kpis', { key: null })
    assert.equal(without.code, 1)
    assert.match(without.stderr, /a key is needed\n +→ set PILLARBOX_KEY/)

    writeFileSync(join(dataDir, 'ops-1.key'), 'pbx_ops\n')
    const { stderr } = await cli('kpis', { key: null, env: { PILLARBOX_DATA_DIR: dataDir } })

    assert.ok(stderr.includes(`PILLARBOX_KEY_FILE=${join(dataDir, 'ops-1.key')}`), stderr)
    assert.match((await cli('kpis', { key: null, env: { PILLARBOX_KEY_FILE: 'none' } })).stderr, /ENOENT on/)
    assert.match((await cli('kpis', { key: 'two words' })).stderr, /the key is none/)
    assert.deepEqual(asked, [])
  })
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { freshDatabase } from '../../../../../test/support/postgres/database.ts'
import { startPostgres } from '../../../../../test/support/postgres/launcher.ts'
import { startPoolingProxy } from '../../../../../test/support/postgres/pooling-proxy.ts'
import { silent } from '../../../../../test/support/samples.ts'
import { resolveConfig } from '../../config/config.ts'
import type { Store } from '../../store/store.ts'
import { examine } from './doctor.ts'

/** What doctor says of a database, a line each. */
async function examined(t: TestContext, databaseUrl: string, offsetMs = 0): Promise<string[]> {
  const cwd = mkdtempSync(join(tmpdir(), 'doctor-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const env = { DATABASE_URL: databaseUrl, PILLARBOX_PORT: '0' }
  const answer = resolveConfig({ flags: {}, env, file: null, cwd })
  const findings = await examine({
    config: 'config' in answer ? answer.config : assert.fail('refused'),
    warnings: [],
    logger: silent,
    openStore: async () =>
      ({ schema: async () => ({ found: 0, wanted: 1 }), close: async () => {} }) as unknown as Store,
    nodeVersion: process.version,
    now: () => Date.now() + offsetMs,
  })
  return findings.map(({ state, subject, found, advice }) => `${state} ${subject} ${found} → ${advice ?? 'nothing'}`)
}

it('finds a PostgreSQL with its version, its clock and its schema', async (t) => {
  await using database = await freshDatabase()
  const level = (await examined(t, database.url)).join('\n')
  const ahead = (await examined(t, database.url, 3_600_000)).join('\n')

  assert.match(level, /^ok database PostgreSQL \d+/m)
  assert.match(level, /^ok clock \d+ ms from/m)
  assert.match(level, /^warn schema behind: schema version 0, wanted 1/m)
  assert.match(ahead, /^warn clock 3[56]\d{5} ms from/m)
})

it('says what a server without fsync puts at risk, and that nothing blocks vacuum', async (t) => {
  await using server = await startPostgres({ settings: { synchronous_commit: 'off', fsync: 'off' } })

  const found = await examined(t, server.url)

  assert.ok(
    found.some((line) => /^warn durability fsync is off: .* → set fsync = on$/.test(line)),
    found.join('\n'),
  )
  assert.ok(found.some((line) => /^warn durability synchronous_commit is off: .*/.test(line)))
  assert.ok(found.includes('ok vacuum nothing blocks it → nothing'))
  assert.ok(!found.some((line) => line.includes(' pooler ')))
})

it('notices a pooler that changes sessions with every transaction, and says what to do', async (t) => {
  await using database = await freshDatabase()
  await using pooler = await startPoolingProxy(database.url)

  const found = await examined(t, pooler.url)

  assert.ok(found.some((line) => /^warn pooler stands in front .* in transaction mode.* → it works, slower/.test(line)))
})

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { freshDatabase } from '../../../../test/support/postgres/database.ts'
import { resolveConfig } from '../config/config.ts'
import type { Store } from '../store/store.ts'
import { examine } from './doctor.ts'

it('finds a PostgreSQL with its version, its clock and its schema', async (t) => {
  await using database = await freshDatabase()
  const cwd = mkdtempSync(join(tmpdir(), 'doctor-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const env = { DATABASE_URL: database.url, PILLARBOX_PORT: '0' }
  const answer = resolveConfig({ flags: {}, env, file: null, cwd })
  const quiet = (): void => {}
  const examineAt = async (offsetMs: number): Promise<string[]> => {
    const findings = await examine({
      config: 'config' in answer ? answer.config : assert.fail('refused'),
      warnings: [],
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      openStore: async () =>
        ({ schema: async () => ({ found: 0, wanted: 1 }), close: async () => {} }) as unknown as Store,
      nodeVersion: process.version,
      now: () => Date.now() + offsetMs,
    })
    return findings.map(({ state, subject, found }) => `${state} ${subject} ${found}`)
  }

  const level = (await examineAt(0)).join('\n')
  const ahead = (await examineAt(3_600_000)).join('\n')

  assert.match(level, /^ok database PostgreSQL \d+/m)
  assert.match(level, /^ok clock \d+ ms from/m)
  assert.match(level, /^warn schema behind: schema version 0, wanted 1/m)
  assert.match(ahead, /^warn clock 3[56]\d{5} ms from/m)
})

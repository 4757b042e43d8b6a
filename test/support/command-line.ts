import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { run } from '../../packages/pillarbox/src/cli/run.ts'
import type { Clock } from '../../packages/pillarbox/src/model/ports.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { createManualClock } from './manual-clock.ts'
import { silent } from './samples.ts'

/** The `pillarbox` command in a folder, over a store, with nobody at the terminal. */
export function commandLine({ cwd, clock, open }: { cwd: string; clock: Clock; open: () => Promise<Store> }) {
  const output = { stdout: '', stderr: '' }
  const writer = (stream: keyof typeof output) => (text: string) => {
    output[stream] += text
  }
  const events = new EventEmitter()
  const cli = (...args: string[]): Promise<number> =>
    run(args, {
      version: '1.2.3',
      env: {},
      cwd,
      nodeVersion: process.version,
      stdout: { write: writer('stdout'), isTerminal: false, hasColours: false },
      stderr: { write: writer('stderr') },
      stdin: { isTerminal: false, ask: () => assert.fail('asked'), read: () => assert.fail('read') },
      clock,
      events,
      exitNow: () => assert.fail('left at once'),
      loadEngine: async () => ({ openStore: open, createPillarbox: () => assert.fail('started') }),
    })
  return { cli, output, events }
}

/** The same in a folder of its own, over a store in a file that somebody may change by hand. */
export function commandLineOnFile(t: TestContext) {
  const cwd = mkdtempSync(join(tmpdir(), 'command-line-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  mkdirSync(join(cwd, '.pillarbox'))
  const path = join(cwd, '.pillarbox/pillarbox.db')
  const clock = createManualClock()
  const open = (): Promise<Store> => openSqlite({ path, clock, logger: silent })
  const byHand = (sql: string): void => {
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
  }
  return { ...commandLine({ cwd, clock, open }), cwd, path, clock, open, byHand }
}

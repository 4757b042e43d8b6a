import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { run } from '../../packages/pillarbox/src/cli/run.ts'
import type { Clock } from '../../packages/pillarbox/src/model/ports.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

/** The `pillarbox` command in a folder, over a store, with nobody at the terminal. */
export function commandLine({ cwd, clock, open }: { cwd: string; clock: Clock; open: () => Promise<Store> }) {
  const output = { stdout: '', stderr: '' }
  const writer = (stream: keyof typeof output) => (text: string) => {
    output[stream] += text
  }
  const cli = (...args: string[]): Promise<number> =>
    run(args, {
      version: '1.2.3',
      env: {},
      cwd,
      nodeVersion: process.version,
      stdout: { write: writer('stdout'), isTerminal: false, hasColours: false },
      stderr: { write: writer('stderr') },
      stdin: { isTerminal: false, ask: () => assert.fail('asked') },
      clock,
      events: new EventEmitter(),
      exitNow: () => assert.fail('left at once'),
      loadEngine: async () => ({ openStore: open, createPillarbox: () => assert.fail('started') }),
    })
  return { cli, output }
}

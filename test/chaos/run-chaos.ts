import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/**
 * The chaos tests alone: `npm run chaos`, or `npm run chaos -- --full` for every kill point by itself, several times of
 * reaching it, and many more cuts.
 */
const HELP = `npm run chaos -- [options]

Kills, stops and cuts off real processes on both stores, and compares what they did with the sandbox's own record.

  --full    every kill point by itself, several times of reaching it, and many more cuts (half an hour)
  --help`

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
const unknown = args.find((arg) => arg !== '--full')
if (unknown !== undefined) {
  console.error(`unknown option "${unknown}"\n\n${HELP}`)
  process.exit(1)
}
const root = path.resolve(import.meta.dirname, '../..')
const child = spawn(
  process.execPath,
  [
    '--conditions=source',
    '--test',
    '--test-global-setup=test/global-setup.ts',
    '--test-timeout=3600000',
    '--test-concurrency=1',
    '--test-reporter=spec',
    'test/chaos/*.test.ts',
    'test/chaos/rotate-keys.test.ts',
    'packages/pillarbox/src/plan/mass-send.test.ts',
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, PILLARBOX_CHAOS: args.includes('--full') ? 'full' : 'quick' } },
)
const [code] = (await once(child, 'exit')) as [number | null]
process.exit(code ?? 1)

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/**
 * The chaos tests alone: `npm run chaos`, or `npm run chaos -- --full` for every kill point by itself, several times of
 * reaching it, and many more cuts.
 */
const args = process.argv.slice(2)
if (args.some((arg) => arg !== '--full')) {
  console.error('usage: npm run chaos -- [--full]')
  process.exit(1)
}
const root = path.resolve(import.meta.dirname, '../..')
const child = spawn(
  process.execPath,
  [
    '--conditions=source',
    '--test',
    '--test-global-setup=test/global-setup.ts',
    '--test-concurrency=1',
    '--test-reporter=spec',
    'test/chaos/*.test.ts',
    'test/secrets/rotate.test.ts',
    'packages/pillarbox/src/plan/mass-send.test.ts',
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, PILLARBOX_CHAOS: args.includes('--full') ? 'full' : 'quick' } },
)
const [code] = (await once(child, 'exit')) as [number | null]
process.exit(code ?? 1)

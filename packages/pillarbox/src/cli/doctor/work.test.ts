import assert from 'node:assert/strict'
import { it } from 'node:test'
import { silent } from '../../../../../test/support/samples.ts'
import { until } from '../../../../../test/support/until.ts'
import { onEachStore, startWorld, type World } from '../../../../../test/support/world.ts'
import type { Config } from '../../config/config.ts'
import { resolveConfig } from '../../config/config.ts'
import { openStore } from '../../pillarbox.ts'
import { examine } from './doctor.ts'

/** What doctor says of a running product, a line each. */
async function lines(world: World, changes: Partial<Config> = {}): Promise<string[]> {
  const read = resolveConfig({ flags: {}, env: world.settings, file: null, cwd: world.dataDir })
  if (!('config' in read)) assert.fail(JSON.stringify(read))
  const findings = await examine({
    config: { ...read.config, ...changes },
    warnings: [],
    logger: silent,
    openStore,
    nodeVersion: process.version,
    now: () => Date.now(),
  })
  return findings.map(({ state, subject, found, advice }) => `${state} ${subject} ${found} → ${advice ?? 'nothing'}`)
}

onEachStore(
  'doctor, of a running product',
  (engine) => startWorld(engine),
  (world) => {
    it('finds it well: the schema, its workers, and retention', async () => {
      const found = await until('a purge was done', async () => {
        const seen = await lines(world())
        return seen.some((line) => line.startsWith('ok retention last ran')) ? seen : null
      })

      assert.ok(found.some((line) => line.startsWith('ok schema up to date')))
      assert.ok(
        found.some((line) => line.startsWith('ok workers 1 worker is alive')),
        found.join('\n'),
      )
      assert.deepEqual(
        found.filter((line) => line.startsWith('fail')),
        [],
      )
    })

    it('names a worker that is silent, and retention that does not run', async () => {
      await until('it is silent for a while', async () =>
        (await lines(world(), { workerTtlMs: 1 })).some((line) =>
          /^fail workers worker on \S+ \(process \d+\) has said nothing for \d+ s, with 0 calls under way → .*start it again/.test(
            line,
          ),
        ),
      )
      const late = await until(
        'retention is overdue',
        async () =>
          (await lines(world(), { purgeEveryMs: 1 })).find((line) => line.startsWith('warn retention')) ?? null,
      )

      assert.match(late, /^warn retention last ran .*, and should every PT0\.001S → run "pillarbox purge"/)
    })

    it('names an open breaker, its account, why, and what to do', async () => {
      const tenant = await world().tenant()
      const { id } = await tenant.account({
        channel: 'email',
        provider: 'smtp',
        name: 'nobody listens',
        settings: { host: '127.0.0.1', port: 1, tls: 'none', fromAddress: 'shop@example.com' },
        breaker: { failures: 1, resetAfter: 'PT1H' },
      })
      await tenant.submit({ channel: 'email', to: { email: 'ana@example.com' }, subject: 'x', body: 'x' })

      const line = await until(
        'the breaker is open',
        async () => (await lines(world())).find((each) => each.startsWith('fail accounts')) ?? null,
      )

      assert.ok(line.startsWith(`fail accounts the breaker of email account ${id} of ${tenant.id} is open`), line)
      assert.match(line, new RegExp(`→ .*pillarbox accounts verify ${id} --tenant ${tenant.id}`))
    })

    it('names an account whose credentials were refused', async () => {
      const tenant = await world().tenant()
      const { id } = await tenant.account({
        channel: 'sms',
        provider: 'sandbox',
        name: 'refused',
        settings: { faults: [{ kind: 'unauthorized' }] },
      })
      await tenant.submit({ channel: 'sms', to: { phone: '+12025550100' }, body: 'x' })

      const line = await until(
        'it is paused',
        async () => (await lines(world())).find((each) => each.includes(`sms account ${id}`)) ?? null,
      )

      assert.match(line, /^fail accounts sms account \S+ of \S+ is paused: the vendor refused .* → .*accounts update/)
    })

    it('says that nothing is sent where no worker runs', async () => {
      await world().stop()

      const found = await lines(world())

      assert.ok(
        found.some((line) => line.startsWith('warn workers none is alive: nothing is sent → start one')),
        found.join('\n'),
      )
    })
  },
)

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { before, describe, it } from 'node:test'
import { OPS_KEY } from '../support/api.ts'
import { ENGINE_NAMES } from '../support/engines.ts'
import { freePort } from '../support/postgres/launcher.ts'
import { type PrometheusTools, prometheusTools, run, startPrometheus } from '../support/prometheus.ts'
import { until } from '../support/until.ts'
import { openWorld, startWorld } from '../support/world.ts'

const root = path.resolve(import.meta.dirname, '../..')
const ROLE = { sqlite: 'writer', postgres: 'complete' } as const
const ALERTS = path.join(root, 'deploy/prometheus/alerts.yml')

let tools: PrometheusTools
before(async () => {
  tools = await prometheusTools()
})

describe('Prometheus itself', () => {
  for (const engine of ENGINE_NAMES)
    it(`finds nothing wrong with our metrics, on ${engine}`, async () => {
      await using world = await startWorld(engine)
      const tenant = await world.tenant({ channels: ['email'] })
      await tenant.send({ channel: 'email', to: { email: 'ada@example.test' }, body: 'Hello' })
      const response = await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${OPS_KEY}` } })
      // What prom-client measures of the platform has names of its own.
      const own = (await response.text()).split('\n').filter((line) => /^(# (HELP|TYPE) )?pillarbox_/.test(line))
      for (const line of [
        'store_up 1',
        'queue_depth{channel="email"} 0',
        'accounts{channel="email",status="active"} 1',
      ])
        assert.ok(own.includes(`pillarbox_${line}`), line)
      assert.ok(own.some((line) => line.startsWith(`pillarbox_store_calls{role="${ROLE[engine]}"} `)))
      const file = path.join(world.dataDir, 'metrics.txt')
      await writeFile(file, `${own.join('\n')}\n`)

      assert.equal(await run('bash', ['-c', '"$0" check metrics < "$1"', tools.promtool, file]), '')
    })

  it('raises each alert when it should, and none when all is well', async () => {
    assert.match(await run(tools.promtool, ['check', 'rules', ALERTS]), /SUCCESS: 11 rules found/)
    assert.match(
      await run(tools.promtool, ['test', 'rules', path.join(import.meta.dirname, 'alert-cases.yml')]),
      /SUCCESS/,
    )
  })

  it('scrapes an API by its key and a worker by its port, and answers what they did', async () => {
    await using world = await openWorld('sqlite')
    await world.start({ api: true, worker: false })
    const port = await freePort()
    await world.startProcess('worker', { PILLARBOX_METRICS_PORT: String(port) })
    const jobs = [
      {
        job_name: 'api',
        authorization: { credentials: OPS_KEY },
        static_configs: [{ targets: [new URL(world.url).host] }],
      },
      { job_name: 'worker', static_configs: [{ targets: [`127.0.0.1:${port}`] }] },
    ]
    await using prometheus = await startPrometheus(tools, { jobs, rules: ALERTS })
    const tenant = await world.tenant({ channels: ['sms'] })
    await tenant.send({ channel: 'sms', to: { phone: '+15550100' }, body: 'Hello' })

    const accepted = 'pillarbox_attempts_total{channel="sms",provider="sandbox",outcome="accepted"}'
    // Each is scraped in its own time.
    const scraped = (query: string, count = 1) =>
      until(`${query} was scraped`, async () => {
        const found = await prometheus.query(query)
        return found.length >= count && found
      })
    const [sent] = await scraped(accepted)
    assert.deepEqual([sent?.labels['job'], sent?.value], ['worker', 1])
    const [taken] = await scraped('pillarbox_intake_total{way="notifications",result="accepted"} > 0')
    assert.deepEqual([taken?.labels['job'], taken?.value], ['api', 1])
    const parts = await scraped('pillarbox_build_info', 2)
    assert.deepEqual(parts.map(({ labels }) => labels['part'] ?? '').toSorted(), ['api', 'worker'])
    // Both tell the same of the whole.
    await until('both see the worker', async () => {
      const alive = await prometheus.query('pillarbox_workers{state="alive"}')
      return alive.length === 2 && alive.every(({ value }) => value === 1)
    })

    type Group = { rules: { name: string; health: string; lastError?: string }[] }
    const rules = await until('every rule was evaluated', async () => {
      const { groups } = await prometheus.ask<{ groups: Group[] }>('/api/v1/rules')
      const all = groups.flatMap((group) => group.rules)
      return all.length === 11 && all.every(({ health }) => health !== 'unknown') && all
    })
    assert.deepEqual(
      rules.filter(({ health }) => health !== 'ok'),
      [],
    )
  })
})

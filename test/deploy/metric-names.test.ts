import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { ALERT_RULES } from '../../packages/pillarbox/src/model/alert.ts'
import { COUNTERS, GAUGES, HISTOGRAMS, type LabelValues } from '../../packages/pillarbox/src/model/meters.ts'
import { metricNameOf } from '../../packages/pillarbox/src/runtime/metrics.ts'
import { OPS_KEY } from '../support/api.ts'
import { startWorld } from '../support/world.ts'

const root = path.resolve(import.meta.dirname, '../..')
const read = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8')

const page = await read('docs/reference/metrics.md')
const alerts = parse(await read('deploy/prometheus/alerts.yml')) as {
  groups: {
    rules: { alert: string; expr: string; labels: Record<string, string>; annotations: Record<string, string> }[]
  }[]
}
const rules = alerts.groups.flatMap((group) => group.rules)
const dashboard = JSON.parse(await read('deploy/grafana/pillarbox.json')) as {
  panels: { id: number; type: string; title: string; targets?: { expr: string }[] }[]
}

const queries: { where: string; expr: string }[] = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ where: title, expr }))),
]

/** What a live server says that it has, by name. */
async function exposed(): Promise<Set<string>> {
  await using world = await startWorld('sqlite')
  const response = await fetch(`${world.url}/metrics`, { headers: { authorization: `Bearer ${OPS_KEY}` } })
  assert.equal(response.status, 200)
  const text = await response.text()
  return new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name))
}

/** The metrics that a query names, histograms without what is added to their names. */
function metricsIn(expr: string): string[] {
  const names = [...expr.matchAll(/\b(?:pillarbox|process|nodejs)_[a-z0-9_]+\b/g)].map(([name]) => name)
  return names.map((name) => name.replace(/_seconds_(?:bucket|sum|count)$/, '_seconds'))
}

const labels = new Map<string, Readonly<Record<string, LabelValues>>>([
  ...Object.entries(COUNTERS).map(([name, entry]) => [metricNameOf('counter', name), entry.labels] as const),
  ...Object.entries(HISTOGRAMS).map(([name, entry]) => [metricNameOf('histogram', name), entry.labels] as const),
  ...Object.entries(GAUGES).map(([name, entry]) => [metricNameOf('gauge', name), entry.labels] as const),
])

describe('the metrics of a live server', () => {
  it('are those that the reference has, in both directions', async () => {
    const documented = [...page.matchAll(/^\| `((?:pillarbox|process|nodejs)_[a-z0-9_]+)` \|/gm)].map(
      ([, name = '']) => name,
    )

    assert.deepEqual([...(await exposed())].toSorted(), documented.toSorted())
  })

  it('are all that alert rules and dashboard ask for', async () => {
    const known = await exposed()

    assert.ok(queries.length > 40)
    for (const { where, expr } of queries) {
      const named = metricsIn(expr)
      assert.notEqual(named.length, 0, where)
      for (const name of named) assert.ok(known.has(name), `${where} asks for ${name}, which no server has`)
    }
  })
})

describe('alert rules and dashboard', () => {
  it('ask for labels and values that their metrics have', () => {
    for (const { where, expr } of queries) {
      const own = metricsIn(expr).map((name) => labels.get(name) ?? {})
      for (const [, name = '', selectors = ''] of expr.matchAll(/\b(pillarbox_[a-z_]+)\{([^}]*)\}/g))
        for (const [, label = '', given = ''] of selectors.matchAll(/(\w+)(?:=|!=|=~|!~)"([^"]*)"/g)) {
          const values = labels.get(name)?.[label]
          assert.ok(values, `${where}: ${name} has no label ${label}`)
          if (typeof values !== 'string')
            for (const value of given.split('|')) assert.ok(values.includes(value), `${where}: ${label}="${value}"`)
        }
      for (const [, by = ''] of expr.matchAll(/\bby \(([^)]*)\)/g))
        for (const label of by.split(', ').filter((each) => each !== 'le' && each !== 'instance'))
          assert.ok(
            own.some((each) => Object.hasOwn(each, label)),
            `${where}: no metric has a label ${label}`,
          )
    }
  })

  it('tell of each alert what it is and what to do, under the name that the product has for the rule', () => {
    for (const { alert, labels: own, annotations } of rules) {
      assert.equal(alert, `pillarbox_${own['rule']}`)
      assert.match(own['severity'] ?? '', /^(critical|warning|info)$/)
      assert.match(annotations['description'] ?? '', /^[A-Z].*\.$/s, alert)
    }
    assert.deepEqual(
      rules.slice(0, 8).map(({ labels: own }) => own['rule']),
      [...ALERT_RULES],
    )
  })

  it('have every alert in the guide', async () => {
    const guide = await read('docs/guides/observe.md')

    for (const { alert } of rules) assert.ok(guide.includes(`\`${alert}\``), alert)
  })

  it('show panels that are told apart', () => {
    const ids = dashboard.panels.map(({ id }) => id)
    const titles = dashboard.panels.map(({ title }) => title)

    assert.equal(new Set(ids).size, ids.length)
    assert.equal(new Set(titles).size, titles.length)
  })
})

import {
  COUNTERS,
  GAUGES,
  HISTOGRAM_BUCKETS,
  HISTOGRAMS,
  type HistogramName,
  type LabelValues,
} from '../../packages/pillarbox/src/model/meters.ts'
import { REASONS } from '../../packages/pillarbox/src/model/reason.ts'
import { metricNameOf } from '../../packages/pillarbox/src/runtime/metrics.ts'

/** `docs/reference/metrics.md`, from the table of everything that is counted. `platform`: what prom-client adds, with its words. */
export function metricsPage(platform: readonly { name: string; help: string }[]): string {
  const gauges = Object.entries(GAUGES)
  const sections = [
    HEAD,
    '## Counters\n\nWhat happened in this process since it started. Sum them over processes, and ask for rates: `sum(rate(…[5m]))`.',
    table(Object.entries(COUNTERS).map(([name, entry]) => row(metricNameOf('counter', name), entry))),
    '## Histograms\n\nIn seconds; each has `_bucket`, `_sum` and `_count`.',
    table(
      Object.entries(HISTOGRAMS).map(([name, entry]) => {
        const buckets = HISTOGRAM_BUCKETS[name as HistogramName]
        const words = `${entry.words} Buckets up to ${buckets.at(-1)} s.`
        return row(metricNameOf('histogram', name), { ...entry, words })
      }),
    ),
    '## Gauges of the whole installation\n\nThe same from every process, at most five seconds old: take them by `max`, never by `sum`. They are left out while the database does not answer, and until what is there has been counted.',
    table(
      gauges.filter(([, { scope }]) => scope === 'all').map(([name, entry]) => row(metricNameOf('gauge', name), entry)),
    ),
    '## Gauges of a process',
    table(
      gauges
        .filter(([, { scope }]) => scope === 'process')
        .map(([name, entry]) => row(metricNameOf('gauge', name), entry)),
    ),
    '## Of the platform\n\nMemory, processor, event loop and garbage collection, as the package prom-client measures and names them on Linux.',
    `| metric | words |\n|---|---|\n${platform.map(({ name, help }) => `| \`${name}\` | ${help.replace(/\.?$/, '.')} |`).join('\n')}`,
  ]
  return `${sections.join('\n\n')}\n`
}

const HEAD = `# Metrics

What \`GET /metrics\` tells Prometheus, in its text format. [The guide](../guides/observe.md) says how to scrape, and what the
alert rules and the dashboard in \`deploy/\` make of it. A name or a label here is not changed without a line in the changelog.

**Labels have few values.** Each is of a closed set, or of what this version and its operator bring: providers, routes,
webhooks. No label holds a tenant, an account, an address or an id, because their number grows with what is sent, and Prometheus
keeps a series for each. Those questions are for \`/ops/kpis?by=tenantId\`, \`/api/kpis?by=accountId\` and
[the log](logs.md).`

function table(rows: readonly string[]): string {
  return `| metric | words | labels |\n|---|---|---|\n${rows.join('\n')}`
}

function row(
  name: string,
  { words, labels }: { words: string; labels: Readonly<Record<string, LabelValues>> },
): string {
  const cells = Object.entries(labels).map(([label, values]) => `\`${label}\`: ${inWords(values)}`)
  return `| \`${name}\` | ${words} | ${cells.join('; ')} |`
}

function inWords(values: LabelValues): string {
  if (typeof values === 'string') return values
  if (values.length === Object.keys(REASONS).length) return 'every [reason](states.md)'
  return values.map((value) => `\`${value}\``).join(', ')
}

import { Counter, Gauge, Registry } from 'prom-client'
import {
  COUNTERS,
  type CounterName,
  GAUGES,
  type GaugeName,
  type GaugeReading,
  HISTOGRAM_BUCKETS,
  HISTOGRAMS,
  type HistogramName,
  type LabelValues,
} from '../model/meters.ts'
import type { Meters } from '../model/ports.ts'
import { type BatchHistogram, createHistogram } from './histogram.ts'

/** The numbers of this process, as Prometheus reads them. */
export interface Metrics {
  readonly meters: Meters
  readonly contentType: string
  /** Gauges are read when somebody asks. `read` never rejects. */
  addGauges(read: () => Promise<readonly GaugeReading[]>): void
  /** The page that Prometheus scrapes. */
  text(): Promise<string>
}

/** Series that are there from the start, at 0: a rate can only be told of what was seen before it grew. */
const MOST_SERIES_AT_ONCE = 100

export function metricNameOf(kind: 'counter' | 'histogram' | 'gauge', name: string): string {
  return `pillarbox_${name}${{ counter: '_total', histogram: '_seconds', gauge: '' }[kind]}`
}

/** `platform`: what the platform itself measures, where somebody wants to see it, too. */
export function createMetrics(platform: Registry | null = null): Metrics {
  const registry = new Registry()
  const counters = new Map<CounterName, Counter>()
  const histograms = new Map<HistogramName, BatchHistogram>()
  const gauges = new Map<GaugeName, Gauge>()
  const sources: (() => Promise<readonly GaugeReading[]>)[] = []

  for (const [name, { words: help, labels }] of entriesOf(COUNTERS)) {
    const labelNames = Object.keys(labels)
    const counter = new Counter({ name: metricNameOf('counter', name), help, labelNames, registers: [registry] })
    for (const zero of everyCombination(labels)) counter.inc(zero, 0)
    counters.set(name, counter)
  }
  for (const [name, { words: help, labels }] of entriesOf(HISTOGRAMS)) {
    const histogram = createHistogram(registry, {
      name: metricNameOf('histogram', name),
      help,
      labelNames: Object.keys(labels),
      buckets: HISTOGRAM_BUCKETS[name],
    })
    for (const zero of everyCombination(labels)) histogram.observe(zero, [])
    histograms.set(name, histogram)
  }
  for (const [name, { words: help, labels }] of entriesOf(GAUGES)) {
    const labelNames = Object.keys(labels)
    gauges.set(name, new Gauge({ name: metricNameOf('gauge', name), help, labelNames, registers: [registry] }))
  }

  function show(readings: readonly GaugeReading[]): void {
    for (const [name, gauge] of gauges) {
      gauge.reset()
      // Without labels it would be 0 now, which is something else than not known.
      if (Object.keys(GAUGES[name].labels).length === 0) gauge.remove()
    }
    for (const { name, labels, value } of readings) gauges.get(name)?.set(labels, value)
  }

  return {
    meters: {
      count: (name, labels, by = 1) => counters.get(name)?.inc(labels, by),
      observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    },
    contentType: registry.contentType,
    addGauges: (read) => void sources.push(read),
    async text() {
      const readings = await Promise.all(sources.map((read) => read()))
      show(readings.flat())
      const pages = await Promise.all([registry.metrics(), ...(platform ? [platform.metrics()] : [])])
      return pages.join('\n')
    },
  }
}

function entriesOf<T extends object>(table: T): [keyof T, T[keyof T]][] {
  return Object.entries(table) as [keyof T, T[keyof T]][]
}

/** Every set of labels there can be; none where a label's values are not all known, or there would be very many. */
function everyCombination(labels: Readonly<Record<string, LabelValues>>): Record<string, string>[] {
  let all: Record<string, string>[] = [{}]
  for (const [label, values] of Object.entries(labels)) {
    if (typeof values === 'string' || all.length * values.length > MOST_SERIES_AT_ONCE) return []
    all = all.flatMap((one) => values.map((value) => ({ ...one, [label]: value })))
  }
  return all
}

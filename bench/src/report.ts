/** Turns samples into Markdown tables: `report.ts results/run.jsonl [more.jsonl] [--out results/report.md]`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { AIMS, measured } from './aims.ts'
import { BARE, ENTRIES, REFERENCE, SQLITE_REFERENCE } from './entries.ts'
import { PLAN_VARIANTS } from './peer.ts'
import { cell, ratios, samplesIn, type Taken, values } from './samples.ts'
import { PROVIDERS } from './vendor.ts'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' } },
})
const files = positionals.length > 0 ? positionals : ['results/run.jsonl']
const samples = samplesIn(files.flatMap((file) => readFileSync(file, 'utf8').trim().split('\n')))
const lines = [
  ...environment(),
  ...aims(),
  ...enqueueing(),
  ...draining(),
  ...planning(),
  ...sending(),
  ...latency(),
  ...growth(),
  ...errors(),
]
const text = `${lines.join('\n')}\n`
if (flags.out === undefined) console.log(text)
else writeFileSync(flags.out, text)

function aims(): string[] {
  const rows = AIMS.map((aim) => {
    const found = measured(samples, aim)
    return [aim.name, `${aim.atLeast ? '≥' : '≤'} ${aim.bound}`, cell(found.values), found.verdict, found.disturbed]
  })
  return [...title('Aim and measurement'), ...table(['aim', 'bound', 'measured', 'met', 'disturbed samples'], rows)]
}

function enqueueing(): string[] {
  const rows = ids('e1-one').map((id) => [
    id,
    ...['e1-one', 'e1-bulk', 'e1-bulk4'].flatMap((name) => [
      cell(values(samples.of(name, id), rate)),
      cell(ratios(samples.of(name, id), samples.of(name, referenceOf(id)), rate)),
    ]),
    note('e1-one', id),
  ])
  const head = [
    'entry',
    'one per transaction, 16 at once',
    'ratio',
    'bulk 1000, 1 at a time',
    'ratio',
    'bulk 1000, 4 at a time',
    'ratio',
    '',
  ]
  const against = ratios(samples.of('e1-one', 'pillarbox'), samples.of('e1-one', 'raw-pg-tx'), rate)
  return [
    ...title('E1: enqueue (per second)'),
    ...table(head, rows),
    `\`pillarbox\` against \`raw-pg-tx\` (both: begin, insert, commit): ${cell(against)}.`,
    '',
    ...title('E1: processor time (µs each, producer + server; ratio of the reference to it)'),
    ...table(
      ['entry', 'one per transaction', 'ratio', 'bulk 1000', 'ratio'],
      ids('e1-one').map((id) => [id, ...['e1-one', 'e1-bulk'].flatMap((name) => processorTime(name, id))]),
    ),
  ]
}

/** Told apart and in ratio to the reference: unlike a rate it hardly suffers from what else the machine does. */
function processorTime(name: string, id: string): [string, string] {
  const [own, reference] = [samples.of(name, id), samples.of(name === 'e2e' ? 'e2' : name, referenceOf(id))]
  const parts = [(taken: Taken) => taken.workerUsPerJob, (taken: Taken) => taken.serverUsPerJob]
  const inverse = ratios(own, reference, processorUs).map((ratio) => 1 / ratio)
  return [parts.map((part) => cell(values(own, part))).join(' + '), cell(inverse)]
}

function workerUs(taken: Taken): number | undefined {
  return taken.workerUsPerJob
}

function processorUs(taken: Taken): number {
  return (taken.workerUsPerJob ?? Number.NaN) + (taken.serverUsPerJob ?? Number.NaN)
}

function draining(): string[] {
  const head = [
    'entry',
    '1 process',
    'ratio',
    '2 processes',
    'ratio',
    'worker CPU µs each',
    'server CPU µs each',
    'CPU ratio',
    'statements each',
    'RSS MB',
    '',
  ]
  const row = (name: string, id: string): string[] => {
    const [one, two] = [samples.of(name, id), name === 'e2' ? samples.of('e2x2', id) : new Map<number, Taken>()]
    const reference = referenceOf(id)
    return [
      id,
      cell(values(one, rate)),
      cell(ratios(one, samples.of('e2', reference), rate)),
      cell(values(two, rate)),
      cell(ratios(two, samples.of('e2x2', reference), rate)),
      cell(values(one, (taken) => taken.workerUsPerJob)),
      cell(values(one, (taken) => taken.serverUsPerJob)),
      processorTime(name, id)[1],
      cell(values(samples.of(name === 'e2' ? 'cost' : 'cost-e2e', id), (taken) => taken.statementsPerJob)),
      cell(values(one, (taken) => taken.rssMb?.[0])),
      note(name, id),
    ]
  }
  return [
    ...title('E2: drain of what is ready to be sent (per second)'),
    ...table(
      head,
      ids('e2').map((id) => row('e2', id)),
    ),
    ...title(
      'E2e: events through planning and rendering to sent (per second; ratio to the raw drain, which does neither)',
    ),
    ...table(
      head,
      ids('e2e').map((id) => row('e2e', id)),
    ),
  ]
}

/** What the words and the people of a notification cost, beside one that has neither. */
function planning(): string[] {
  const head = [
    'entry',
    'events',
    'events/s',
    'ratio to bare',
    'notifications/s',
    'ratio to bare',
    'worker CPU µs each',
    'server CPU µs each',
    'CPU ratio',
    'statements each',
    'RSS MB',
    '',
  ]
  const rows = PLAN_VARIANTS.flatMap((variant) => {
    const name = `plan-${variant}`
    return ids(name).map((id) => {
      const [own, bare] = [samples.of(name, id), samples.of('plan-bare', id)]
      return [
        id,
        variant,
        cell(values(own, eventRate)),
        cell(ratios(own, bare, eventRate)),
        cell(values(own, rate)),
        cell(ratios(own, bare, rate)),
        cell(values(own, (taken) => taken.workerUsPerJob)),
        cell(values(own, (taken) => taken.serverUsPerJob)),
        cell(ratios(own, bare, processorUs).map((ratio) => 1 / ratio)),
        cell(values(samples.of(`${name}-cost`, id), (taken) => taken.statementsPerJob)),
        cell(values(own, (taken) => taken.rssMb?.[0])),
        note(name, id),
      ]
    })
  })
  return [
    ...title('Planning: events to queued notifications, nothing sent (each: per notification)'),
    ...table(
      head,
      rows.toSorted(([a = ''], [b = '']) => a.localeCompare(b)),
    ),
  ]
}

/** What an outbox costs on top of the vendor's own client. */
function sending(): string[] {
  const head = [
    'provider',
    'entry',
    'notifications/s',
    'ratio to bare',
    'worker CPU µs each',
    'bare / it',
    'server CPU µs each',
    'vendor CPU µs each',
    'RSS MB',
    '',
  ]
  const rows = PROVIDERS.flatMap((provider) => {
    const name = `providers-${provider}`
    const bare = samples.of(name, BARE)
    return ids(name).map((id) => {
      const own = samples.of(name, id)
      return [
        provider,
        id,
        cell(values(own, rate)),
        cell(ratios(own, bare, rate)),
        cell(values(own, workerUs)),
        cell(ratios(own, bare, workerUs).map((ratio) => 1 / ratio)),
        cell(values(own, (taken) => taken.serverUsPerJob)),
        cell(values(own, (taken) => taken.vendorUsPerJob)),
        cell(values(own, (taken) => taken.rssMb?.[0])),
        note(name, id),
      ]
    })
  })
  return [...title("Providers: drain to the vendors' loopback servers"), ...table(head, rows)]
}

function latency(): string[] {
  const head = [
    'entry',
    'call→handler p50',
    'p95',
    'p99',
    'ratio of p50',
    'commit→handler p50',
    'p99',
    'publish call p50',
    '',
  ]
  const rows = ids('e3').map((id) => {
    const taken = samples.of('e3', id)
    const pick = (name: 'fromCall' | 'fromCommit' | 'commit', q: 'p50' | 'p95' | 'p99'): string =>
      cell(values(taken, (each) => each[name]?.[q]))
    return [
      id,
      pick('fromCall', 'p50'),
      pick('fromCall', 'p95'),
      pick('fromCall', 'p99'),
      cell(ratios(taken, samples.of('e3', referenceOf(id)), (each) => each.fromCall?.p50)),
      pick('fromCommit', 'p50'),
      pick('fromCommit', 'p99'),
      pick('commit', 'p50'),
      note('e3', id),
    ]
  })
  return [...title('E3: latency, one every 20 ms (ms)'), ...table(head, rows)]
}

function growth(): string[] {
  const drains = ids('e4-grown').map((id) => {
    const [empty, used, grown] = ['e4-empty', 'e4-used', 'e4-grown'].map((name) => samples.of(name, id)) as [
      Rounds,
      Rounds,
      Rounds,
    ]
    return [
      id,
      samples.seeded(id),
      cell(values(empty, rate)),
      cell(values(used, rate)),
      cell(values(grown, rate)),
      cell(ratios(grown, empty, rate)),
      cell(ratios(grown, used, rate)),
      note('e4-grown', id),
    ]
  })
  const latencies = ids('e4-latency-grown').map((id) => {
    const [empty, grown] = [samples.of('e4-latency-empty', id), samples.of('e4-latency-grown', id)]
    const p50 = (taken: Taken): number | undefined => taken.fromCall?.p50
    const p99 = (taken: Taken): number | undefined => taken.fromCall?.p99
    return [
      id,
      cell(values(empty, p50)),
      cell(values(grown, p50)),
      cell(ratios(grown, empty, p50)),
      cell(values(empty, p99)),
      cell(values(grown, p99)),
      note('e4-latency-grown', id),
    ]
  })
  return [
    ...title('E4: drain of 20,000 on grown tables (per second)'),
    ...table(['entry', 'seeded with', 'empty, new', 'empty, used', 'grown', 'grown / new', 'grown / used', ''], drains),
    ...title('E4b: call→handler at low load on grown tables (ms)'),
    ...table(['entry', 'empty p50', 'grown p50', 'grown / empty', 'empty p99', 'grown p99', ''], latencies),
  ]
}

type Rounds = ReadonlyMap<number, Taken>

function environment(): string[] {
  const mixed =
    samples.sources.size > 1
      ? [`**The code changed while this was measured: ${samples.sources.size} versions.**`, '']
      : []
  return [...samples.environments.map((each) => `    ${JSON.stringify(each)}`), '', ...mixed]
}

function errors(): string[] {
  if (samples.errors.length === 0) return []
  return [...title('Errors'), ...samples.errors.map((error) => `- ${error}`), '']
}

function rate(taken: Taken): number | undefined {
  return taken.rate
}

function eventRate(taken: Taken): number | undefined {
  return taken.eventRate
}

/** The limit of the same database. */
function referenceOf(id: string): string {
  return id.includes('sqlite') ? SQLITE_REFERENCE : REFERENCE
}

function ids(name: string): string[] {
  return ENTRIES.map((entry) => entry.id).filter((id) => samples.of(name, id).size > 0)
}

/** What is not as it ought to be about an entry's samples. */
function note(name: string, id: string): string {
  const taken = [...samples.of(name, id).values()]
  const count = (is: (each: Taken) => boolean, word: string): string => {
    const found = taken.filter(is).length
    return found > 0 ? `${found} ${word}` : ''
  }
  return [
    count((each) => each.disturbed, 'disturbed'),
    count((each) => each.complete === false, 'incomplete'),
    count((each) => (each.duplicates ?? 0) > 0, 'with duplicates'),
    count((each) => (each.lost ?? 0) > 0, 'with losses'),
  ]
    .filter((text) => text !== '')
    .join(', ')
}

function title(words: string): string[] {
  return [`## ${words}`, '']
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return ['Not measured.', '']
  return [
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---').join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    '',
  ]
}

import { BARE, REFERENCE, SQLITE_REFERENCE } from './entries.ts'
import { type Pick, ratios, type Samples, type Taken, values } from './samples.ts'
import { median } from './statistics.ts'
import { PROVIDERS } from './vendor.ts'

/** What is promised of a ratio within one run, or of a plain figure. */
export interface Aim {
  name: string
  bound: number
  atLeast: boolean
  of: readonly [name: string, entry: string]
  against: readonly [name: string, entry: string] | null
  pick: Pick
}

const rate: Pick = (taken) => taken.rate
const callP50: Pick = (taken) => taken.fromCall?.p50
const commitP50: Pick = (taken) => taken.fromCommit?.p50
const rss: Pick = (taken) => taken.rssMb?.[0]
const workerUs: Pick = (taken) => taken.workerUsPerJob

export const AIMS: readonly Aim[] = [
  aim(
    'publish one per transaction, 16 at once / raw begin-insert-commit',
    0.8,
    ['e1-one', 'pillarbox'],
    ['e1-one', 'raw-pg-tx'],
  ),
  aim('publish one per statement, 16 at once / raw', 0.8, ['e1-one', 'pillarbox-autocommit'], ['e1-one', REFERENCE]),
  aim('publish 1,000 per call / raw', 0.8, ['e1-bulk', 'pillarbox'], ['e1-bulk', REFERENCE]),
  aim('publish 1,000 per call, 4 at a time / raw', 0.8, ['e1-bulk4', 'pillarbox'], ['e1-bulk4', REFERENCE]),
  aim('drain, 1 process / raw', 0.7, ['e2', 'pillarbox'], ['e2', REFERENCE]),
  aim('drain, 2 processes / raw', 0.7, ['e2x2', 'pillarbox'], ['e2x2', REFERENCE]),
  atMost('latency commit→handler p50 / raw', 5, ['e3', 'pillarbox'], ['e3', REFERENCE], commitP50),
  atMost('direct notification: latency p50 / raw', 2, ['e3', 'pillarbox-direct'], ['e3', REFERENCE], commitP50),
  aim('drain on grown tables / empty', 0.95, ['e4-grown', 'pillarbox'], ['e4-used', 'pillarbox']),
  atMost(
    'latency on grown tables / empty',
    1.1,
    ['e4-latency-grown', 'pillarbox'],
    ['e4-latency-empty', 'pillarbox'],
    callP50,
  ),
  aim('drain while old rows are removed / without', 0.9, ['purge-with', 'pillarbox'], ['purge-without', 'pillarbox']),
  aim(
    'SQLite: drain while old rows are removed / without',
    0.9,
    ['purge-with', 'pillarbox-sqlite'],
    ['purge-without', 'pillarbox-sqlite'],
  ),
  atMost('memory of a worker after a drain, MB', 160, ['e2', 'pillarbox'], null, rss),
  aim('SQLite: drain / raw', 0.6, ['e2', 'pillarbox-sqlite'], ['e2', SQLITE_REFERENCE]),
  aim(
    'SQLite: one per request, 16 at once / one commit per row',
    3,
    ['e1-one', 'pillarbox-sqlite'],
    ['e1-one', SQLITE_REFERENCE],
  ),
  aim('SQLite: drain on grown tables / empty', 0.95, ['e4-grown', 'pillarbox-sqlite'], ['e4-used', 'pillarbox-sqlite']),
  atMost(
    'SQLite: latency on grown tables / empty',
    1.1,
    ['e4-latency-grown', 'pillarbox-sqlite'],
    ['e4-latency-empty', 'pillarbox-sqlite'],
    callP50,
  ),
  atMost('SQLite: memory of a worker after a drain, MB', 160, ['e2', 'pillarbox-sqlite'], null, rss),
  ...PROVIDERS.flatMap((provider) => {
    const [own, bare] = [
      [`providers-${provider}`, 'pillarbox-defaults'],
      [`providers-${provider}`, BARE],
    ] as const
    return [
      aim(`drain through ${provider} / bare client`, 0.7, own, bare),
      atMost(`worker CPU through ${provider} / bare client`, 1.5, own, bare, workerUs),
    ]
  }),
]

function aim(name: string, bound: number, of: Aim['of'], against: Aim['against']): Aim {
  return { name, bound, atLeast: true, of, against, pick: rate }
}

function atMost(name: string, bound: number, of: Aim['of'], against: Aim['against'], pick: Pick): Aim {
  return { name, bound, atLeast: false, of, against, pick }
}

export interface Measured {
  values: number[]
  /** By the median of the rounds in which nothing disturbed either sample; without such a round nothing is claimed. */
  verdict: 'yes' | 'no' | 'unresolved' | '–'
  disturbed: string
}

export function measured(samples: Samples, { of, against, pick, bound, atLeast }: Aim): Measured {
  const taken = samples.of(...of)
  const reference = against === null ? null : samples.of(...against)
  const figures = (some: ReadonlyMap<number, Taken>): number[] =>
    reference === null ? values(some, pick) : ratios(some, reference, pick)
  const found = figures(taken)
  const isCalm = (round: number): boolean => !taken.get(round)?.disturbed && !reference?.get(round)?.disturbed
  const calm = figures(new Map([...taken].filter(([round]) => isCalm(round))))
  const used: Taken[] = [...taken.values(), ...(reference?.values() ?? [])]
  const middle = median(calm)
  const verdict = calm.length === 0 ? 'unresolved' : (atLeast ? middle >= bound : middle <= bound) ? 'yes' : 'no'
  return {
    values: found,
    verdict: found.length === 0 ? '–' : verdict,
    disturbed: found.length === 0 ? '–' : `${used.filter((each) => each.disturbed).length} of ${used.length}`,
  }
}

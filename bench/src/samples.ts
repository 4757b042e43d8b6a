import type { Sample } from './cases.ts'
import { median } from './statistics.ts'

/** A sample as `run.ts` recorded it. */
export interface Taken extends Sample {
  case: string
  entry: string
  round: number
  disturbed: boolean
  /** Fingerprint of the code it measured. */
  sources?: string
}

export interface Samples {
  /** One per round: the undisturbed one if there is one, else the least disturbed. */
  of(name: string, entry: string): ReadonlyMap<number, Taken>
  seeded(entry: string): string
  readonly environments: object[]
  readonly errors: string[]
  /** Fingerprints of the measured code: more than one means that tables mix versions. */
  readonly sources: ReadonlySet<string>
}

type Line =
  | Taken
  | { case: 'environment' }
  | { case: 'e4-seed'; entry: string; what: string }
  | { case: string; entry: string; round: number; error: string }

/** Reads what one or several runs recorded; rounds of later runs are counted on. */
export function samplesIn(texts: readonly string[]): Samples {
  const taken: Taken[] = []
  const environments: object[] = []
  const errors: string[] = []
  const seeds = new Map<string, string>()
  let run = 0
  for (const line of texts.map((text) => JSON.parse(text) as Line)) {
    if (line.case === 'environment') {
      run++
      environments.push(line)
    } else if ('what' in line) seeds.set(line.entry, line.what)
    else if ('error' in line) errors.push(`round ${line.round} ${line.case} ${line.entry}: ${line.error}`)
    else if ('others' in line) taken.push({ ...line, round: run * 1_000 + line.round })
  }
  return {
    of: (name, entry) => best(taken.filter((each) => each.case === name && each.entry === entry)),
    seeded: (entry) => seeds.get(entry) ?? '',
    environments,
    errors,
    sources: new Set(taken.flatMap((each) => each.sources ?? [])),
  }
}

function best(taken: readonly Taken[]): Map<number, Taken> {
  const byRound = new Map<number, Taken>()
  for (const each of taken) {
    const known = byRound.get(each.round)
    const isBetter =
      !known ||
      Number(each.disturbed) < Number(known.disturbed) ||
      (each.disturbed === known.disturbed && each.others < known.others)
    if (isBetter) byRound.set(each.round, each)
  }
  return byRound
}

export type Pick = (taken: Taken) => number | undefined

export function values(taken: ReadonlyMap<number, Taken>, pick: Pick): number[] {
  return [...taken.values()].map((each) => pick(each) ?? Number.NaN).filter(Number.isFinite)
}

/** Within each round, so that both come from the same minutes. */
export function ratios(taken: ReadonlyMap<number, Taken>, reference: ReadonlyMap<number, Taken>, pick: Pick): number[] {
  return [...taken]
    .map(([round, each]) => {
      const other = reference.get(round)
      return other === undefined ? Number.NaN : (pick(each) ?? Number.NaN) / (pick(other) ?? Number.NaN)
    })
    .filter(Number.isFinite)
}

/** Median (smallest–largest). */
export function cell(found: readonly number[]): string {
  if (found.length === 0) return '–'
  const short = (value: number): string =>
    value >= 1_000
      ? Math.round(value).toLocaleString('en')
      : value >= 10
        ? value.toFixed(1)
        : value >= 0.1
          ? value.toFixed(2)
          : value.toFixed(4)
  if (found.length === 1) return short(found[0] ?? Number.NaN)
  return `${short(median(found))} (${short(Math.min(...found))}–${short(Math.max(...found))})`
}

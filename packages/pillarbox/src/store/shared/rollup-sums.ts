import {
  addTally,
  type Dimension,
  dueChange,
  EVER,
  happenedTo,
  type Margin,
  MOST_VALUES,
  marginsOf,
  OTHER_VALUE,
  type RollupGroup,
  type RollupMove,
  type RollupTally,
  startOf,
  talliedMove,
  talliedStanding,
  WIDTHS,
} from '../../model/rollup.ts'
import { givenRows, jsonOf, type Row, rows, type Script } from './script.ts'

/** Changes of sums, by what they belong to. They add up in any order. */
export class SumChanges {
  /** Of what happened, or of what stands where. */
  readonly counts = new Map<string, { key: SumKey; tally: RollupTally }>()
  /** Of what is due. */
  readonly due = new Map<string, { key: SumKey; count: number }>()

  readonly #values: ValueBook
  readonly #keptFrom: ReadonlyMap<number, number>

  /** `keptFrom`: of times of each width, only those from this second on are of interest. */
  constructor(values: ValueBook, keptFrom: ReadonlyMap<number, number> = new Map()) {
    this.#values = values
    this.#keptFrom = keptFrom
  }

  /** All that a move adds. */
  addMove(move: RollupMove): void {
    this.addHappened(move)
    this.addStanding(move.group, talliedStanding(move))
    this.addDueAt(move.group, move.dueSecond, dueChange(move))
  }

  /** What a move adds to the sums of its time. */
  addHappened(move: RollupMove): void {
    const happened = talliedMove(move)
    if (Object.keys(happened).length === 0) return
    for (const margin of this.#marginsOf(happenedTo(move)))
      for (const width of WIDTHS) {
        const atSecond = startOf(move.atSecond, width)
        if (this.isKept({ width, atSecond })) this.addCounts({ ...margin, width, atSecond }, happened)
      }
  }

  addStanding(group: RollupGroup, standing: RollupTally): void {
    for (const margin of this.#marginsOf(group)) this.addCounts({ ...margin, width: EVER, atSecond: 0 }, standing)
  }

  addDueAt(group: RollupGroup, second: number | null, count: number): void {
    if (count === 0 || second === null) return
    for (const margin of this.#marginsOf(group))
      for (const width of WIDTHS) this.addDue({ ...margin, width, atSecond: startOf(second, width) }, count)
  }

  isKept({ width, atSecond }: Pick<SumKey, 'width' | 'atSecond'>): boolean {
    return atSecond >= (this.#keptFrom.get(width) ?? 0)
  }

  #marginsOf(group: RollupGroup): Margin[] {
    return marginsOf(group).map(this.#values.known)
  }

  addCounts(key: SumKey, tally: RollupTally): void {
    const name = nameOf(key)
    const known = this.counts.get(name)
    if (known) addTally(known.tally, tally)
    // What stands at nothing is remembered all the same: its value has been seen.
    else if (key.width === EVER || Object.keys(tally).length > 0) this.counts.set(name, { key, tally: { ...tally } })
  }

  addDue(key: SumKey, count: number): void {
    const name = nameOf(key)
    const known = this.due.get(name)
    if (known) known.count += count
    else this.due.set(name, { key, count })
  }
}

export interface SumKey extends Margin {
  width: number
  atSecond: number
}

function nameOf({ width, scope, dimension, value, atSecond }: SumKey): string {
  return `${width} ${atSecond} ${scope} ${dimension} ${value}`
}

/** Which values of each dimension have sums of their own. All later ones share one, so that no caller can make ever more. */
export class ValueBook {
  readonly #known = new Map<string, Set<string>>()
  readonly #most: number

  constructor(known: Iterable<Margin>, most = MOST_VALUES) {
    this.#most = most
    for (const margin of known) if (margin.value !== OTHER_VALUE) this.#valuesOf(margin).add(margin.value)
  }

  /** The margin itself, or the one that it shares. */
  readonly known = (margin: Margin): Margin => {
    const values = this.#valuesOf(margin)
    if (values.has(margin.value) || margin.value === '') return margin
    if (values.size >= this.#most) return { ...margin, value: OTHER_VALUE }
    values.add(margin.value)
    return margin
  }

  #valuesOf({ scope, dimension }: Margin): Set<string> {
    const name = `${scope} ${dimension}`
    const values = this.#known.get(name) ?? new Set<string>()
    this.#known.set(name, values)
    return values
  }
}

/** The values that have sums of their own in these scopes. */
export function* readValues(scopes: readonly string[]): Script<ValueBook> {
  const found = yield* rows(
    `select c.scope, c.dimension, c.value from :g join pillarbox.rollup_counts c on c.width = 0 and c.scope = g.scope`,
    {
      g: givenRows(
        { scope: 'text' },
        [...new Set(scopes)].map((scope) => ({ scope })),
      ),
    },
  )
  return new ValueBook(found.map(marginOf))
}

/** Those of all scopes. */
export function* readAllValues(): Script<ValueBook> {
  const found = yield* rows('select scope, dimension, value from pillarbox.rollup_counts where width = 0')
  return new ValueBook(found.map(marginOf))
}

function marginOf(found: Row): Margin {
  return {
    scope: String(found['scope']),
    dimension: found['dimension'] as Dimension,
    value: String(found['value']),
  }
}

const KEY = { width: 'bigint', scope: 'text', dimension: 'text', value: 'text', at_second: 'bigint' } as const
export const KEY_COLUMNS = Object.keys(KEY).join(', ')

function keyRow({ width, scope, dimension, value, atSecond }: SumKey) {
  return { width, scope, dimension, value, at_second: atSecond }
}

export function sumKeyOf(found: Row): SumKey {
  return { ...marginOf(found), width: Number(found['width']), atSecond: Number(found['at_second']) }
}

/** So many rows go into one statement. */
const MOST_ROWS = 2_000

/** Adds changes to the sums. Whoever does so holds the row of `rollup_state`. */
export function* applyChanges(changes: SumChanges): Script<void> {
  for (const some of inPieces([...changes.counts.values()])) yield* applyCounts(some)
  const due = [...changes.due.values()].filter(({ count }) => count !== 0)
  for (const some of inPieces(due)) yield* applyDue(some)
}

function inPieces<T>(all: readonly T[]): T[][] {
  const pieces: T[][] = []
  for (let from = 0; from < all.length; from += MOST_ROWS) pieces.push(all.slice(from, from + MOST_ROWS))
  return pieces
}

function* applyCounts(changes: readonly { key: SumKey; tally: RollupTally }[]): Script<void> {
  const found = yield* rows(
    `select ${Object.keys(KEY)
      .map((column) => `c.${column}`)
      .join(', ')}, c.counts from :g join pillarbox.rollup_counts c on c.width = g.width and c.scope = g.scope
        and c.dimension = g.dimension and c.value = g.value and c.at_second = g.at_second`,
    {
      g: givenRows(
        KEY,
        changes.map(({ key }) => keyRow(key)),
      ),
    },
  )
  const before = new Map(found.map((row) => [nameOf(sumKeyOf(row)), jsonOf<RollupTally>(row['counts'])]))
  const given = changes.map(({ key, tally }) => {
    const counts = before.get(nameOf(key)) ?? {}
    addTally(counts, tally)
    return { ...keyRow(key), counts }
  })
  yield* rows(
    `insert into pillarbox.rollup_counts (${KEY_COLUMNS}, counts)
      select ${KEY_COLUMNS}, counts from :g where true
      on conflict (${KEY_COLUMNS}) do update set counts = excluded.counts`,
    { g: givenRows({ ...KEY, counts: 'json' }, given) },
  )
}

function* applyDue(changes: readonly { key: SumKey; count: number }[]): Script<void> {
  const g = givenRows(
    { ...KEY, count: 'bigint' },
    changes.map(({ key, count }) => ({ ...keyRow(key), count })),
  )
  yield* rows(
    `insert into pillarbox.rollup_due as d (${KEY_COLUMNS}, count) select ${KEY_COLUMNS}, count from :g where true
      on conflict (${KEY_COLUMNS}) do update set count = d.count + excluded.count`,
    { g },
  )
  yield* rows(
    `delete from pillarbox.rollup_due where count = 0 and (${KEY_COLUMNS}) in (select ${KEY_COLUMNS} from :g)`,
    { g },
  )
}

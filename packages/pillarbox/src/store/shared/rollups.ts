import {
  ALL_TENANTS,
  addTally,
  type Dimension,
  dueChange,
  happenedTo,
  KEPT_SECONDS,
  type Margin,
  marginsOf,
  type RollupGroup,
  type RollupMove,
  type RollupTally,
  type Span,
  secondOf,
  spansBefore,
  spansBetween,
  spansFrom,
  startOf,
  talliedMove,
  talliedStanding,
} from '../../model/rollup.ts'
import type { RollupNumbers, RollupQuery, RollupReading, RollupStore } from '../../operate/rollup-store.ts'
import { booleanOf } from './fields.ts'
import { DELTA_COLUMNS, moveOf } from './rollup-deltas.ts'
import { rebuilder, type Snapshot } from './rollup-rebuild.ts'
import { applyChanges, readValues, SumChanges, ValueBook } from './rollup-sums.ts'
import {
  type Dialect,
  givenList,
  givenRows,
  instantOf,
  jsonOf,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/**
 * Sums of what notifications do.
 *
 *   whatever moves them ──writes──▶ rollup_deltas ──fold──▶ rollup_counts, rollup_due
 *                                        └──────────read──────────┘
 *
 * A delta is in the sums or waits to be: folding takes it from one to the other in one transaction, and reading looks at
 * both in one statement. So a reading is exact at any moment, whoever died before.
 */
export function sharedRollups(scripts: ScriptRunner, snapshot: Snapshot): RollupStore {
  const { dialect, read, write } = scripts
  return {
    fold: async (limit) => {
      // Every worker asks every second, and mostly there is nothing.
      const waiting = await read(() => row('select id from pillarbox.rollup_deltas limit 1'))
      return waiting ? write(() => fold(dialect, limit)) : 0
    },
    prune: (limit) => write(() => prune(dialect, limit)),
    read: (query) => read(() => readNumbers(dialect, query)),
    isCounted: () => read(isCounted),
    countValues: (tenantId, dimension) => read(() => countValues(tenantId, dimension)),
    rebuild: rebuilder(scripts, snapshot),
  }
}

function* isCounted(): Script<boolean> {
  const state = yield* row('select is_counted from pillarbox.rollup_state')
  return booleanOf(state?.['is_counted'])
}

function* countValues(tenantId: string | null, dimension: Dimension): Script<number> {
  const found = yield* row(
    'select count(*) as count from pillarbox.rollup_counts where width = 0 and scope = :scope and dimension = :dimension',
    { scope: tenantId ?? ALL_TENANTS, dimension },
  )
  return Number(found?.['count'])
}

function* fold(dialect: Dialect, limit: number): Script<number> {
  // Nobody waits for whoever folds already: that one takes what is there.
  const turn = yield* row(`select is_counted from pillarbox.rollup_state s ${dialect.skipLocked('s')}`)
  if (!turn) return 0
  const taken = yield* rows(
    `delete from pillarbox.rollup_deltas where id in (select id from pillarbox.rollup_deltas order by id limit :limit)
      returning ${DELTA_COLUMNS.join(', ')}`,
    { limit },
  )
  if (taken.length === 0) return 0
  const moves = taken.map(moveOf)
  const values = yield* readValues([ALL_TENANTS, ...moves.map(({ group }) => group.tenantId)])
  const changes = new SumChanges(values)
  for (const move of moves) changes.addMove(move)
  yield* applyChanges(changes)
  return taken.length
}

function* prune(dialect: Dialect, limit: number): Script<number> {
  const now = yield* row(`select ${dialect.now} as now`)
  const second = secondOf(instantOf(now?.['now']))
  let pruned = 0
  for (const [width, kept] of KEPT_SECONDS) {
    const gone = yield* rows(
      `delete from pillarbox.rollup_counts where (width, scope, dimension, value, at_second) in (
          select width, scope, dimension, value, at_second from pillarbox.rollup_counts
          where width = :width and at_second < :before order by at_second limit :limit)
        returning at_second`,
      { width, before: second - kept, limit },
    )
    pruned += gone.length
  }
  return pruned
}

/** What a reading asks the sums for, each under a name, as runs of times. */
interface WantedSpan extends Span {
  what: 'window' | 'range' | 'series' | 'scheduled' | 'stuck'
}

function* readNumbers(dialect: Dialect, query: RollupQuery): Script<RollupReading | null> {
  const time = yield* row(`select ${dialect.now} as now, is_counted from pillarbox.rollup_state`)
  if (!time || !booleanOf(time['is_counted'])) return null
  const at = instantOf(time['now'])
  const wanted = wantedSpans(query, at)
  const found = yield* rows(READ, {
    scope: query.tenantId ?? ALL_TENANTS,
    tenantId: query.tenantId,
    dimensions: givenList(query.dimensions),
    happened: givenRows(SPAN, wanted.filter(({ what }) => what !== 'scheduled' && what !== 'stuck').map(spanRow)),
    waits: givenRows(SPAN, wanted.filter(({ what }) => what === 'scheduled' || what === 'stuck').map(spanRow)),
  })
  const scope = query.tenantId ?? ALL_TENANTS
  const standing = found.filter(({ what }) => what === 'standing')
  const values = new ValueBook(
    standing.map(({ dimension, value }) => ({ scope, dimension: dimension as Dimension, value: String(value) })),
  )
  const reading = new NumbersReader(query, at, values)
  for (const each of found) reading.take(each)
  return { at, numbers: reading.numbers() }
}

function wantedSpans({ stuckForMs, windowSeconds, range }: RollupQuery, at: number): WantedSpan[] {
  const second = secondOf(at)
  const named = (what: WantedSpan['what'], spans: readonly Span[]): WantedSpan[] =>
    spans.map((span) => ({ what, ...span }))
  const wanted = [
    ...named('window', spansBetween(second + 1 - windowSeconds, second + 1)),
    ...named('scheduled', spansFrom(second + 1)),
    ...named('stuck', spansBefore(secondOf(at - stuckForMs))),
  ]
  if (range) wanted.push(...named('range', spansBetween(range.from, range.to, range.finest)))
  if (range?.step) wanted.push({ what: 'series', width: widthFor(range.step), from: range.from, to: range.to })
  return wanted
}

/** The longest times that a step is made up of. */
function widthFor(step: number): number {
  return [...KEPT_SECONDS.keys()].findLast((width) => step % width === 0) ?? 1
}

const SPAN = { what: 'text', width: 'bigint', from_second: 'bigint', to_second: 'bigint' } as const

function spanRow({ what, width, from, to }: WantedSpan) {
  return { what, width, from_second: from, to_second: to }
}

/** One statement, hence one moment. */
const NO_DELTA = DELTA_COLUMNS.map(() => 'null').join(', ')
const OF_SCOPE = 'e.width = 0 and e.scope = :scope and e.dimension in (:dimensions)'
const READ = `
  select 'delta' as what, cast(null as text) as dimension, cast(null as text) as value, cast(null as bigint) as begins,
    cast(null as text) as counts, cast(null as bigint) as sum, ${DELTA_COLUMNS.join(', ')}
  from pillarbox.rollup_deltas where tenant_id = :tenantId or :tenantId is null
  union all
  select 'standing', e.dimension, e.value, null, cast(e.counts as text),
    (select min(d.at_second) from pillarbox.rollup_due d where d.width = 1 and d.scope = e.scope
      and d.dimension = e.dimension and d.value = e.value), ${NO_DELTA}
  from pillarbox.rollup_counts e where ${OF_SCOPE}
  union all
  select happened.what, e.dimension, e.value, c.at_second, cast(c.counts as text), null, ${NO_DELTA}
  from pillarbox.rollup_counts e cross join :happened
    join pillarbox.rollup_counts c on c.width = happened.width and c.scope = e.scope and c.dimension = e.dimension
      and c.value = e.value and c.at_second >= happened.from_second and c.at_second < happened.to_second
  where ${OF_SCOPE}
  union all
  select waits.what, e.dimension, e.value, null, null, cast(sum(d.count) as bigint), ${NO_DELTA}
  from pillarbox.rollup_counts e cross join :waits
    join pillarbox.rollup_due d on d.width = waits.width and d.scope = e.scope and d.dimension = e.dimension
      and d.value = e.value and d.at_second >= waits.from_second and d.at_second < waits.to_second
  where ${OF_SCOPE} group by 1, 2, 3`

/** Puts together what the statement answers. */
class NumbersReader {
  readonly #query: RollupQuery
  readonly #second: number
  readonly #stuckBefore: number
  readonly #values: ValueBook
  readonly #numbers = new Map<string, RollupNumbers & { series: Map<number, RollupTally> }>()

  constructor(query: RollupQuery, at: number, values: ValueBook) {
    this.#query = query
    this.#second = secondOf(at)
    this.#stuckBefore = secondOf(at - query.stuckForMs)
    this.#values = values
  }

  take(found: Row): void {
    if (found['what'] === 'delta') {
      this.#addMove(moveOf(found))
      return
    }
    const numbers = this.#of(found['dimension'] as Dimension, String(found['value']))
    switch (found['what']) {
      case 'standing':
        addTally(numbers.standing, jsonOf<RollupTally>(found['counts']))
        if (found['sum'] !== null) this.#seeDue(numbers, Number(found['sum']))
        return
      case 'window':
      case 'range':
        addTally(numbers[found['what']], jsonOf<RollupTally>(found['counts']))
        return
      case 'series':
        this.#addToSeries(numbers, Number(found['begins']), jsonOf<RollupTally>(found['counts']))
        return
      case 'scheduled':
      case 'stuck':
        numbers[found['what']] += Number(found['sum'])
    }
  }

  numbers(): RollupNumbers[] {
    return [...this.#numbers.values()]
  }

  #of(dimension: Dimension, value: string) {
    const name = `${dimension} ${value}`
    let numbers = this.#numbers.get(name)
    if (!numbers) {
      const counts = { standing: {}, window: {}, range: {}, series: new Map<number, RollupTally>() }
      numbers = { dimension, value, scheduled: 0, stuck: 0, oldestDueSecond: null, ...counts }
      this.#numbers.set(name, numbers)
    }
    return numbers
  }

  /** What is not folded yet counts as if it were. */
  #addMove(move: RollupMove): void {
    const { tenantId, dimensions, range, windowSeconds } = this.#query
    const scope = tenantId ?? ALL_TENANTS
    const isWanted = (margin: Margin): boolean => margin.scope === scope && dimensions.includes(margin.dimension)
    const numbersOf = (group: RollupGroup) =>
      marginsOf(group)
        .filter(isWanted)
        .map(this.#values.known)
        .map(({ dimension, value }) => this.#of(dimension, value))
    const [happened, standing, due] = [talliedMove(move), talliedStanding(move), dueChange(move)]
    for (const numbers of numbersOf(happenedTo(move))) {
      if (move.atSecond > this.#second - windowSeconds) addTally(numbers.window, happened)
      if (!range || move.atSecond < range.from || move.atSecond >= range.to) continue
      addTally(numbers.range, happened)
      if (range.step) this.#addToSeries(numbers, move.atSecond, happened)
    }
    for (const numbers of numbersOf(move.group)) {
      addTally(numbers.standing, standing)
      if (due === 0 || move.dueSecond === null) continue
      if (move.dueSecond > this.#second) numbers.scheduled += due
      if (move.dueSecond < this.#stuckBefore) numbers.stuck += due
      if (due > 0) this.#seeDue(numbers, move.dueSecond)
    }
  }

  #addToSeries({ series }: { series: Map<number, RollupTally> }, second: number, tally: RollupTally): void {
    const { range } = this.#query
    if (!range?.step) return
    const begins = range.from + startOf(second - range.from, range.step)
    const sums = series.get(begins) ?? {}
    addTally(sums, tally)
    series.set(begins, sums)
  }

  #seeDue(numbers: RollupNumbers, second: number): void {
    numbers.oldestDueSecond = Math.min(second, numbers.oldestDueSecond ?? second)
  }
}

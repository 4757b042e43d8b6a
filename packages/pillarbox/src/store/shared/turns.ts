import type { TurnOptions, TurnStart } from '../../operate/scan-store.ts'
import { textOrNull } from './fields.ts'
import { storeTime } from './purge-rules.ts'
import { type Dialect, row, rows, type Script, type ScriptRunner } from './script.ts'

/** The turn of whoever does, alone for all workers, what has this name; and when it was last done. One row each. */
export interface NamedTurns {
  begin(holder: string, options: TurnOptions): Promise<TurnStart>
  keep(holder: string, leaseMs: number): Promise<boolean>
  end(holder: string, isDone: boolean): Promise<void>
}

export function turnsAt({ dialect, write }: ScriptRunner, name: string): NamedTurns {
  return {
    begin: (holder, options) => write(() => begin(dialect, name, holder, options)),
    keep: (holder, leaseMs) => write(() => keep(dialect, name, holder, leaseMs)),
    end: (holder, isDone) => write(() => end(dialect, name, holder, isDone)),
  }
}

/** When that was last done, by the value of its row; null: never. */
export function lastDoneIn(value: string | null): number | null {
  return value === null ? null : ((JSON.parse(value) as Turn).doneAt ?? null)
}

interface Turn {
  holder?: string
  /** Until when nobody else begins. */
  until?: number
  doneAt?: number
}

function* begin(dialect: Dialect, name: string, holder: string, { leaseMs, everyMs }: TurnOptions): Script<TurnStart> {
  yield* rows(`insert into pillarbox.instance (name, value) values (:name, '{}') on conflict (name) do nothing`, {
    name,
  })
  const { turn, now } = yield* lockTurn(dialect, name)
  // A clock that was set back does not make it wait for years.
  if (everyMs !== null && turn.doneAt !== undefined && Math.abs(now - turn.doneAt) < everyMs) return 'not_due'
  if (turn.holder !== undefined && now < (turn.until ?? 0)) return 'busy'
  yield* writeTurn(name, { ...turn, holder, until: now + leaseMs })
  return 'begun'
}

function* keep(dialect: Dialect, name: string, holder: string, leaseMs: number): Script<boolean> {
  const { turn, now } = yield* lockTurn(dialect, name)
  if (turn.holder !== holder) return false
  yield* writeTurn(name, { ...turn, until: now + leaseMs })
  return true
}

function* end(dialect: Dialect, name: string, holder: string, isDone: boolean): Script<void> {
  const { turn, now } = yield* lockTurn(dialect, name)
  if (turn.holder !== holder) return
  const doneAt = isDone ? now : turn.doneAt
  yield* writeTurn(name, doneAt === undefined ? {} : { doneAt })
}

function* lockTurn(dialect: Dialect, name: string): Script<{ turn: Turn; now: number }> {
  const found = yield* row(`select i.value from pillarbox.instance i where i.name = :name ${dialect.lock('i')}`, {
    name,
  })
  const turn = textOrNull(found?.['value'])
  return { turn: turn === null ? {} : (JSON.parse(turn) as Turn), now: yield* storeTime(dialect) }
}

function* writeTurn(name: string, turn: Turn): Script<void> {
  yield* rows('update pillarbox.instance set value = :value where name = :name', {
    name,
    value: JSON.stringify(turn),
  })
}

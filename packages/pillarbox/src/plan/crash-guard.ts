import { type Logger, type Meters, noMeters } from '../model/ports.ts'
import type { NoteRef, PlannerSelf, PlanStore, RowRef } from './plan-store.ts'

/**
 * Sees to it that a row which ends the process, however that comes about, does so only a few times. What is about to be
 * planned is noted first; whoever finds the note of a planner that is dead counts a crash for each row of it.
 */
export interface CrashGuard {
  /**
   * Resolves once the rows that a hand is about to plan are noted, beside those of other hands. Answers the notes of planners
   * that died, to be counted once nothing is held.
   */
  begin(hand: string, rows: readonly RowRef[]): Promise<NoteRef[]>
  count(dead: readonly NoteRef[]): Promise<void>
  /** The hand is planning nothing any more. */
  end(hand: string): Promise<void>
  /** The process was asked to stop: should it be killed over that, no row is to blame. Nothing is noted from now on. */
  leave(): Promise<void>
}

export interface CrashGuardDeps {
  plan: PlanStore
  self(): PlannerSelf
  isRunning: ProcessTable['isRunning']
  /** A planner that was silent for longer is dead. */
  ttlMs: number
  logger: Logger
  meters?: Meters
}

/** The processes that this one can see, and which one it is itself. */
export interface ProcessTable {
  /** The same for two processes only where both see the same ones by the same numbers. */
  space: string
  /** New at each start of the process. */
  boot: string
  isRunning(pid: number): boolean
}

export function createCrashGuard({
  plan,
  self,
  isRunning,
  ttlMs,
  logger,
  meters = noMeters,
}: CrashGuardDeps): CrashGuard {
  /** What each hand is planning. */
  const planned = new Map<string, readonly RowRef[]>()
  /** As whom something is noted: a worker that was declared dead registers anew, as another. */
  let notedAs: string | null = null
  let noted = 0
  let isLeaving = false
  /** Notes are written one after another: the last one says what all hands are planning. */
  let turn: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work)
    turn = done.catch(() => {})
    return done
  }

  async function forget(): Promise<void> {
    if (notedAs === null) return
    const id = notedAs
    notedAs = null
    await plan.forgetNote(id)
  }

  async function note(): Promise<NoteRef[]> {
    if (isLeaving) return []
    const own = self()
    if (notedAs !== own.id) await forget()
    notedAs = own.id
    const others = await plan.note({ ...own, number: ++noted }, [...planned.values()].flat(), ttlMs)
    // One that is silent has died, or hangs over a row, which is no better. One that beat lately may live, unless its
    // process would be seen from here, or this one has taken its place: a container's first process has the same number at
    // every start.
    const isDead = ({ host, space, pid, boot, isBeating }: (typeof others)[number]): boolean => {
      if (boot === own.boot) return false
      return !isBeating || (space === own.space && !isRunning(pid)) || (host === own.host && pid === own.pid)
    }
    return others.filter(isDead).map(({ id, number }) => ({ id, number }))
  }

  return {
    begin(hand, rows) {
      planned.set(hand, rows)
      return inTurn(note)
    },
    async count(dead) {
      const counted = await plan.countCrashes(dead)
      if (counted === 0) return
      meters.count('planning_crashes', {}, counted)
      logger.warn(
        { workerIds: dead.map(({ id }) => id), rows: counted },
        'a process died while it planned; its rows are planned one by one',
      )
    },
    async end(hand) {
      planned.delete(hand)
      // What the note still says of this hand is planned by now, and goes with the next one.
      await inTurn(async () => {
        if (planned.size === 0) await forget()
      })
    },
    async leave() {
      isLeaving = true
      await inTurn(forget)
    },
  }
}

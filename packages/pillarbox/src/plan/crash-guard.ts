import type { Logger } from '../model/ports.ts'
import type { PlannerSelf, PlanStore, RowRefs } from './plan-store.ts'

/** A row on which so many processes have died is not tried again by itself. */
export const MOST_CRASHES = 2

/**
 * Sees to it that a row which ends the process, however that comes about, does so no more once two such ends are known. What is about to be planned
 * is noted first; whoever finds the note of a planner that is dead counts a crash for each row of it. Rows with a crash are
 * planned alone, so that the second one tells which of them it was.
 */
export interface CrashGuard {
  /** Resolves once the rows are noted. Answers the planners that died and left notes, to be counted once nothing is held. */
  begin(rows: RowRefs): Promise<string[]>
  count(dead: readonly string[]): Promise<void>
  /** Nothing is being planned any more. */
  end(): Promise<void>
}

export interface CrashGuardDeps {
  plan: PlanStore
  self(): PlannerSelf
  isRunning: ProcessTable['isRunning']
  /** A planner that was silent for longer is dead. */
  ttlMs: number
  logger: Logger
}

/** The processes that this one can see. */
export interface ProcessTable {
  /** The same for two processes only where both see the same ones by the same numbers. */
  space: string
  isRunning(pid: number): boolean
}

export function createCrashGuard({ plan, self, isRunning, ttlMs, logger }: CrashGuardDeps): CrashGuard {
  let hasNote = false
  return {
    async begin(rows) {
      const own = self()
      const others = await plan.note(own, rows, ttlMs)
      hasNote = true
      // One that beat lately may live, unless its process would be seen from here. A process that was started anew in a
      // container looks like another engine in this one until the silence tells.
      const isDead = ({ host, pid, isBeating }: (typeof others)[number]): boolean =>
        !isBeating || (host === own.host && !isRunning(pid))
      return others.filter(isDead).map(({ id }) => id)
    },
    async count(dead) {
      const counted = await plan.countCrashes(dead)
      if (counted > 0)
        logger.warn(
          { workerIds: dead, rows: counted },
          'a process died while it planned; its rows are planned one by one',
        )
    },
    async end() {
      if (!hasNote) return
      hasNote = false
      await plan.forgetNote(self().id)
    },
  }
}

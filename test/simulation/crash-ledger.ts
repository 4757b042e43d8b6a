import type { NoteRef, NotingPlanner, RowRef } from '../../packages/pillarbox/src/plan/plan-store.ts'
import { TIMES } from './plan-of-run.ts'
import type { SimProcess } from './simulated-process.ts'

interface PlanningNote {
  number: number
  process: string
  rows: readonly RowRef[]
  /** Nothing was heard of its process for the TTL, at some time since it was written. */
  wasSilent: boolean
}

/** Which rows processes were planning when they died, or fell silent, as seen from outside. */
export class CrashLedger {
  readonly #processes = new Map<string, SimProcess>()
  readonly #heardAt = new Map<string, number>()
  /** What each planner noted last. */
  readonly #notes = new Map<string, PlanningNote>()
  /** Under which id each process is registered. */
  readonly #ids = new Map<string, string>()
  readonly #deathsAlone = new Map<string, number>()

  hired(process: SimProcess): void {
    this.#processes.set(process.name, process)
  }

  /** A heartbeat was committed. */
  heard(process: string, now: number): void {
    this.#markSilent(now)
    this.#heardAt.set(process, now)
  }

  /** Under another id where it was declared dead: what it noted before is the note of somebody who is gone. */
  registered(process: string, id: string): void {
    this.#ids.set(process, id)
  }

  /** How many processes died, or fell silent, over this row and nothing else. */
  deathsAlone(id: string): number {
    return this.#deathsAlone.get(id) ?? 0
  }

  /** Answers broken promises. */
  committed(process: string, operation: string, args: readonly unknown[], now: number): string[] {
    this.#markSilent(now)
    if (operation === 'plan.note') {
      const [{ id, number }, rows] = args as [NotingPlanner, readonly RowRef[]]
      this.#heardAt.set(process, now)
      this.#notes.set(id, { number, process, rows, wasSilent: false })
      return []
    }
    if (operation === 'plan.forgetNote') {
      this.#notes.delete(args[0] as string)
      return []
    }
    return (args[0] as readonly NoteRef[]).flatMap((note) => this.#counted(note))
  }

  #markSilent(now: number): void {
    for (const note of this.#notes.values()) {
      const heardAt = this.#heardAt.get(note.process) ?? Number.NEGATIVE_INFINITY
      note.wasSilent ||= now - heardAt > TIMES.ttl
    }
  }

  #counted({ id, number }: NoteRef): string[] {
    const note = this.#notes.get(id)
    if (note?.number !== number) return []
    this.#notes.delete(id)
    const [row, ...others] = note.rows
    if (row && others.length === 0) this.#deathsAlone.set(row.id, this.deathsAlone(row.id) + 1)
    const isDeclaredDead = this.#ids.get(note.process) !== id
    const isGone = note.wasSilent || isDeclaredDead || this.#processes.get(note.process)?.dead
    return isGone ? [] : [`P7: a crash was counted of ${note.process}, which lives and beats`]
  }
}

import { errorText } from '../model/errors.ts'
import type { Allowance } from './allowance.ts'
import { createTasks, type TaskName, type Tasks, type TaskTable } from './tasks.ts'

/**
 * Where whatever a stranger wrote is worked on: templates, payload schemas, patterns, catalogues. The product does it in
 * processes that can be stopped (`pool.ts`), tests and the simulation by the same code where they are.
 */
export interface Untrusted {
  /**
   * Answers for each of `given`, in order. What has to be stopped, because it takes too long or too much memory, is
   * answered with words that say so, and spoils no other. Rejects with `overloaded` where nobody could do the work.
   * Those who ask under one `turn`, a tenant's id or `PLANNING`, take turns with all others. What is not
   * done because an `allowance` is used up is answered with `NO_TIME`.
   */
  run<Name extends TaskName>(
    task: Name,
    given: readonly Tasks[Name]['given'][],
    turn: string,
    allowance?: Allowance | null,
  ): Promise<WorkResult<Name>[]>
}

/** The turn of planning, which works for all tenants. */
export const PLANNING = 'planning'

export type WorkResult<Name extends TaskName = TaskName> = { answer: Tasks[Name]['answer'] } | { stopped: string }

/** Nobody has looked at it: there may be time in the next batch. */
export const NO_TIME: { stopped: string } = { stopped: 'there is no time left for it in this batch' }

/** It had to be stopped, or took long, several times within a minute: it is not tried again for another. */
export const REFUSED: { stopped: string } = {
  stopped: 'it was stopped or slow several times within a minute, and is not tried again for another',
}

/** The answer, or what is answered instead where the work was stopped. */
export function answerOf<Answer>(
  result: { answer: Answer } | { stopped: string } | undefined,
  otherwise: (stopped: string) => Answer,
): Answer {
  return result && 'answer' in result ? result.answer : otherwise(result?.stopped ?? 'it was not worked out')
}

/** Does the work where it is asked for. It cannot be stopped there, so this is for what nobody hostile wrote. */
export function createUntrustedInProcess(): Untrusted {
  const tasks = createTasks(() => {})
  return {
    async run(task, given, _turn, allowance) {
      if (allowance && allowance.leftMs() <= 0) return given.map(() => NO_TIME)
      return performAll(tasks, task, given)
    },
  }
}

/** A task never throws; where one does all the same, it fails alone. */
export function performAll<Name extends TaskName>(
  tasks: TaskTable,
  task: Name,
  given: readonly Tasks[Name]['given'][],
): WorkResult<Name>[] {
  const perform = tasks[task] as (one: Tasks[Name]['given']) => Tasks[Name]['answer']
  return given.map((one) => {
    try {
      return { answer: perform(one) }
    } catch (error) {
      return { stopped: `it cannot be worked out: ${errorText(error)}` }
    }
  })
}

import { isSurelyValid } from '../catalogue/plain-schema.ts'
import { isPlainTemplate } from '../render/plain-template.ts'
import { createRenderer } from '../render/render.ts'
import { rendered, type TaskName, type Tasks } from './tasks.ts'
import type { WorkResult } from './untrusted.ts'

/**
 * What needs no process that can be stopped, because it cannot take long: a template that is text and placeholders, and a
 * payload that a few plain rules accept (docs/decisions/0028). Whatever does not simply succeed in so little work is answered
 * with null, and is a child's to do.
 */
export interface PlainWork {
  answer<Name extends TaskName>(task: Name, given: Tasks[Name]['given']): WorkResult<Name> | null
}

type PlainTasks = { readonly [Name in TaskName]?: (given: Tasks[Name]['given']) => Tasks[Name]['answer'] | null }

/** As the renderer counts: about half a millisecond. */
const PLAIN_UNITS = 20_000

export function createPlainWork(): PlainWork {
  const renderer = createRenderer({ maxUnits: PLAIN_UNITS })
  const tasks: PlainTasks = {
    render(job) {
      if (!isPlainTemplate(job.template, job.channel)) return null
      const answer = rendered(renderer, job)
      return 'error' in answer ? null : answer
    },
    checkPayload: ({ rules, payload }) => (isSurelyValid(rules.payload, payload) ? [] : null),
  }
  return {
    answer<Name extends TaskName>(task: Name, given: Tasks[Name]['given']) {
      const work: PlainTasks[Name] = tasks[task]
      const answer = work?.(given) ?? null
      return answer === null ? null : { answer }
    },
  }
}

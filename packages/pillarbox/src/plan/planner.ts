import { createPoll } from '../runtime/poll.ts'
import {
  APART_ROWS,
  type BatchScope,
  EVENTS,
  type PlannerDeps,
  type PlannerTools,
  planSome,
  SCHEDULES,
} from './batch.ts'
import { createGate } from './gate.ts'
import { createPeopleBook } from './people.ts'
import { createTemplateUses } from './template-uses.ts'
import { createTurnBook } from './turn-book.ts'

export type { PlannerDeps } from './batch.ts'

/**
 * The planning loop: pending events become schedules, due ones at once notifications; due schedules become
 * notifications. A planner has up to three hands (docs/decisions/0020). The first one plans batch after batch. While there
 * is a backlog a second one helps: the words of its batch are made while the first one's is written. Tenants whose words take
 * long are planned apart by the third.
 */
export interface Planner {
  /** One batch of events and one of schedules. Answers how many rows reached a decision. */
  round(): Promise<number>
  /** Rounds until `stop`, as soon as there is something to plan. */
  run(stop: AbortSignal): Promise<void>
}

export function createPlanner(deps: PlannerDeps): Planner {
  const { store, clock, ids, logger, settings } = deps
  const tools: PlannerTools = {
    ...deps,
    people: createPeopleBook({ people: store.people, clock, ids }),
    uses: createTemplateUses(store.templates, logger),
    turns: createTurnBook(),
    gate: createGate(),
  }

  /** One batch of events and one of schedules. */
  async function both(scope: BatchScope): Promise<number> {
    try {
      return (await planSome(tools, EVENTS, scope)) + (await planSome(tools, SCHEDULES, scope))
    } finally {
      await deps.guard?.end(scope.hand)
    }
  }
  const ofAll = (hand: string): Promise<number> => both({ hand, limit: settings.batchRows, only: null })
  /** One batch of each tenant that is planned apart. One that has nothing left is planned with all others again. */
  async function apart(): Promise<number> {
    let decided = 0
    for (const only of tools.turns.apart()) {
      const some = await both({ hand: 'apart', limit: Math.min(APART_ROWS, settings.batchRows), only })
      if (some === 0) tools.turns.rejoin(only)
      decided += some
    }
    return decided
  }

  /** Until there is nothing left to do, or planning stops. */
  async function whileThereIsWork(some: () => Promise<number>, stop: AbortSignal): Promise<void> {
    try {
      while (!stop.aborted && (await some()) > 0);
    } catch (error) {
      logger.warn({ error: String(error) }, 'planning failed; trying again')
    }
  }

  return {
    round: async () => (await ofAll('first')) + (await apart()),
    async run(stop) {
      const leave = (): void =>
        void deps.guard
          ?.leave()
          .catch((error: unknown) => logger.warn({ error: String(error) }, 'a planning note could not be withdrawn'))
      stop.addEventListener('abort', leave, { once: true })
      const poll = createPoll(deps.random, settings.pollMaxMs)
      const third = createHelper(() => whileThereIsWork(apart, stop))
      const some = async (hand: string): Promise<number> => {
        const decided = await ofAll(hand)
        if (tools.turns.apart().length > 0) third.begin()
        return decided
      }
      const second = createHelper(() => whileThereIsWork(() => some('second'), stop))
      while (!stop.aborted) {
        let decided = 0
        try {
          decided = await some('first')
        } catch (error) {
          logger.warn({ error: String(error) }, 'planning failed; trying again')
        }
        if (decided >= settings.batchRows / 2) second.begin()
        if (decided > 0) poll.found()
        else await deps.hub.events.wait(poll.nextMs(), stop)
      }
      await Promise.all([second.ended(), third.ended()])
    },
  }
}

/** Work that goes on beside the loop, once at a time. */
function createHelper(work: () => Promise<void>): { begin(): void; ended(): Promise<void> } {
  let underWay: Promise<void> | null = null
  return {
    begin() {
      underWay ??= work().finally(() => {
        underWay = null
      })
    },
    ended: async () => void (await underWay),
  }
}

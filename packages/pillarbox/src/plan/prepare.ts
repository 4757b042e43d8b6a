import type { StoredEvent } from '../model/event.ts'
import type { Clock } from '../model/ports.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import type { ContextBook, PlanContext } from './context-book.ts'
import { conversationOf, type DueEvent, eventTime, withAnswer } from './due-event.ts'
import { type Judgement, judgeEvent, judgeSchedule, type Ready, type Stop, type Wait } from './judge.ts'
import { BATCH_NOTIFICATIONS, channelCount, type Part, partLimit, positionOf, takePart } from './part.ts'
import type { Addressee, PeopleBook } from './people.ts'
import { askHook, type ResolveHook } from './resolve-hook.ts'

export interface PrepareDeps {
  store: Pick<Store, 'plan' | 'lists'>
  contexts: ContextBook
  people: PeopleBook
  sealing: Pick<PayloadSeal, 'openPayload'>
  resolve: ResolveHook | null
  clock: Clock
}

/** A row of a batch: an event that is new, or one whose schedule is due. */
export interface Row {
  event: StoredEvent
  schedule: StoredSchedule | null
}

/** All that is known of a row once everything that takes time is done. */
export type Brief =
  | Stop
  | Wait
  | { kind: 'silent' }
  /** The batch has enough, or what the row needs could not be had. */
  | { kind: 'later' }
  /** `part` of its recipients, who they are. */
  | { kind: 'tell'; due: DueEvent; dueAt: number; part: Part; addressees: Addressee[] }

/** What one batch needs, read before any of it is planned. */
export interface Preparation {
  /** Nothing is answered where everything was known already. */
  prepare(rows: readonly Row[]): Promise<void> | void
  brief(row: Row): Brief
  /** Null where it could not even be loaded. */
  context(event: StoredEvent): PlanContext | null
  /** Rows to be set back alone, with what was wrong, once the batch is written. */
  deferrals(): readonly { row: Row; error: string }[]
}

/**
 * Prepares one batch: its contexts, what was cancelled, what the host's hook says, the lists and the people. Each
 * question is asked once for the whole batch, and only where there is something to ask.
 */
export function createPreparation(deps: PrepareDeps): Preparation {
  const contexts = new Map<string, PlanContext>()
  const briefs = new Map<string, Brief>()
  const deferred: { row: Row; error: string }[] = []

  /** Good for the whole batch, however long reading takes: otherwise the first could be too old before the last is read. */
  function loadContexts(rows: readonly Row[]): Promise<void> | void {
    const missing = new Map<string, StoredEvent>()
    for (const { event } of rows) {
      const key = contextKey(event)
      if (contexts.has(key) || missing.has(key)) continue
      const context = deps.contexts.peek(event.tenantId, event.type)
      if (context) contexts.set(key, context)
      else missing.set(key, event)
    }
    if (missing.size === 0) return undefined
    const loads = [...missing].map(async ([key, { tenantId, type }]) => {
      contexts.set(key, await deps.contexts.load(tenantId, type))
    })
    return Promise.all(loads).then(() => {})
  }

  function judge(row: Row): Draft {
    const context = contexts.get(contextKey(row.event))
    if (!context) return { row, judgement: { kind: 'later' } }
    const judging = { sealing: deps.sealing, now: deps.clock.now() }
    const { event, schedule } = row
    const judgement = schedule
      ? judgeSchedule(judging, { event, schedule }, context)
      : judgeEvent(judging, event, context)
    return { row, judgement }
  }

  /** An event that a later one has cancelled is not told, however late it is planned. */
  function lookForCancellations(drafts: readonly Draft[]): Promise<void> | void {
    const asked = drafts.filter(({ row, judgement: { kind } }) => {
      const type = contexts.get(contextKey(row.event))?.eventType
      return (kind === 'ready' || kind === 'wait') && type && type.cancelledBy.length > 0
    })
    if (asked.length === 0) return undefined
    const requests = asked.map(({ row: { event } }) => {
      const { tenantId, entity, type: eventType } = event
      return { tenantId, entity, eventType }
    })
    return deps.store.plan.cancelledAt(requests).then((times) => {
      for (const [i, draft] of asked.entries()) {
        const at = times[i] ?? null
        if (at === null || eventTime(draft.row.event) >= at) continue
        const { entity } = draft.row.event
        const error = `${entity.type} ${entity.id} was cancelled by an event of ${new Date(at).toISOString()}`
        draft.judgement = { kind: 'cancelled', reason: 'cancelled_by_event', error }
      }
    })
  }

  function askHost(drafts: readonly Draft[]): Promise<void> | void {
    const asked = readyOnes(drafts)
    const asking = askHook(
      deps,
      asked.map(({ draft }) => draft.row.event),
    )
    return asking?.then((answers) => {
      for (const [i, { draft, ready }] of asked.entries()) draft.judgement = heard(draft.row, ready, answers[i])
    })
  }

  function heard(row: Row, ready: Ready, answer: HostAnswer): Draft['judgement'] {
    if (answer === undefined) return ready
    if ('failed' in answer) deferred.push({ row, error: answer.failed })
    if ('failed' in answer || 'unasked' in answer) return { kind: 'later' }
    if ('cancel' in answer)
      return {
        kind: 'cancelled',
        reason: 'cancelled_by_host',
        error: answer.cancel || 'the application gave no reason',
      }
    return { ...ready, due: withAnswer(ready.due, answer) }
  }

  /** Takes as many as make one batch, in their order; the first always, or it would wait for ever. */
  function takeParts(drafts: readonly Draft[]): Promise<void> | void {
    const loads: Promise<void>[] = []
    let room = BATCH_NOTIFICATIONS
    let isFirst = true
    for (const { draft, ready } of readyOnes(drafts)) {
      const { row } = draft
      const { due, dueAt } = ready
      const limit = partLimit(due)
      const { size, hasExpandedList } = due.audience
      // Too many for one go: a schedule remembers how far it has come.
      if (!row.schedule && (size > limit || hasExpandedList)) {
        draft.judgement = { kind: 'wait', dueAt, needsApproval: false }
        continue
      }
      const from = positionOf(row.schedule?.progress ?? null)
      const most = hasExpandedList ? limit : Math.min(limit, Math.max(0, size - from.place))
      const cost = most * channelCount(due)
      if (cost > room && !isFirst) {
        draft.judgement = { kind: 'later' }
        continue
      }
      isFirst = false
      room -= cost
      const part = takePart(due, from, limit, deps.store.lists)
      if (part instanceof Promise) loads.push(part.then((taken) => keep(draft, taken)))
      else keep(draft, part)
    }
    return loads.length > 0 ? Promise.all(loads).then(() => {}) : undefined
  }

  function introduce(drafts: readonly Draft[]): Promise<void> | void {
    const telling = readyOnes(drafts).flatMap(({ draft: { row, part }, ready }) => (part ? [{ row, ready, part }] : []))
    const strangers = telling.flatMap(({ row, ready, part }) => {
      const conversation = conversationOf(ready.due)
      return part.recipients.map((recipient) => ({ tenantId: row.event.tenantId, recipient, conversation }))
    })
    const settle = (addressees: readonly Addressee[]): void => {
      let from = 0
      for (const { row, ready, part } of telling) {
        const { due, dueAt } = ready
        const own = addressees.slice(from, from + part.recipients.length)
        from += part.recipients.length
        briefs.set(rowKey(row), { kind: 'tell', due, dueAt, part, addressees: own })
      }
    }
    const recognised = deps.people.recognise(strangers)
    return recognised instanceof Promise ? recognised.then(settle) : settle(recognised)
  }

  return {
    prepare(rows) {
      let drafts: Draft[] = []
      return inTurn([
        () => loadContexts(rows),
        () => {
          drafts = rows.map(judge)
        },
        () => lookForCancellations(drafts),
        () => askHost(drafts),
        () => takeParts(drafts),
        () => introduce(drafts),
        () => {
          for (const { row, judgement } of drafts) if (judgement.kind !== 'ready') briefs.set(rowKey(row), judgement)
        },
      ])
    },
    brief: (row) => briefs.get(rowKey(row)) ?? { kind: 'later' },
    context: (event) => contexts.get(contextKey(event)) ?? null,
    deferrals: () => deferred,
  }
}

interface Draft {
  row: Row
  judgement: Judgement | { kind: 'later' }
  part?: Part
}

function keep(draft: Draft, part: Part): void {
  draft.part = part
}

type HostAnswer = Awaited<NonNullable<ReturnType<typeof askHook>>>[number]

function readyOnes(drafts: readonly Draft[]): { draft: Draft; ready: Ready }[] {
  return drafts.flatMap((draft) => (draft.judgement.kind === 'ready' ? [{ draft, ready: draft.judgement }] : []))
}

/** One step after the other; synchronous as long as the steps are. */
function inTurn(steps: readonly (() => Promise<void> | void)[]): Promise<void> | void {
  for (const [i, step] of steps.entries()) {
    const waiting = step()
    if (waiting) return waiting.then(() => inTurn(steps.slice(i + 1)))
  }
}

function contextKey({ tenantId, type }: StoredEvent): string {
  return `${tenantId}\n${type}`
}

/** With how far a schedule has come: what was prepared for one part is not right for the next. */
function rowKey({ event, schedule }: Row): string {
  return schedule ? `${schedule.id}\n${schedule.progress?.cursor ?? ''}` : `${event.tenantId}\n${event.id}`
}

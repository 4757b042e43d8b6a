import { POISONED } from '../model/crash.ts'
import type { StoredEvent } from '../model/event.ts'
import type { Clock } from '../model/ports.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import type { Allowance } from '../untrusted/allowance.ts'
import { checkPayloads } from '../untrusted/payloads.ts'
import { REFUSED, type Untrusted } from '../untrusted/untrusted.ts'
import type { Obstacle } from './compose.ts'
import type { ContextBook, PlanContext } from './context-book.ts'
import { conversationOf, type DueEvent, eventTime, failedEvent, openEvent, withAnswer } from './due-event.ts'
import { type Judgement, judgeEvent, judgeSchedule, openNewEvent, type ReadyEvent } from './judge.ts'
import { BATCH_NOTIFICATIONS, channelCount, partLimit, positionOf, type RecipientPart, takePart } from './part.ts'
import type { PeopleBook } from './people.ts'
import type { StandingNotification } from './plan-store.ts'
import { askHook, type Resolved, type ResolveHook } from './resolve-hook.ts'
import type { Bans } from './routes.ts'
import { bansOn, type SuppressionCheck } from './suppressed.ts'

export interface PrepareDeps {
  store: Pick<Store, 'plan' | 'lists'>
  contexts: ContextBook
  people: PeopleBook
  suppressions: SuppressionCheck
  sealing: Pick<PayloadSeal, 'openPayload'>
  resolve: ResolveHook | null
  untrusted: Untrusted
  /** Whose turn it is to have payloads checked; absent: the tenant's own, who is the only one then. */
  turn?: string
  allowance?: Allowance | null
  clock: Clock
}

/** A row of a batch: an event that is new, or one whose schedule is due. */
export interface DueRow {
  event: StoredEvent
  schedule: StoredSchedule | null
  /** See `afterCrash`. */
  crashes?: number
}

/** A row with all that its plan needs. */
export interface PreparedRow extends DueRow {
  context: PlanContext
  judgement:
    | Judgement
    /** Left as it is: the batch has enough, or what the row needs could not be had. */
    | { kind: 'later' }
    /** Due, with the next part of its recipients, each with the contact they were recognised as. */
    | {
        kind: 'tell'
        due: DueEvent
        dueAt: number
        part: RecipientPart
        /** Of these recipients, where they were planned before. */
        standing: readonly StandingNotification[]
        /** Of the addresses that these recipients have. */
        bans: Bans
        /** Why nobody is to be told: the host says so. */
        calledOff: Obstacle | null
      }
  /** What was wrong, where the row has to be set back alone once the batch is written. */
  setBack: string | null
}

/**
 * Reads all that the plans of one batch need: contexts, what was cancelled, what the host's hook says, the lists and the
 * contacts. Each question is asked once for the whole batch, and only where there is something to ask.
 */
export async function prepare(deps: PrepareDeps, rows: readonly DueRow[]): Promise<PreparedRow[]> {
  const prepared = await judge(deps, rows)
  await lookForCancellations(deps, prepared)
  await askHost(deps, prepared)
  await takeParts(deps, prepared)
  await recogniseRecipients(deps, prepared)
  await lookForStanding(deps, prepared)
  await lookForSuppressed(deps, prepared)
  return prepared
}

/** Each context is read once for the whole batch, however long reading takes, and all payloads are checked at once. */
async function judge(
  { contexts, sealing, clock, untrusted, turn, allowance = null }: PrepareDeps,
  rows: readonly DueRow[],
): Promise<PreparedRow[]> {
  const read = new Map<string, Promise<PlanContext>>()
  const contextOf = ({ tenantId, type }: StoredEvent): Promise<PlanContext> => {
    const key = `${tenantId}\n${type}`
    const context = read.get(key) ?? contexts.get(tenantId, type)
    read.set(key, context)
    return context
  }
  const found = await Promise.all(rows.map(({ event }) => contextOf(event)))
  const opened = rows.flatMap((row, i) => {
    const context = found[i]
    if (!context) return []
    const open = row.schedule ? openEvent : openNewEvent
    const isPoisoned = (row.crashes ?? 0) >= POISONED
    return [{ row, context, result: isPoisoned ? POISONED_EVENT : open(sealing, row.event, context) }]
  })
  // A schedule's event was checked when it was new.
  const unchecked = opened.flatMap(({ row, result }) => ('kind' in result || row.schedule ? [] : [result]))
  const answers = await checkPayloads(untrusted, unchecked, turn ?? unchecked[0]?.tenantId ?? '', allowance)
  const verdicts = new Map(unchecked.map((due, i) => [due, answers[i]]))
  const now = clock.now()
  return opened.map(({ row: { event, schedule }, context, result }) => {
    if ('kind' in result) return { event, schedule, context, judgement: result, setBack: null }
    const row = { event, schedule, context, setBack: null }
    if (schedule) return { ...row, judgement: judgeSchedule(now, result, schedule) }
    const verdict = verdicts.get(result)
    if (verdict && 'faults' in verdict) return { ...row, judgement: judgeEvent(now, result, verdict.faults) }
    // Nobody has looked at it: it is not to blame, and waits, for a minute where that is how long it is not tried.
    const setBack = verdict?.unjudged === 'refused' ? `its payload cannot be checked: ${REFUSED.stopped}` : null
    return { ...row, judgement: { kind: 'later' }, setBack }
  })
}

const POISONED_EVENT = failedEvent(
  'poisoned',
  'planning it, and nothing else, has ended the process twice; replay it once what is wrong with it is mended',
)

/** An event that a later one has cancelled is not told, however late it is planned. */
async function lookForCancellations({ store }: PrepareDeps, rows: readonly PreparedRow[]): Promise<void> {
  const asked = rows.filter(
    ({ judgement: { kind }, context: { eventType } }) =>
      (kind === 'ready' || kind === 'wait') && eventType && eventType.cancelledBy.length > 0,
  )
  if (asked.length === 0) return
  const times = await store.plan.cancelledAt(
    asked.map(({ event: { tenantId, entity, type: eventType } }) => ({ tenantId, entity, eventType })),
  )
  for (const [i, row] of asked.entries()) {
    const at = times[i] ?? null
    if (at === null || eventTime(row.event) >= at) continue
    const { entity } = row.event
    const error = `${entity.type} ${entity.id} was cancelled by an event of ${new Date(at).toISOString()}`
    row.judgement = { kind: 'cancelled', reason: 'cancelled_by_event', error }
  }
}

async function askHost(deps: PrepareDeps, rows: readonly PreparedRow[]): Promise<void> {
  const asked = readyRows(rows)
  const answers = await askHook(
    deps,
    asked.map(({ row }) => row.event),
  )
  for (const [i, { row, ready }] of asked.entries()) applyAnswer(row, ready, answers[i])
}

function applyAnswer(row: PreparedRow, ready: ReadyEvent, answer: Resolved | undefined): void {
  if (answer === undefined) return
  if ('failed' in answer) row.setBack = answer.failed
  if ('failed' in answer || 'unasked' in answer) row.judgement = { kind: 'later' }
  else if ('cancel' in answer) {
    const error = answer.cancel || 'the application gave no reason'
    row.judgement = { ...ready, calledOff: { reason: 'cancelled_by_host', error } }
  } else row.judgement = { ...ready, due: withAnswer(ready.due, answer) }
}

/** Takes as many recipients as make one batch, in the order of the rows; of the first row always, or it would never end. */
async function takeParts({ store }: PrepareDeps, rows: readonly PreparedRow[]): Promise<void> {
  let room = BATCH_NOTIFICATIONS
  let isFirst = true
  for (const { row, ready } of readyRows(rows)) {
    const { due, dueAt, calledOff = null } = ready
    const unknown = { standing: [], bans: new Map(), calledOff }
    const limit = partLimit(due)
    const { size, hasExpandedList } = due.audience
    // Too many for one go: a schedule remembers how far it has come.
    if (!row.schedule && (size > limit || hasExpandedList)) {
      row.judgement = { kind: 'wait', dueAt, needsApproval: false }
      continue
    }
    const from = positionOf(row.schedule?.progress ?? null)
    const most = hasExpandedList ? limit : Math.min(limit, Math.max(0, size - from.place))
    const cost = most * channelCount(due)
    if (cost > room && !isFirst) {
      row.judgement = { kind: 'later' }
      continue
    }
    isFirst = false
    room -= cost
    row.judgement = { kind: 'tell', due, dueAt, part: await takePart(due, from, limit, store.lists), ...unknown }
  }
}

async function recogniseRecipients({ people }: PrepareDeps, rows: readonly PreparedRow[]): Promise<void> {
  // Whoever is told nothing is not made anybody's contact by it.
  const telling = rows.flatMap(({ judgement }) =>
    judgement.kind === 'tell' && !judgement.calledOff ? [judgement] : [],
  )
  const groups = telling.map(({ due, part: { recipients } }) => {
    return { tenantId: due.tenantId, conversation: conversationOf(due), recipients }
  })
  const recognised = await people.recognise(groups)
  for (const [i, { part }] of telling.entries()) part.recipients = recognised[i] ?? []
}

/** Whoever is suppressed is asked for once, for the whole batch; dispatch asks again for what was suppressed since. */
async function lookForSuppressed({ suppressions }: PrepareDeps, rows: readonly PreparedRow[]): Promise<void> {
  await Promise.all(
    rows.map(async ({ judgement }) => {
      if (judgement.kind !== 'tell' || judgement.calledOff) return
      const { due, part } = judgement
      judgement.bans = await bansOn(suppressions, due, part.recipients)
    }),
  )
}

async function lookForStanding({ store }: PrepareDeps, rows: readonly PreparedRow[]): Promise<void> {
  const asked = rows.flatMap(({ schedule, judgement }) =>
    schedule?.isReplayed && judgement.kind === 'tell' ? [judgement] : [],
  )
  const found = await store.plan.standing(
    asked.map(({ due: { event }, part: { recipients, stopped } }) => {
      const places = [...recipients, ...stopped.map(({ recipient }) => recipient)].flatMap(({ place }) => place ?? [])
      return { tenantId: event.tenantId, eventId: event.id, entity: event.entity, places }
    }),
  )
  for (const [i, judgement] of asked.entries()) judgement.standing = found[i] ?? []
}

function readyRows(rows: readonly PreparedRow[]): { row: PreparedRow; ready: ReadyEvent }[] {
  return rows.flatMap((row) => (row.judgement.kind === 'ready' ? [{ row, ready: row.judgement }] : []))
}

import type { Entity, EventRecipient, StoredEvent } from '../model/event.ts'
import type { Clock } from '../model/ports.ts'

/**
 * Asked when an event is due, in embedded use: the application may say who is to be told, add to what the words are made
 * from, or call it off. It may be asked more than once about one event (another channel, a part of many recipients), and
 * must then name the same recipients in the same order. Thrown errors and late answers set the event back, to be asked
 * again in a minute.
 */
export type ResolveHook = (
  event: ResolveEvent,
  options: { signal: AbortSignal },
) => Promise<ResolveAnswer | undefined> | ResolveAnswer | undefined

/** The event as it was published; sealed fields stay sealed. */
export interface ResolveEvent {
  tenantId: string
  id: string
  type: string
  entity: Entity
  payload: Record<string, unknown>
  occurredAt: number | null
  correlationId: string | null
  locale: string | null
  recipients: EventRecipient[] | null
}

export type ResolveAnswer =
  | {
      /** In place of those in the event and its payload. */
      recipients?: EventRecipient[]
      /** Laid over the payload. */
      context?: Record<string, unknown>
    }
  /** Not to be sent: why. */
  | { cancel: string }

/** What asking came to; `unasked`: the time for this batch was up. */
export type Resolved = ResolveAnswer | { failed: string } | { unasked: true }

export interface HookDeps {
  resolve: ResolveHook | null
  clock: Clock
}

const DEADLINE_MS = 10_000
const AT_ONCE = 8

/**
 * Asks the hook about each event, a few at once, within one deadline for all of them. Answers in the given order and
 * never rejects. Nothing is answered where there is no hook to ask.
 */
export async function askHook(
  { resolve, clock }: HookDeps,
  events: readonly StoredEvent[],
): Promise<(Resolved | undefined)[]> {
  if (!resolve || events.length === 0) return []
  const over = new AbortController()
  const ended = new AbortController()
  void clock.sleep(DEADLINE_MS, ended.signal).then(() => over.abort())
  const late = new Promise<Resolved>((answer) =>
    over.signal.addEventListener(
      'abort',
      () => answer({ failed: `the resolve hook did not answer within ${DEADLINE_MS / 1_000} s` }),
      { once: true },
    ),
  )
  const answers: (Resolved | undefined)[] = events.map(() => ({ unasked: true }))
  let next = 0
  const ask = async (): Promise<void> => {
    while (next < events.length && !over.signal.aborted) {
      const index = next++
      const event = events[index]
      if (event) answers[index] = await Promise.race([askOne(resolve, event, over.signal), late])
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, events.length) }, ask))
  ended.abort()
  return answers
}

async function askOne(resolve: ResolveHook, event: StoredEvent, signal: AbortSignal): Promise<Resolved | undefined> {
  const { tenantId, id, type, entity, payload, occurredAt, correlationId, locale, recipients } = event
  try {
    const asked = { tenantId, id, type, entity, payload, occurredAt, correlationId, locale, recipients }
    return checked(await resolve(asked, { signal }))
  } catch (error) {
    return { failed: `the resolve hook failed: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** The hook is the application's code: what it answers is looked at like any other input. */
function checked(answer: unknown): Resolved | undefined {
  if (answer === undefined || answer === null) return undefined
  if (!isRecord(answer)) return { failed: 'the resolve hook answered something that is not an object' }
  const { cancel, recipients, context } = answer
  if (cancel !== undefined)
    return typeof cancel === 'string' ? { cancel } : { failed: 'the resolve hook’s cancel is not text' }
  if (recipients !== undefined && !(Array.isArray(recipients) && recipients.every(isRecord)))
    return { failed: 'the resolve hook’s recipients are not a list of objects' }
  if (context !== undefined && !isRecord(context)) return { failed: 'the resolve hook’s context is not an object' }
  return { ...(recipients && { recipients }), ...(context && { context }) }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

import type { NotificationView } from '../model/notification.ts'
import { isReason, REASONS, type Reason } from '../model/reason.ts'
import type { EventAct } from '../plan/event-store.ts'

/** What was done, in words. Why somebody did it, in their own, stays in the audit: people may be named there. */
interface ActLine {
  at: number
  code: string
  text: string
}

/** How an event or a schedule came to where it stands: failures that are over, replays, and what completed it by hand. */
export function actsOn(acts: readonly EventAct[], { subject, status }: { subject: string; status: string }): ActLine[] {
  const own = acts.filter((act) => act.subject === subject)
  // How it failed last is said by itself, where it still stands there.
  const present = status === 'failed' ? own.findLast(({ action }) => action === 'fail') : undefined
  return own.flatMap((act): ActLine[] => {
    const { at, actor, action, to, reason } = act
    if (action === 'replay') return [{ at, code: 'replayed', text: `Replayed by ${actor}.` }]
    if (action === 'fail' && act !== present) {
      const code = subject.startsWith('event:') ? 'event_failed' : 'schedule_failed'
      return [{ at, code, text: `It failed. ${wordsOf(reason)}` }]
    }
    if (to !== 'completed') return []
    return [{ at, code: 'completed_by_hand', text: `Completed: ${actor} had one of its notifications sent.` }]
  })
}

/** When an event or a schedule last failed; null where nothing is known of it. */
export function failedAt(acts: readonly EventAct[], subject: string): number | null {
  return acts.findLast((act) => act.subject === subject && act.action === 'fail')?.at ?? null
}

/** What people did to a notification, or a replay; and for what it had been skipped, where it no longer says so. */
export function actsOnNotification(
  acts: readonly EventAct[],
  { id, createdAt, lastError }: Pick<NotificationView, 'id' | 'createdAt' | 'lastError'>,
  who: string,
): ActLine[] {
  const own = acts.filter((act) => act.notificationId === id)
  const [first] = own
  const lines: ActLine[] = []
  if (first?.from === 'skipped') {
    const reason = skippedFor(first)
    const words = reason === null ? (lastError ?? '') : REASONS[reason]
    lines.push({
      at: createdAt,
      code: reason ?? 'skipped',
      text: `skipped at first, not sent to ${who}. ${words}`.trim(),
    })
  }
  return [...lines, ...own.map((act) => ({ at: act.at, ...doneWords(act) }))]
}

/** Why it was skipped until then: what the act keeps of it. */
function skippedFor({ reason }: EventAct): Reason | null {
  const [before = ''] = (reason ?? '').split(' → ')
  if (before === 'suppression_overridden') return 'suppressed'
  const isOwn = before === 'discarded_by_operator' || before === 'corrected_by_operator'
  return isOwn || !isReason(before) ? null : (before as Reason)
}

const VERBS: Readonly<Record<string, { code: string; verb: string }>> = {
  retry: { code: 'retried', verb: 'retried' },
  discard: { code: 'discarded', verb: 'given up' },
  cancel: { code: 'cancelled', verb: 'cancelled' },
  park: { code: 'parked', verb: 'set aside' },
  restore: { code: 'restored', verb: 'taken back' },
}

function doneWords({ action, actor, to, reason }: EventAct): { code: string; text: string } {
  const { code, verb } = VERBS[action] ?? { code: action, verb: action }
  if (reason === 'corrected_by_operator') return { code: 'corrected', text: `its address was corrected by ${actor}.` }
  if (to === 'skipped') {
    const now = reason?.split(' → ')[1] ?? null
    return { code, text: `retried by ${actor}, and skipped all the same. ${wordsOf(now)}` }
  }
  if (actor === 'system') return { code, text: 'can be sent now: put into the queue by the replay of its schedule.' }
  return {
    code,
    text: `${verb} by ${actor}${reason === 'suppression_overridden' ? ', though the address is suppressed' : ''}.`,
  }
}

function wordsOf(reason: string | null): string {
  return reason !== null && Object.hasOwn(REASONS, reason) ? REASONS[reason as Reason] : 'Nobody said why.'
}

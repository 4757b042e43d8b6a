import type { Schedule, ScheduleStatus } from '@pillarbox/client'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'

const LOOKS: Record<ScheduleStatus, Look & { word: string }> = {
  awaiting_approval: {
    word: 'awaits approval',
    tone: 'warn',
    shape: SHAPES.hand,
    means: 'Nothing is made of it until somebody approves it.',
  },
  pending: {
    word: 'pending',
    tone: 'calm',
    shape: SHAPES.clock,
    means: 'It is turned into notifications when it is due.',
  },
  completed: { word: 'completed', tone: 'good', shape: SHAPES.tick, means: 'Its notifications were made.' },
  failed: { word: 'failed', tone: 'bad', shape: SHAPES.cross, means: 'Nothing could be made of it.' },
  cancelled: { word: 'cancelled', tone: 'calm', shape: SHAPES.dash, means: 'Nothing is made of it.' },
}

export const SCHEDULE_STATUSES = Object.keys(LOOKS) as ScheduleStatus[]

export function scheduleWord(status: ScheduleStatus): string {
  return LOOKS[status].word
}

export function scheduleMeaning(status: ScheduleStatus): string {
  return LOOKS[status].means
}

export function ScheduleState({ status, isNarrow = false }: { status: ScheduleStatus; isNarrow?: boolean }) {
  return <Mark look={LOOKS[status]} word={LOOKS[status].word} isNarrow={isNarrow} />
}

/** What has come due is taken up within this time. */
const SOON_MS = 60_000

/** Due, and still waiting for something. */
export function isOverdue({ status, dueAt }: Schedule, now: number): boolean {
  const lateMs = now - Date.parse(dueAt)
  return (status === 'pending' && lateMs > SOON_MS) || (status === 'awaiting_approval' && lateMs > 0)
}

/** Why it stands where it stands, where there is something to say. */
export function whyOf(schedule: Schedule, now: number): string | null {
  const { status, progress, lastError, attemptCount, approvedBy } = schedule
  if (status === 'failed') return lastError
  if (isOverdue(schedule, now)) {
    if (status === 'awaiting_approval') return 'its time has come, and nobody has approved it'
    if (progress)
      return `being planned: ${progress.planned.toLocaleString('en')} of ${progress.total.toLocaleString('en')}`
    return lastError ?? 'due, and nobody plans it: is a worker running?'
  }
  if (status === 'pending' && attemptCount > 0) return lastError
  return approvedBy === null ? null : `approved by ${approvedBy}`
}

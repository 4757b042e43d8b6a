import type { NotificationStatus } from '@pillarbox/client'
import { type Look, Mark, SHAPES } from './mark.tsx'

/** How the states of a notification look, the same on every screen. */
const LOOKS: Record<NotificationStatus, Look> = {
  queued: { tone: 'calm', shape: SHAPES.ring, means: 'Waits to be sent.' },
  sending: {
    tone: 'busy',
    shape: SHAPES.half,
    means: 'A worker has it and is calling the provider.',
  },
  retrying: {
    tone: 'warn',
    shape: <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3" />,
    means: 'A try failed; the next one has its time.',
  },
  sent: { tone: 'busy', shape: SHAPES.tick, means: 'The provider has taken it.' },
  delivered: {
    tone: 'good',
    shape: <path d="M1 8.6l3 3L10.5 4.2M7.5 11l.8.6L15 4.2" />,
    means: 'The provider says that it arrived.',
  },
  read: {
    tone: 'good',
    shape: (
      <>
        <path d="M1 8s2.6-4.5 7-4.5S15 8 15 8s-2.6 4.5-7 4.5S1 8 1 8z" />
        <circle cx="8" cy="8" r="1.8" fill="currentColor" />
      </>
    ),
    means: 'The recipient has opened it.',
  },
  parked: {
    tone: 'bad',
    shape: SHAPES.pause,
    means: 'Set aside. It needs somebody to decide.',
  },
  uncertain: {
    tone: 'warn',
    shape: (
      <>
        <path d="M8 1.4L14.6 8 8 14.6 1.4 8z" />
        <path d="M6.6 6.6a1.5 1.5 0 1 1 2 1.5c-.5.2-.6.5-.6 1M8 11h.01" />
      </>
    ),
    means: 'It was handed over, and nobody knows what became of it.',
  },
  failed: {
    tone: 'bad',
    shape: SHAPES.cross,
    means: 'It will not be sent.',
  },
  discarded: {
    tone: 'calm',
    shape: (
      <>
        {SHAPES.ring}
        <path d="M4.2 11.8l7.6-7.6" />
      </>
    ),
    means: 'Given up by an operator. It can be restored.',
  },
  cancelled: {
    tone: 'calm',
    shape: SHAPES.dash,
    means: 'Taken back before it was sent.',
  },
  skipped: {
    tone: 'calm',
    shape: <path d="M3 3.5l6 4.5-6 4.5zM12.5 3.5v9" />,
    means: 'Never to be sent, for the reason it names.',
  },
}

export const STATUSES = Object.keys(LOOKS) as NotificationStatus[]

export function isStatus(text: string | undefined): text is NotificationStatus {
  return text !== undefined && text in LOOKS
}

export function meaningOf(status: NotificationStatus): string {
  return LOOKS[status].means
}

export function State({ status }: { status: string }) {
  if (!isStatus(status)) return <span className="state">{status}</span>
  return <Mark look={LOOKS[status]} word={status} />
}

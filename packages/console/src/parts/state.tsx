import type { NotificationStatus } from '@pillarbox/client'
import type { ReactNode } from 'react'

/** How a state looks: a shape, a word and a colour, each of which says it alone. The same on every screen. */
interface Look {
  tone: 'good' | 'busy' | 'warn' | 'bad' | 'calm'
  shape: ReactNode
  means: string
}

const ring = <circle cx="8" cy="8" r="5.6" />
const tick = <path d="M2.5 8.6l3 3L13 4.2" />

const LOOKS: Record<NotificationStatus, Look> = {
  queued: { tone: 'calm', shape: ring, means: 'Waits to be sent.' },
  sending: {
    tone: 'busy',
    shape: (
      <>
        {ring}
        <path d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor" />
      </>
    ),
    means: 'A worker has it and is calling the provider.',
  },
  retrying: {
    tone: 'warn',
    shape: <path d="M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3" />,
    means: 'A try failed; the next one has its time.',
  },
  sent: { tone: 'busy', shape: tick, means: 'The provider has taken it.' },
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
    shape: (
      <>
        <rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.5" />
        <path d="M6.2 5.4v5.2M9.8 5.4v5.2" />
      </>
    ),
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
    shape: (
      <>
        <path d="M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2z" />
        <path d="M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4" />
      </>
    ),
    means: 'It will not be sent.',
  },
  discarded: {
    tone: 'calm',
    shape: (
      <>
        {ring}
        <path d="M4.2 11.8l7.6-7.6" />
      </>
    ),
    means: 'Given up by an operator. It can be restored.',
  },
  cancelled: {
    tone: 'calm',
    shape: (
      <>
        {ring}
        <path d="M5 8h6" />
      </>
    ),
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

function Shape({ status }: { status: NotificationStatus }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {LOOKS[status].shape}
    </svg>
  )
}

const TONES = {
  good: { color: 'var(--pbx-good)' },
  busy: { color: 'var(--pbx-busy)' },
  warn: { color: 'var(--pbx-warn)' },
  bad: { color: 'var(--pbx-bad)' },
  calm: { color: 'var(--pbx-calm)' },
} as const

export function State({ status }: { status: string }) {
  if (!isStatus(status)) return <span className="state">{status}</span>
  return (
    <span className="state" style={TONES[LOOKS[status].tone]} title={LOOKS[status].means}>
      <Shape status={status} />
      {status}
    </span>
  )
}

import type { NotificationStatus, Operation } from '@pillarbox/client'

/** What may be done to a notification by hand, from which states, and what it says before it is done. */
export interface Act {
  name: Operation['action']
  word: string
  from: readonly NotificationStatus[]
  /** Of one, and of many. */
  says: string
  saysOfMany: string
  /** Somebody gets a message by it. */
  isSending?: boolean
  /** In the words that templates have today. */
  rerender?: boolean
}

const STOPPED = ['parked', 'uncertain', 'skipped'] as const
const WAITING = ['queued', 'retrying'] as const

const RETRY: Act = {
  name: 'retry',
  word: 'Retry',
  from: STOPPED,
  says: 'It is sent again: the same message to the same address, under the same idempotency key.',
  saysOfMany: 'They are sent again: the same messages to the same addresses, under the same idempotency keys.',
  isSending: true,
}

const OTHERS: Act[] = [
  {
    name: 'discard',
    word: 'Discard',
    from: STOPPED,
    says: 'It is given up, and can be restored later.',
    saysOfMany: 'They are given up, and can be restored later.',
  },
  {
    name: 'park',
    word: 'Park',
    from: WAITING,
    says: 'It is set aside until somebody retries or discards it.',
    saysOfMany: 'They are set aside until somebody retries or discards them.',
  },
  {
    name: 'cancel',
    word: 'Cancel',
    from: WAITING,
    says: 'It is never sent. This cannot be taken back.',
    saysOfMany: 'They are never sent. Once it has begun, this cannot be taken back.',
  },
  {
    name: 'restore',
    word: 'Restore',
    from: ['discarded'],
    says: 'It stands again where it stood before it was discarded.',
    saysOfMany: 'They stand again where they stood before they were discarded.',
  },
]

/** What is done to one. */
export const ACTS: readonly Act[] = [RETRY, ...OTHERS]

/** What is done to many at once. */
export const BULK_ACTS: readonly Act[] = [
  RETRY,
  {
    ...RETRY,
    word: 'Retry with today’s words',
    saysOfMany: 'They are sent again, in the words that their events would be told in now.',
    rerender: true,
  },
  {
    name: 'resend',
    word: 'Resend',
    from: ['sent', 'delivered', 'read', 'failed'],
    says: '',
    saysOfMany:
      'Each recipient is told once more what they were told before, as a new notification in today’s words. They get another message.',
    isSending: true,
  },
  ...OTHERS,
]

import type { Account } from '@pillarbox/client'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'

const STATUSES: Record<Account['status'], Look> = {
  active: { tone: 'good', shape: SHAPES.tick, means: 'It sends.' },
  suspended: { tone: 'calm', shape: SHAPES.dash, means: 'Somebody stopped it: nothing is sent through it.' },
  paused: {
    tone: 'bad',
    shape: SHAPES.pause,
    means: 'The vendor refused its credentials: what goes through it waits.',
  },
}

export const ACCOUNT_STATUSES = Object.keys(STATUSES) as Account['status'][]

export function AccountState({ account: { status } }: { account: Account }) {
  return <Mark look={STATUSES[status]} word={status} />
}

const BREAKERS: Record<Account['lane']['breaker'], Look & { word: string }> = {
  closed: { word: 'closed', tone: 'calm', shape: SHAPES.ring, means: 'Calls go through.' },
  open: {
    word: 'open',
    tone: 'bad',
    shape: SHAPES.cross,
    means: 'It failed in a row: nothing is sent until the hold ends.',
  },
  half_open: { word: 'trying', tone: 'warn', shape: SHAPES.half, means: 'One call tries whether it works again.' },
}

export function BreakerState({ account: { lane } }: { account: Account }) {
  const { word, ...look } = BREAKERS[lane.breaker]
  return <Mark look={look} word={word} />
}

export function paceWords({ pace }: Pick<Account, 'pace'>): string {
  if (pace === null) return 'no limit'
  if (pace.tier !== undefined) return `tier ${pace.tier}`
  return `${pace.perSecond} per second${pace.burst === undefined ? '' : `, ${pace.burst} at once`}`
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EVENT_STATUSES, NEXT_EVENT_STATUSES, NEXT_SCHEDULE_STATUSES, SCHEDULE_STATUSES } from './event.ts'

const EVENT_ARROWS: readonly string[] = ['pending > published', 'pending > failed', 'failed > pending']

const SCHEDULE_ARROWS: readonly string[] = [
  'awaiting_approval > pending',
  'awaiting_approval > cancelled',
  'pending > completed',
  'pending > failed',
  'pending > cancelled',
  'failed > pending',
  'failed > completed',
]

describe('the states of an event', () => {
  for (const from of EVENT_STATUSES)
    for (const to of EVENT_STATUSES) {
      const allowed = EVENT_ARROWS.includes(`${from} > ${to}`)
      it(`${allowed ? 'leads' : 'never leads'} from ${from} to ${to}`, () => {
        assert.equal((NEXT_EVENT_STATUSES[from] as readonly string[]).includes(to), allowed)
      })
    }

  it('reaches every status from pending', () => {
    assert.deepEqual(reachable(NEXT_EVENT_STATUSES, 'pending'), new Set(EVENT_STATUSES))
  })
})

describe('the states of a schedule', () => {
  for (const from of SCHEDULE_STATUSES)
    for (const to of SCHEDULE_STATUSES) {
      const allowed = SCHEDULE_ARROWS.includes(`${from} > ${to}`)
      it(`${allowed ? 'leads' : 'never leads'} from ${from} to ${to}`, () => {
        assert.equal((NEXT_SCHEDULE_STATUSES[from] as readonly string[]).includes(to), allowed)
      })
    }

  it('reaches every status from awaiting approval', () => {
    assert.deepEqual(reachable(NEXT_SCHEDULE_STATUSES, 'awaiting_approval'), new Set(SCHEDULE_STATUSES))
  })

  it('comes back to awaiting approval from nowhere', () => {
    for (const next of Object.values(NEXT_SCHEDULE_STATUSES))
      assert.ok(!(next as readonly string[]).includes('awaiting_approval'))
  })
})

function reachable<S extends string>(arrows: Record<S, readonly S[]>, start: S): Set<S> {
  const seen = new Set<S>([start])
  for (const status of seen) for (const next of arrows[status]) seen.add(next)
  return seen
}

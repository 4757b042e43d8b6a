import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  ACTIONS,
  type Action,
  canMove,
  isClosed,
  isLive,
  NEXT_STATUSES,
  NOTIFICATION_STATUSES,
  type NotificationStatus,
} from './notification.ts'

/**
 * The drawing above the type, written out again by hand: one line per arrow. The table in the code and this one must
 * be changed together, which is the point.
 */
const ARROWS: readonly string[] = [
  'queued > sending',
  'queued > parked',
  'queued > cancelled',
  'retrying > sending',
  'retrying > parked',
  'retrying > cancelled',
  'sending > sent',
  'sending > retrying',
  'sending > queued',
  'sending > parked',
  'sending > uncertain',
  'sending > failed',
  'sending > cancelled',
  'sent > delivered',
  'sent > read',
  'sent > parked',
  'sent > failed',
  'delivered > read',
  'delivered > parked',
  'delivered > failed',
  'parked > queued',
  'parked > discarded',
  'parked > delivered',
  'parked > read',
  'parked > failed',
  'uncertain > queued',
  'uncertain > discarded',
  'uncertain > parked',
  'uncertain > sent',
  'uncertain > delivered',
  'uncertain > read',
  'uncertain > failed',
  'discarded > parked',
  'skipped > discarded',
  'failed > delivered',
  'failed > read',
  'failed > parked',
  'skipped > queued',
]

describe('the states of a notification', () => {
  for (const from of NOTIFICATION_STATUSES)
    for (const to of NOTIFICATION_STATUSES) {
      const allowed = ARROWS.includes(`${from} > ${to}`)
      it(`${allowed ? 'leads' : 'never leads'} from ${from} to ${to}`, () => {
        assert.equal(canMove(from, to), allowed)
      })
    }

  it('names only arrows between known statuses', () => {
    const total = NOTIFICATION_STATUSES.reduce((sum, from) => sum + NEXT_STATUSES[from].length, 0)

    assert.equal(total, ARROWS.length)
    assert.deepEqual(Object.keys(NEXT_STATUSES).sort(), [...NOTIFICATION_STATUSES].sort())
  })

  it('closes read and cancelled, and nothing else', () => {
    assert.deepEqual(NOTIFICATION_STATUSES.filter(isClosed), ['read', 'cancelled'])
  })

  it('has no exit from a closed status', () => {
    for (const from of NOTIFICATION_STATUSES.filter(isClosed))
      for (const to of NOTIFICATION_STATUSES) assert.equal(canMove(from, to), false, `${from} > ${to}`)
  })

  it('has no arrow from a status to itself', () => {
    for (const status of NOTIFICATION_STATUSES) assert.equal(canMove(status, status), false, status)
  })

  it('reaches every status from queued but skipped, which is where one may begin', () => {
    const reached = reachableFrom('queued')

    assert.deepEqual(
      NOTIFICATION_STATUSES.filter((status) => !reached.has(status)),
      ['skipped'],
    )
  })

  it('lets every status that is not closed come to a closed one', () => {
    for (const status of NOTIFICATION_STATUSES)
      assert.ok([...reachableFrom(status)].some(isClosed), `${status} can never end`)
  })

  it('keeps work for exactly queued, retrying and sending', () => {
    assert.deepEqual(NOTIFICATION_STATUSES.filter(isLive), ['queued', 'sending', 'retrying'])
  })

  it('enters sending only from a waiting status', () => {
    assert.deepEqual(
      NOTIFICATION_STATUSES.filter((from) => canMove(from, 'sending')),
      ['queued', 'retrying'],
    )
  })

  it('walks only along arrows, and stops only where it is closed', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), (choices) => {
        let status: NotificationStatus = 'queued'
        for (let step = 0; step < 50; step++) {
          const next: readonly NotificationStatus[] = NEXT_STATUSES[status]
          if (next.length === 0) {
            assert.ok(isClosed(status))
            return
          }
          const choice: NotificationStatus | undefined = next[(choices.next().value ?? 0) % next.length]
          assert.ok(choice !== undefined)
          assert.ok(ARROWS.includes(`${status} > ${choice}`))
          status = choice
        }
      }),
    )
  })
})

describe('what an operator may do', () => {
  for (const action of Object.keys(ACTIONS) as Action[])
    it(`moves by "${action}" only along arrows of the state machine`, () => {
      for (const from of ACTIONS[action].from) assert.ok(canMove(from, ACTIONS[action].to), `${action} from ${from}`)
    })

  it('touches no closed status and nothing that is being sent', () => {
    const statuses: NotificationStatus[] = Object.values(ACTIONS).flatMap(({ from }) => from)

    for (const status of statuses) assert.ok(!isClosed(status) && status !== 'sending', status)
  })

  it('leaves nothing stopped without a way on: parked and uncertain can be retried and discarded', () => {
    for (const status of ['parked', 'uncertain'] as const) {
      assert.ok(ACTIONS.retry.from.includes(status))
      assert.ok(ACTIONS.discard.from.includes(status))
    }
  })

  it('stops everything that waits: queued and retrying can be cancelled and parked', () => {
    for (const status of ['queued', 'retrying'] as const) {
      assert.ok(ACTIONS.cancel.from.includes(status))
      assert.ok(ACTIONS.park.from.includes(status))
    }
  })
})

function reachableFrom(start: NotificationStatus): Set<NotificationStatus> {
  const seen = new Set<NotificationStatus>([start])
  for (const status of seen) for (const next of NEXT_STATUSES[status]) seen.add(next)
  return seen
}

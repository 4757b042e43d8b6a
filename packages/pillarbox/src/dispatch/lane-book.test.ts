import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { DueLane } from './dispatch-store.ts'
import { createLaneBook } from './lane-book.ts'

const SETTINGS = { slotsPerChannel: 8, claimRows: 100 }

function lane(accountId: string, changes: Partial<DueLane> = {}): DueLane {
  return { accountId, channel: 'sms', breaker: 'closed', ...changes }
}

/** A book in which the named lanes are due. */
function bookWith(...due: string[]) {
  const book = createLaneBook(SETTINGS)
  for (const accountId of due) book.isDue(lane(accountId))
  const ready = (now = 0) => book.ready(now).map(({ accountId }) => accountId)
  return { book, ready }
}

describe('a lane', () => {
  it('is idle until somebody says that it has work', () => {
    const { book, ready } = bookWith()

    assert.deepEqual([book.hasDue(), ready(), book.idleAmong(['a', 'b'])], [false, [], ['a', 'b']])
    book.isDue(lane('a'))

    assert.deepEqual([book.hasDue(), ready(), book.idleAmong(['a', 'b'])], [true, ['a'], ['b']])
  })

  it('is known by what was last said of its breaker', () => {
    const { book } = bookWith('a')

    book.isDue(lane('a', { breaker: 'open' }))

    assert.deepEqual(book.ready(0), [lane('a', { breaker: 'open' })])
  })

  it('stays due after a claim that it filled, and is idle after one that it did not', () => {
    const { book, ready } = bookWith('a', 'b')

    book.wasServed('a', 0, 1)
    book.wasServed('b', 1, 1)

    assert.deepEqual(ready(), ['a'])
  })

  it('is idle when it is said to be drained, and all are when nothing is sure', () => {
    const { book, ready } = bookWith('a', 'b', 'c')

    book.isDrained('a')
    assert.deepEqual(ready(), ['b', 'c'])
    book.forgetDue()

    assert.deepEqual([book.hasDue(), ready()], [false, []])
  })
})

describe('pace', () => {
  it('keeps a lane from being ready until its time, and from then on no longer', () => {
    const { book, ready } = bookWith('a', 'b')

    book.paceUntil('a', 100)

    assert.deepEqual([ready(99), ready(100)], [['b'], ['a', 'b']])
  })

  it('ends when tokens are given back', () => {
    const { book, ready } = bookWith('a')
    book.paceUntil('a', 100)

    book.endPace('a')

    assert.deepEqual([ready(0), book.nextReadyMs(0)], [['a'], Number.POSITIVE_INFINITY])
  })

  it('says how long until the first of the paced lanes is ready', () => {
    const { book } = bookWith('a', 'b')
    book.paceUntil('a', 100)
    book.paceUntil('b', 40)

    assert.deepEqual(
      [book.nextReadyMs(10), book.nextReadyMs(40), book.nextReadyMs(100)],
      [30, 60, Number.POSITIVE_INFINITY],
    )
  })

  it('outlasts being idle', () => {
    const { book, ready } = bookWith('a')
    book.paceUntil('a', 100)

    book.isDrained('a')
    book.isDue(lane('a'))

    assert.deepEqual([ready(99), ready(100)], [[], ['a']])
  })
})

describe('the rows of a paused account that cannot move', () => {
  it('are as many as the fullest claim found, and none once a claim finds none', () => {
    const { book } = bookWith('a')
    assert.equal(book.stuckRows('a'), 0)

    book.foundStuck('a', 5)
    book.foundStuck('a', 3)
    assert.deepEqual([book.stuckRows('a'), book.stuckRows('b')], [5, 0])
    book.foundStuck('a', 0)

    assert.equal(book.stuckRows('a'), 0)
  })
})

describe('the shares', () => {
  it('go first to the lanes served longest ago, and to those never served before them', () => {
    const { book } = bookWith('a', 'b', 'c')
    const narrow = createLaneBook({ slotsPerChannel: 8, claimRows: 1 })
    for (const accountId of ['a', 'b', 'c']) narrow.isDue(lane(accountId))
    narrow.wasServed('a', 0, 5)
    narrow.wasServed('b', 0, 3)

    assert.deepEqual([...narrow.share(book.ready(0)).keys()], ['c'])
    narrow.wasServed('c', 0, 9)
    assert.deepEqual([...narrow.share(book.ready(0)).keys()], ['b'])
  })

  it('count what is under way', () => {
    const { book } = bookWith('a')
    assert.equal(book.share([lane('a')]).get('a'), 4)

    book.callBegins(lane('a'))
    assert.equal(book.share([lane('a')]).get('a'), 3)
    book.callEnds(lane('a'))

    assert.equal(book.share([lane('a')]).get('a'), 4)
  })
})

describe('a process', () => {
  it('is starved when a lane with work got no share, until a round finds room', () => {
    const { book } = bookWith('a')
    book.beginRound(false)
    assert.equal(book.isStarved(), false)
    for (let i = 0; i < SETTINGS.slotsPerChannel; i++) book.callBegins(lane('a'))

    book.share([lane('a')])
    assert.equal(book.isStarved(), true)
    book.beginRound(false)

    assert.equal(book.isStarved(), false)
  })

  it('is starved when a round had no room at all', () => {
    const { book } = bookWith('a')

    book.beginRound(true)

    assert.equal(book.isStarved(), true)
  })

  it('counts the claims that went back unsent until they are taken note of', () => {
    const { book } = bookWith()
    book.wentBack()
    book.wentBack()

    assert.deepEqual([book.takeUnsent(), book.takeUnsent()], [2, 0])
  })

  it('knows its calls under way, whatever begins and ends: by lane, by channel and in all', () => {
    const lanes = [lane('a'), lane('b'), lane('c', { channel: 'email' })]
    const step = fc.record({ lane: fc.constantFrom(...lanes), isEnd: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const book = createLaneBook({ slotsPerChannel: 1_000, claimRows: 100_000 })
        const underWay: DueLane[] = []
        for (const { lane, isEnd } of steps) {
          const at = underWay.indexOf(lane)
          if (isEnd && at >= 0) {
            underWay.splice(at, 1)
            book.callEnds(lane)
          } else {
            underWay.push(lane)
            book.callBegins(lane)
          }
        }

        assert.equal(book.inFlight(), underWay.length)
        const shares = book.share([lane('newcomer')])
        // An equal part for each busy lane of the channel, the newcomer and one more.
        const busy = new Set(underWay.filter(({ channel }) => channel === 'sms').map(({ accountId }) => accountId))
        assert.equal(shares.get('newcomer'), Math.floor(1_000 / (busy.size + 2)))
      }),
    )
  })
})

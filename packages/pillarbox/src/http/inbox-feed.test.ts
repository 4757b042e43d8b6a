import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger } from '../../../../test/support/samples.ts'
import type { WakeListener, WakeStore, WakeTopic } from '../runtime/wake-store.ts'
import { createInboxFeed, type InboxOwner, type Watch } from './inbox-feed.ts'

const ADA = { tenantId: 'acme', userId: 'ada' }
const BOB = { tenantId: 'acme', userId: 'bob' }
const POLL_MS = 1_000

/** Inboxes whose revisions the test sets, and wake-ups it gives. */
function setup() {
  const clock = createManualClock()
  const logger = recordingLogger()
  const revisions = new Map<string, number>()
  const asked: string[][] = []
  const notified: WakeTopic[] = []
  const listeners = new Set<WakeListener>()
  let isAway = false
  const wake: WakeStore = {
    notify: (topic) => void notified.push(topic),
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const inbox = {
    async revisions(inboxes: readonly InboxOwner[]) {
      asked.push(inboxes.map(({ userId }) => userId))
      if (isAway) throw new Error('away')
      return inboxes.map(({ userId }) => revisions.get(userId) ?? 0)
    },
  }
  const feed = createInboxFeed({ inbox, wake, clock, logger, pollMs: POLL_MS })
  const stop = new AbortController()
  /** Whether the wait is over. */
  const waiting = (watch: Watch, revision = 0, ms = 60_000) => {
    const state = { isOver: false }
    void watch.past(revision, ms, stop.signal).then(() => {
      state.isOver = true
    })
    return state
  }
  return {
    feed,
    clock,
    logger,
    revisions,
    asked,
    notified,
    listeners,
    stop,
    waiting,
    hint: (topic: WakeTopic) => {
      for (const listener of listeners) listener(topic, [])
    },
    setAway: (away: boolean) => {
      isAway = away
    },
  }
}

describe('the inbox feed', () => {
  it('tells at once of what this process changed, and tells other processes', async () => {
    const { feed, clock, revisions, asked, notified, waiting } = setup()
    const [ada, bob] = [feed.watch(ADA), feed.watch(BOB)]
    const waits = [waiting(ada), waiting(bob)]
    await clock.settle()

    revisions.set('ada', 1)
    feed.changed(ADA)
    await clock.settle()

    assert.deepEqual(
      waits.map(({ isOver }) => isOver),
      [true, false],
    )
    assert.deepEqual(asked, [['ada']])
    assert.deepEqual(notified, ['inbox'])
  })

  it('looks at all inboxes at once when another process gives a hint, and only for its own topic', async () => {
    const { feed, clock, revisions, asked, hint, waiting } = setup()
    const waits = [waiting(feed.watch(ADA)), waiting(feed.watch(BOB))]
    await clock.settle()

    revisions.set('bob', 5)
    hint('dispatch')
    await clock.settle()
    assert.deepEqual(asked, [])
    hint('inbox')
    await clock.settle()

    assert.deepEqual(
      waits.map(({ isOver }) => isOver),
      [false, true],
    )
    assert.deepEqual(asked, [['ada', 'bob']])
  })

  it('finds out without any hint', async () => {
    const { feed, clock, revisions, waiting } = setup()
    const wait = waiting(feed.watch(ADA))
    await clock.advance(POLL_MS / 2)

    revisions.set('ada', 1)
    await clock.advance(POLL_MS)

    assert.equal(wait.isOver, true)
  })

  it('does not let a storm of hints become a storm of questions', async () => {
    const { feed, clock, asked, hint, waiting } = setup()
    waiting(feed.watch(ADA))
    await clock.settle()

    for (let i = 0; i < 100; i++) {
      hint('inbox')
      await clock.advance(1)
    }

    assert.ok(asked.length <= 6, `asked ${asked.length} times`)
  })

  it('answers at once where more is known than what was asked for', async () => {
    const { feed, clock, revisions, hint, waiting } = setup()
    const watch = feed.watch(ADA)
    revisions.set('ada', 3)
    await clock.settle()
    hint('inbox')
    await clock.settle()

    const [behind, level] = [waiting(watch, 2), waiting(watch, 3)]
    await clock.settle()

    assert.deepEqual([behind.isOver, level.isOver], [true, false])
  })

  it('ends a wait after its time, or when it is stopped', async () => {
    const { feed, clock, stop, waiting } = setup()
    const watch = feed.watch(ADA)
    const [short, long] = [waiting(watch, 0, 100), waiting(watch)]

    await clock.advance(100)
    assert.deepEqual([short.isOver, long.isOver], [true, false])
    stop.abort()
    await clock.settle()
    assert.equal(long.isOver, true)
  })

  it('asks nothing and listens to nothing once nobody watches', async () => {
    const { feed, clock, asked, listeners, waiting } = setup()
    const [first, second] = [feed.watch(ADA), feed.watch(ADA)]
    waiting(first)
    await clock.advance(POLL_MS)
    assert.equal(listeners.size, 1)

    first.close()
    first.close()
    second.close()
    await clock.settle()
    const count = asked.length
    await clock.advance(10 * POLL_MS)

    assert.equal(asked.length, count)
    assert.equal(listeners.size, 0)
    const again = waiting(feed.watch(BOB), 0, 100)
    await clock.advance(100)
    assert.equal(again.isOver, true)
    assert.equal(listeners.size, 1)
  })

  it('survives a store that is away', async () => {
    const { feed, clock, logger, revisions, setAway, waiting } = setup()
    const wait = waiting(feed.watch(ADA))
    setAway(true)
    feed.changed(ADA)
    await clock.advance(3 * POLL_MS)
    assert.ok(logger.lines.length > 0 && logger.lines.length <= 4)

    revisions.set('ada', 1)
    setAway(false)
    await clock.advance(2 * POLL_MS)

    assert.equal(wait.isOver, true)
  })

  it('closes while somebody still watches', async () => {
    const { feed, clock, asked, waiting } = setup()
    waiting(feed.watch(ADA))
    await clock.settle()

    await feed.close()
    const count = asked.length
    await clock.advance(10 * POLL_MS)

    assert.equal(asked.length, count)
  })
})

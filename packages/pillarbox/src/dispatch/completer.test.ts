import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleCompletion, sampleNotification } from '../../../../test/support/samples.ts'
import { PillarboxError } from '../model/errors.ts'
import { type CompleterDeps, createCompleter } from './completer.ts'
import type { Completion } from './dispatch-store.ts'

const FLUSH_MS = 5

type Answer = { fenced: string[]; lanes: string[] }

/** A completer over a store that answers at once, unless `complete` says otherwise. */
function setup({
  complete = async () => ({ fenced: [], lanes: [] }),
  ...changes
}: { complete?: (batch: readonly Completion[], call: number) => Promise<Answer> } & Partial<CompleterDeps> = {}) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const batches: Completion[][] = []
  const due: string[][] = []
  const fenced: string[] = []
  const committed: string[] = []
  const completer = createCompleter({
    dispatch: {
      complete: (_workerId, completions) => {
        batches.push([...completions])
        return complete(completions, batches.length)
      },
    },
    workerId: () => 'worker-1',
    clock,
    logger,
    flushMs: FLUSH_MS,
    flushRows: 3,
    flushers: 2,
    onDue: (lanes) => void due.push(lanes),
    onWritten: (written) => void committed.push(...written.map(({ notificationId }) => notificationId)),
    onFenced: ({ notificationId }) => void fenced.push(notificationId),
    ...changes,
  })
  const written: string[] = []
  const add = (id: string, changed: Partial<Completion> = {}): void => {
    void completer.write(sampleCompletion({ notificationId: id, ...changed })).then(() => written.push(id))
  }
  const ids = () => batches.map((batch) => batch.map(({ notificationId }) => notificationId))
  return { clock, logger, completer, add, written, batches, ids, due, fenced, committed }
}

/** A store call that ends when the test says so. */
function held() {
  const waiting: (() => void)[] = []
  return {
    complete: (): Promise<Answer> => new Promise((resolve) => waiting.push(() => resolve({ fenced: [], lanes: [] }))),
    end: () => waiting.shift()?.(),
    underWay: () => waiting.length,
  }
}

const unavailable = () => new PillarboxError('store_unavailable', 'connection reset')

describe('results are gathered', () => {
  it('for a few milliseconds, then written together in the order they came', async () => {
    const { clock, add, ids, written } = setup()

    add('a')
    await clock.advance(FLUSH_MS - 1)
    add('b')
    assert.deepEqual(ids(), [])
    await clock.advance(1)

    assert.deepEqual(ids(), [['a', 'b']])
    assert.deepEqual(written, ['a', 'b'])
  })

  it('until there are enough for a batch, and no longer', async () => {
    const { clock, add, ids } = setup()

    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) add(id)
    await clock.settle()
    assert.deepEqual(ids(), [
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
    ])
    await clock.advance(FLUSH_MS)

    assert.deepEqual(ids()[2], ['g'])
  })

  it('while two batches are being written at most, and then all that waited goes at once', async () => {
    const store = held()
    const { clock, add, ids, written } = setup({ complete: store.complete })

    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) add(id)
    await clock.advance(1_000)
    assert.equal(store.underWay(), 2)
    store.end()
    await clock.settle()

    assert.equal(store.underWay(), 2)
    assert.deepEqual(ids()[2], ['g', 'h', 'i'])
    assert.deepEqual(written, ['a', 'b', 'c'])
  })

  it('and confirmed only once they are committed', async () => {
    const store = held()
    const { clock, add, written } = setup({ complete: store.complete })

    add('a')
    await clock.advance(1_000)
    assert.deepEqual(written, [])
    store.end()
    await clock.settle()

    assert.deepEqual(written, ['a'])
  })
})

describe('the age of a call', () => {
  it('counts on while its result waits for company, and while the store is away', async () => {
    const ages: number[] = []
    const { clock, add, completer } = setup({
      complete: async ([first], call) => {
        ages.push(first?.ageMs ?? 0)
        if (call <= 2) throw unavailable()
        return { fenced: [], lanes: [] }
      },
    })

    add('a', { ageMs: 100 })
    await clock.advance(1_000)

    assert.deepEqual(ages, [100 + FLUSH_MS, 100 + FLUSH_MS + 10, 100 + FLUSH_MS + 30])
    assert.equal(completer.backlog(), 0)
  })

  it('is as much for a result that was reduced to its bare bones', async () => {
    const { clock, add, batches } = setup({
      complete: async ([first]) => {
        if (first?.code === 'result_refused') return { fenced: [], lanes: [] }
        await clock.sleep(50)
        throw new Error('value out of range')
      },
    })

    add('a', { ageMs: 100 })
    await clock.advance(1_000)

    assert.equal(batches[1]?.[0]?.ageMs, 100 + FLUSH_MS + 50)
  })
})

describe('the store’s answer', () => {
  it('is passed on: lanes that have work again, results that were committed, and those that came too late', async () => {
    const { clock, add, due, fenced, committed } = setup({
      complete: async () => ({ fenced: ['a'], lanes: ['lane-1'] }),
    })

    add('a')
    add('b')
    await clock.advance(FLUSH_MS)

    assert.deepEqual(due, [['lane-1']])
    assert.deepEqual([fenced, committed], [['a'], ['b']])
  })

  it('rings nobody when there is nothing to tell', async () => {
    const { clock, add, due, fenced } = setup()

    add('a')
    await clock.advance(FLUSH_MS)

    assert.deepEqual([due, fenced], [[], []])
  })

  it('is asked for under the worker’s id of that moment', async () => {
    const seen: string[] = []
    let id = 'first'
    const { clock, add } = setup({
      dispatch: {
        complete: async (workerId) => {
          seen.push(workerId)
          return { fenced: [], lanes: [] }
        },
      },
      workerId: () => id,
    })

    add('a')
    id = 'second'
    await clock.advance(FLUSH_MS)

    assert.deepEqual(seen, ['second'])
  })
})

describe('while the store is away', () => {
  it('results are kept and written later, each once, in order (P1)', async () => {
    let isAway = true
    const { clock, add, completer, batches, written } = setup({
      complete: async () => {
        if (isAway) throw unavailable()
        return { fenced: [], lanes: [] }
      },
    })

    for (const id of ['a', 'b', 'c', 'd']) add(id)
    await clock.advance(10 * 60_000)
    assert.deepEqual(written, [])
    assert.equal(completer.backlog(), 4)
    isAway = false
    batches.length = 0
    await clock.advance(1_000)

    assert.deepEqual(new Set(written), new Set(['a', 'b', 'c', 'd']))
    assert.equal(written.length, 4)
    assert.equal(completer.backlog(), 0)
    assert.equal(batches.flat().length, 4)
  })

  it('it is asked ever less often, but at least once a second', async () => {
    const asked: number[] = []
    const { clock, add } = setup({
      complete: async () => {
        asked.push(clock.monotonic())
        throw unavailable()
      },
    })

    add('a')
    await clock.advance(10_000)

    const gaps = asked.slice(1).map((at, i) => at - (asked[i] ?? 0))
    assert.deepEqual(gaps.slice(0, 8), [10, 20, 40, 80, 160, 320, 640, 1_000])
    assert.equal(gaps.at(-1), 1_000)
  })
})

describe('a batch the store refuses', () => {
  const poison =
    (bad: string) =>
    async (batch: readonly Completion[]): Promise<Answer> => {
      if (batch.some(({ notificationId, code }) => notificationId === bad && code !== 'result_refused'))
        throw new Error('value out of range')
      return { fenced: [], lanes: [] }
    }

  it('is written row by row, so that one row harms no other (P7)', async () => {
    const { add, clock, batches, written } = setup({ complete: poison('b') })

    for (const id of ['a', 'b', 'c']) add(id)
    await clock.advance(FLUSH_MS)

    const rows = batches.slice(1).map((batch) => batch.map(({ notificationId, to }) => `${notificationId} ${to}`))
    assert.deepEqual(rows, [['a sent'], ['b sent'], ['b uncertain'], ['c sent']])
    assert.deepEqual(written, ['a', 'b', 'c'])
  })

  it('of two is written row by row, too: each is tried alone, as it was', async () => {
    const { add, clock, batches, written } = setup({ complete: poison('b') })

    for (const id of ['a', 'b']) add(id)
    await clock.advance(FLUSH_MS)

    const rows = batches.map((batch) => batch.map(({ notificationId, to }) => `${notificationId} ${to}`))
    assert.deepEqual(rows, [['a sent', 'b sent'], ['a sent'], ['b sent'], ['b uncertain']])
    assert.deepEqual(written, ['a', 'b'])
  })

  it('leaves the row at fault to somebody who looks at it, under its own claim', async () => {
    const { add, clock, batches, logger } = setup({ complete: poison('b') })

    add('b', {
      token: 99,
      attempt: 4,
      spent: 4,
      outcome: 'permanent',
      to: 'failed',
      error: 'bad \u0000',
      possibleDuplicate: true,
      providerMessageId: 'message-1',
      moveTo: { accountId: 'account-2', provider: 'vendor' },
      next: sampleNotification({ id: 'notification-2' }),
    })
    await clock.advance(FLUSH_MS)

    const last = batches.at(-1)?.[0]
    assert.deepEqual(
      [last?.to, last?.reason, last?.outcome, last?.code, last?.providerMessageId, last?.moveTo, last?.next],
      ['uncertain', 'outcome_unknown', 'unknown', 'result_refused', null, null, null],
    )
    assert.deepEqual([last?.token, last?.attempt, last?.spent, last?.possibleDuplicate], [99, 4, 4, true])
    assert.equal(logger.lines.filter(({ level }) => level === 'error').length, 1)
  })

  it('is not tried for ever when even the bare result is refused', async () => {
    const { add, clock, batches, written, completer } = setup({
      complete: async () => {
        throw new Error('value out of range')
      },
    })

    add('a')
    await clock.advance(60_000)

    assert.equal(batches.length, 2)
    assert.deepEqual(written, ['a'])
    assert.equal(completer.backlog(), 0)
  })

  it('is finished row by row even if the store goes away in between', async () => {
    let call = 0
    const { add, clock, written } = setup({
      complete: async (batch) => {
        call++
        if (batch.length > 1) throw new Error('value out of range')
        if (call === 3) throw unavailable()
        return { fenced: [], lanes: [] }
      },
    })

    for (const id of ['a', 'b', 'c']) add(id)
    await clock.advance(1_000)

    assert.deepEqual(written, ['a', 'b', 'c'])
  })
})

describe('draining', () => {
  it('resolves at once when nothing is left', async () => {
    const { completer, clock, batches } = setup()
    let drained = false

    void completer.drain(new AbortController().signal).then(() => {
      drained = true
    })
    await clock.settle()

    assert.equal(drained, true)
    assert.deepEqual(batches, [])
  })

  it('does not wait for company', async () => {
    const { completer, add, ids } = setup({ flushMs: 60_000 })
    add('a')

    await completer.drain(new AbortController().signal)

    assert.deepEqual(ids(), [['a']])
  })

  it('resolves when the last result is committed, those added meanwhile included', async () => {
    const store = held()
    const { completer, clock, add } = setup({ complete: store.complete })
    let drained = false

    add('a')
    void completer.drain(new AbortController().signal).then(() => {
      drained = true
    })
    await clock.settle()
    add('b')
    store.end()
    await clock.advance(FLUSH_MS)
    assert.equal(drained, false)
    store.end()
    await clock.settle()

    assert.equal(drained, true)
  })

  it('gives up when it is told to, and says how much is left', async () => {
    const { completer, clock, add } = setup({ complete: held().complete })
    const giveUp = new AbortController()
    let drained = false

    add('a')
    void completer.drain(giveUp.signal).then(() => {
      drained = true
    })
    await clock.advance(1_000)
    assert.equal(drained, false)
    giveUp.abort()
    await clock.settle()

    assert.equal(drained, true)
    assert.equal(completer.backlog(), 1)
    await completer.drain(giveUp.signal)
  })
})

describe('the backlog', () => {
  it('counts what is not committed yet, whether it waits or is being written', async () => {
    const store = held()
    const { completer, clock, add } = setup({ complete: store.complete })

    for (const id of ['a', 'b', 'c', 'd']) add(id)
    assert.equal(completer.backlog(), 4)
    store.end()
    await clock.settle()
    assert.equal(completer.backlog(), 1)
    await clock.advance(FLUSH_MS)
    store.end()
    await clock.settle()

    assert.equal(completer.backlog(), 0)
  })
})

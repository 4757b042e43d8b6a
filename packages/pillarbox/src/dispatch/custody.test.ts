import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, sampleClaim } from '../../../../test/support/samples.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import { createCustody } from './custody.ts'
import type { Claim } from './dispatch-store.ts'
import type { Heartbeat } from './heartbeat.ts'

function setup({ orphans = async () => [] as Claim[] } = {}) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const asked: { at: number; workerId: string; held: readonly number[] }[] = []
  const store = {
    dispatch: {
      orphans: (workerId: string, held: readonly number[]) => {
        asked.push({ at: clock.monotonic(), workerId, held: [...held].sort((a, b) => a - b) })
        return orphans()
      },
    },
  } as unknown as Pick<Store, 'dispatch'>
  const heartbeat = { id: () => 'worker-1' } as Heartbeat
  const custody = createCustody({ store, heartbeat, clock, logger })
  const take = (...tokens: number[]): Promise<Claim[]> =>
    custody.take(
      async () => tokens.map((token) => sampleClaim({ token })),
      (claims) => claims,
    )
  const lose = (): Promise<unknown> =>
    custody
      .take(
        async (): Promise<Claim[]> => {
          throw new PillarboxError('store_unavailable', 'connection reset')
        },
        (claims) => claims,
      )
      .catch(() => {})
  return { clock, logger, custody, asked, take, lose }
}

/** A statement that ends when the test says so. */
function held(claims: Claim[] = []) {
  let begun = false
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const statement = async (): Promise<Claim[]> => {
    begun = true
    await ended
    return claims
  }
  return { statement, end: () => end(), begun: () => begun }
}

describe('orphans', () => {
  it('are not looked for as long as every answer came', async () => {
    const { custody, take, asked, clock } = setup()

    await take(1, 2)
    custody.ended({ token: 1 })
    await custody.recover()
    await clock.advance(120_000)

    assert.deepEqual(await custody.recover(), [])
    assert.deepEqual(asked, [])
  })

  it('are looked for at once after an answer was lost, naming the tokens that are held', async () => {
    const { custody, take, lose, asked } = setup()
    await take(1, 2)
    await take(3)
    custody.ended({ token: 2 })

    await lose()
    await custody.recover()

    assert.deepEqual(asked, [{ at: 0, workerId: 'worker-1', held: [1, 3] }])
  })

  it('are looked for after a release that was not answered', async () => {
    const { custody, asked } = setup()

    custody.answerLost()
    await custody.recover()

    assert.equal(asked.length, 1)
  })

  it('are looked for every two seconds for a minute: the lost statement might still commit', async () => {
    const { custody, lose, asked, clock } = setup()
    await lose()

    for (let i = 0; i < 200; i++) {
      await custody.recover()
      await clock.advance(500)
    }

    assert.equal(asked.length, 31)
    assert.deepEqual(
      asked.map(({ at }) => at),
      Array.from({ length: 31 }, (_, i) => i * 2_000),
    )
  })

  it('are looked for at once again when another answer is lost right after a look', async () => {
    const { custody, lose, asked, clock } = setup()
    await lose()
    await custody.recover()
    await clock.advance(10)

    await lose()
    await custody.recover()

    assert.deepEqual(
      asked.map(({ at }) => at),
      [0, 10],
    )
  })

  it('are looked for a whole minute again after the next lost answer', async () => {
    const { custody, lose, asked, clock } = setup()
    await lose()
    await clock.advance(60_001)
    assert.deepEqual(await custody.recover(), [])
    assert.equal(asked.length, 0)

    await lose()
    await custody.recover()

    assert.equal(asked.length, 1)
  })

  it('that are found are held from then on', async () => {
    let found = [sampleClaim({ token: 40 }), sampleClaim({ token: 41 })]
    const { custody, lose, asked, clock, logger } = setup({ orphans: async () => found })
    await lose()

    const claims = await custody.recover()
    found = []
    custody.ended({ token: 41 })
    await clock.advance(2_000)
    await custody.recover()

    assert.deepEqual(
      claims.map(({ token }) => token),
      [40, 41],
    )
    assert.deepEqual(asked[1]?.held, [40])
    assert.equal(logger.lines.length, 1)
  })

  it('are looked for again when the answer to the look itself is lost', async () => {
    let isAway = true
    const { custody, lose, asked, clock } = setup({
      orphans: async () => {
        if (isAway) throw new PillarboxError('store_unavailable', 'connection reset')
        return []
      },
    })
    await lose()

    await assert.rejects(custody.recover())
    await clock.advance(59_000)
    await assert.rejects(custody.recover())
    isAway = false
    await clock.advance(59_000)
    await custody.recover()

    assert.equal(asked.length, 3)
  })
})

describe('statements that take rows', () => {
  it('run one at a time, in the order they were asked for', async () => {
    const { custody, clock } = setup()
    const first = held()
    const second = held()

    void custody.take(first.statement, (claims) => claims)
    void custody.take(second.statement, (claims) => claims)
    await clock.settle()
    assert.deepEqual([first.begun(), second.begun()], [true, false])
    first.end()
    await clock.settle()

    assert.equal(second.begun(), true)
  })

  it('never run beside a look for orphans: rows whose answer is on its way are none', async () => {
    const { custody, clock, lose, asked } = setup()
    await lose()
    const claim = held([sampleClaim({ token: 9 })])

    void custody.take(claim.statement, (claims) => claims)
    void custody.recover()
    await clock.settle()
    assert.equal(asked.length, 0)
    claim.end()
    await clock.settle()

    assert.deepEqual(asked[0]?.held, [9])
  })

  it('wait for a look for orphans that is under way', async () => {
    let end: () => void = () => {}
    const looking = new Promise<void>((resolve) => {
      end = resolve
    })
    const { custody, clock, lose } = setup({
      orphans: async () => {
        await looking
        return []
      },
    })
    await lose()
    const claim = held()

    void custody.recover()
    void custody.take(claim.statement, (claims) => claims)
    await clock.settle()
    assert.equal(claim.begun(), false)
    end()
    await clock.settle()

    assert.equal(claim.begun(), true)
  })

  it('tell their caller of the failure, and do not keep the next one from running', async () => {
    const { custody, take } = setup()

    await assert.rejects(
      custody.take(
        async (): Promise<Claim[]> => {
          throw new Error('refused')
        },
        (claims) => claims,
      ),
      /refused/,
    )

    assert.equal((await take(1)).length, 1)
  })
})

it('holds a token until everybody who took it has ended', async () => {
  const { custody, take, lose, asked, clock } = setup()
  await take(5)
  await take(5)

  custody.ended({ token: 5 })
  await lose()
  await custody.recover()
  custody.ended({ token: 5 })
  custody.ended({ token: 5 })
  await clock.advance(2_000)
  await custody.recover()

  assert.deepEqual(
    asked.map(({ held }) => held),
    [[5], []],
  )
})

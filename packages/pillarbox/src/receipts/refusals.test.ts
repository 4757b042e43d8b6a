import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, recordingMeters } from '../../../../test/support/samples.ts'
import type { RefusedCount } from './receipt-store.ts'
import { createRefusals } from './refusals.ts'

const EVERY_MS = 3_000
const forged = { source: 'meta', tenantId: 'acme', why: 'signature_wrong' } as const

function setup() {
  const clock = createManualClock()
  const logger = recordingLogger()
  const meters = recordingMeters()
  const state = { isDown: false, writes: [] as RefusedCount[][] }
  const refusals = createRefusals({
    receipts: {
      countRefused: async (counts) => {
        if (state.isDown) throw new Error('the store is away')
        state.writes.push([...counts])
      },
    },
    clock,
    logger,
    meters,
    everyMs: EVERY_MS,
  })
  return { refusals, clock, logger, state }
}

describe('callbacks that were not believed', () => {
  it('are written together, by source, tenant and cause, a while after the first', async () => {
    const { refusals, clock, state } = setup()
    for (let i = 0; i < 1_000; i++) refusals.note(forged)
    refusals.note({ ...forged, why: 'signature_missing' })
    refusals.note({ ...forged, tenantId: null })
    await clock.advance(EVERY_MS - 1)
    assert.deepEqual(state.writes, [])

    await clock.advance(1)

    assert.deepEqual(state.writes, [
      [
        { ...forged, count: 1_000 },
        { ...forged, why: 'signature_missing', count: 1 },
        { ...forged, tenantId: null, count: 1 },
      ],
    ])
  })

  it('cost nothing while there are none', async () => {
    const { refusals, clock, state } = setup()
    refusals.note(forged)
    await clock.advance(EVERY_MS * 10)
    await refusals.flush()

    assert.equal(clock.sleeping(), 0)
    assert.equal(state.writes.length, 1)
  })

  it('are said in one line each time, not one each', async () => {
    const { refusals, clock, logger } = setup()
    for (let i = 0; i < 50; i++) refusals.note(forged)
    await clock.advance(EVERY_MS)

    assert.equal(logger.lines.length, 1)
    assert.deepEqual(logger.lines[0]?.fields, { ...forged, count: 50 })
  })

  it('stay counted while the store is away', async () => {
    const { refusals, clock, state } = setup()
    state.isDown = true
    refusals.note(forged)
    await clock.advance(EVERY_MS)
    state.isDown = false
    refusals.note(forged)
    await clock.advance(EVERY_MS)

    assert.deepEqual(state.writes, [[{ ...forged, count: 2 }]])
  })

  it('are written when everything stops, those included that came during a write', async () => {
    const { refusals, clock, state } = setup()
    refusals.note(forged)
    const writing = refusals.flush()
    refusals.note(forged)
    await refusals.close()
    await writing

    assert.equal(
      state.writes.flat().reduce((sum, { count }) => sum + count, 0),
      2,
    )
    assert.equal(clock.sleeping(), 0)
  })
})

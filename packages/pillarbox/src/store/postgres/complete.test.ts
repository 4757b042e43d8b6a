import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampleCompletion, sampleNotification } from '../../../../../test/support/samples.ts'
import type { Completion } from '../../dispatch/dispatch-store.ts'
import { complete } from './complete.ts'
import type { Run, Session } from './session.ts'

/** The names of the statements a batch of results takes, and whether they are in a transaction. */
async function statements(given: readonly Completion[]): Promise<{ names: unknown[]; isTransaction: boolean }> {
  const names: unknown[] = []
  let isTransaction = false
  const run: Run = async ({ name }) => {
    names.push(name)
    return []
  }
  const session = {
    run,
    transaction: (work: (run: Run) => Promise<unknown>) => {
      isTransaction = true
      return work(run)
    },
  } as unknown as Session
  await complete(session, 'worker-1', given)
  return { names, isTransaction }
}

const sent = (id: string): Completion => sampleCompletion({ notificationId: id })
const retried = (id: string, changes: Partial<Completion> = {}): Completion =>
  sampleCompletion({ notificationId: id, outcome: 'transient', to: 'retrying', error: 'away', ...changes })

describe('a batch of results', () => {
  it('is one statement, a short one where all were accepted', async () => {
    assert.deepEqual(await statements([sent('a'), sent('b')]), { names: ['complete_sent'], isTransaction: false })
    assert.deepEqual(await statements([sent('a'), retried('b')]), { names: ['complete'], isTransaction: false })
  })

  it('costs one statement more where some of them move to another account, however many', async () => {
    const moveTo = { accountId: 'account-2', provider: 'other' }

    const answer = await statements([sent('a'), retried('b', { moveTo }), retried('c', { moveTo }), retried('d')])

    assert.deepEqual(answer, { names: ['complete', 'move'], isTransaction: true })
  })

  it('does not move what another channel takes over', async () => {
    const next = sampleNotification({ id: 'next' })
    const { names } = await statements([retried('a', { to: 'failed', reason: 'fallback_triggered:email', next })])

    assert.ok(!names.includes('move'))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type NudgeConnection, nudge, nudger } from './nudge.ts'

function setup() {
  const clock = { ms: 0 }
  const timers: { at: number; task: () => void }[] = []
  const sent: { at: number; sql: string }[] = []
  const advance = (ms: number): void => {
    clock.ms += ms
    for (const timer of timers.splice(0)) {
      if (timer.at <= clock.ms) timer.task()
      else timers.push(timer)
    }
  }
  const nudgeAt = nudger({
    monotonic: () => clock.ms,
    later: (ms, task) => void timers.push({ at: clock.ms + ms, task }),
  })
  const connection = (changes: Partial<NudgeConnection> = {}): NudgeConnection => ({
    engine: 'postgres',
    run: async (sql) => void sent.push({ at: clock.ms, sql }),
    inTransaction: () => false,
    ...changes,
  })
  return { advance, connection, nudgeAt, sent, timers }
}

describe('nudge', () => {
  it('notifies the workers at once', async () => {
    const { connection, nudgeAt, sent } = setup()

    await nudgeAt(connection())

    assert.deepEqual(sent, [{ at: 0, sql: `select pg_notify('pillarbox', 'events')` }])
  })

  it('sends at most one per 5 ms, and makes up for the others at their end', async () => {
    const { advance, connection, nudgeAt, sent } = setup()

    for (let ms = 0; ms < 20; ms += 1) {
      await nudgeAt(connection())
      advance(1)
    }
    advance(5)

    assert.deepEqual(
      sent.map(({ at }) => at),
      [0, 5, 10, 15, 20],
    )
  })

  it('is never sent inside a transaction', async () => {
    const { connection, nudgeAt, sent } = setup()

    await nudgeAt(connection({ inTransaction: () => true }))

    assert.deepEqual(sent, [])
  })

  it('does not come back later to a connection that may be in a transaction by then', async () => {
    const { advance, connection, nudgeAt, sent, timers } = setup()
    let isBusy = false
    await nudgeAt(connection())

    await nudgeAt({ engine: 'postgres', run: connection().run })
    assert.equal(timers.length, 0)
    await nudgeAt(connection({ inTransaction: () => isBusy }))
    isBusy = true
    advance(5)

    assert.equal(sent.length, 1)
  })

  it('never throws, now or later', async () => {
    const { advance, connection, nudgeAt, sent } = setup()
    const broken = connection({ run: () => Promise.reject(new Error('connection lost')) })
    const throwing = connection({
      run: () => {
        throw new Error('pool ended')
      },
    })

    await nudgeAt(broken)
    await nudgeAt(throwing)
    advance(5)
    advance(5)
    await nudgeAt(connection())

    assert.equal(sent.length, 1)
  })

  it('does nothing on SQLite', async () => {
    const { connection, sent } = setup()

    await nudge(connection({ engine: 'sqlite' }))

    assert.deepEqual(sent, [])
  })
})

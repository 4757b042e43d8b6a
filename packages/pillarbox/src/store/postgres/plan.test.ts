import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openPlan } from './plan.ts'
import type { Query, Session } from './session.ts'

/** Planning on a session that answers probes and takes as told, and notes what it was asked. */
function setup({ probes, takes }: { probes: number[]; takes: number[] }) {
  const asked: string[] = []
  const rows = (count: number): Record<string, unknown>[] =>
    Array.from({ length: count }, (_, i) => ({ tenant_id: 'acme', id: `event-${i}`, payload: '{}' }))
  const session = {
    run: async ({ name }: Query) => {
      asked.push(name ?? '')
      return rows(probes.shift() ?? 0)
    },
    exchange: async (take: Query, decide: (given: Record<string, unknown>[]) => Query | null) => {
      asked.push(take.name ?? '')
      const write = decide(rows(takes.shift() ?? 0))
      asked.push(write?.name ?? 'nothing')
      return write && []
    },
  } as unknown as Session
  let isHinted = false
  const wasHinted = (): boolean => {
    const was = isHinted
    isHinted = false
    return was
  }
  const { events } = openPlan(session, { wasHinted })
  return {
    asked,
    hint: () => {
      isHinted = true
    },
    plan: (kind: 'failed' | 'later') =>
      events(2, () => (kind === 'later' ? { kind } : { kind, reason: 'invalid_event', error: 'no' })),
  }
}

describe('planning', () => {
  it('costs one statement while nothing is due', async () => {
    const { plan, asked } = setup({ probes: [0, 0], takes: [] })

    assert.deepEqual(await plan('failed'), { taken: 0, decided: 0, inserted: 0, lanes: [] })
    await plan('failed')

    assert.deepEqual(asked, ['probe_events', 'probe_events'])
  })

  it('asks first unless the last batch was full', async () => {
    const { plan, asked } = setup({ probes: [1, 0], takes: [2, 1] })

    for (let i = 0; i < 3; i++) await plan('failed')

    assert.deepEqual(asked, [
      'probe_events',
      'take_events',
      'write_events',
      'take_events',
      'write_events',
      'probe_events',
    ])
  })

  it('takes at once after a hint, once', async () => {
    const { plan, asked, hint } = setup({ probes: [0], takes: [1] })

    hint()
    for (let i = 0; i < 2; i++) await plan('failed')

    assert.deepEqual(asked, ['take_events', 'write_events', 'probe_events'])
  })

  it('writes nothing where every row waits', async () => {
    const { plan, asked } = setup({ probes: [1], takes: [2] })

    assert.deepEqual(await plan('later'), { taken: 2, decided: 0, inserted: 0, lanes: [] })

    assert.deepEqual(asked, ['probe_events', 'take_events', 'nothing'])
  })
})

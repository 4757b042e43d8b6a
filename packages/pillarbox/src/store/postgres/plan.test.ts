import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { planEvents } from '../../../../../test/support/planning.ts'
import type { Cancels, EventPlan, PlanStore } from '../../plan/plan-store.ts'
import { openPlan } from './plan.ts'
import type { Query, Session } from './session.ts'

/** Planning on a session that answers probes and takes as told, and notes what it was asked. */
function setup({ probes, takes, payload = '{}' }: { probes: number[]; takes: number[]; payload?: string }) {
  const asked: string[] = []
  const rows = (count: number): Record<string, unknown>[] =>
    Array.from({ length: count }, (_, i) => ({
      tenant_id: 'acme',
      id: `event-${i}`,
      entity_type: 'booking',
      entity_id: String(i % 2),
      payload,
    }))
  const session = {
    run: async ({ name }: Query) => {
      asked.push(name ?? '')
      return rows(probes.shift() ?? 0)
    },
    begin: async (take: Query) => {
      asked.push(take.name ?? '')
      return {
        rows: rows(takes.shift() ?? 0),
        commit: async (writes: readonly Query[]) => {
          asked.push(...writes.map(({ name }) => name ?? ''))
          return []
        },
        rollback: async () => void asked.push('nothing'),
      }
    },
  } as unknown as Session
  let isHinted = false
  const wasHinted = (): boolean => {
    const was = isHinted
    isHinted = false
    return was
  }
  const store = { plan: openPlan(session, { wasHinted }) as PlanStore }
  return {
    asked,
    hint: () => {
      isHinted = true
    },
    plan: (kind: 'failed' | 'later') =>
      planEvents(store, 2, () => (kind === 'later' ? { kind } : { kind, reason: 'invalid_event', error: 'no' })),
    publish: (limit: number, cancelsOf: (row: number) => Cancels | null) => {
      let row = 0
      const plan = (): EventPlan => {
        return { kind: 'notifications', scheduleId: 's', notifications: [], cancels: cancelsOf(row++) }
      }
      return planEvents(store, limit, plan)
    },
  }
}

describe('planning', () => {
  it('costs one statement while nothing is due', async () => {
    const { plan, asked } = setup({ probes: [0, 0], takes: [] })

    assert.deepEqual(await plan('failed'), { taken: 0, decided: 0, inserted: 0, lanes: [] })
    await plan('failed')

    assert.deepEqual(asked, ['probe_events', 'probe_events'])
  })

  it('asks first unless the last batch was full; then tenants take turns until nothing is left', async () => {
    const { plan, asked } = setup({ probes: [1, 0], takes: [2, 1, 0] })

    for (let i = 0; i < 4; i++) await plan('failed')

    assert.deepEqual(asked, [
      'probe_events',
      'take_events',
      'write_events',
      'take_events_in_turns',
      'write_events',
      'take_events_in_turns',
      'nothing',
      'probe_events',
    ])
  })

  it('takes at once after a hint, once', async () => {
    const { plan, asked, hint } = setup({ probes: [0], takes: [1] })

    hint()
    for (let i = 0; i < 2; i++) await plan('failed')

    assert.deepEqual(asked, ['take_events', 'write_events', 'probe_events'])
  })

  it('costs one statement for each thing that few batches have, and none where they have not', async () => {
    const cancels = [null, { eventTypes: ['booking.confirmed'], replaces: false }, { eventTypes: [], replaces: true }]
    const names: string[][] = []
    for (const each of cancels) {
      const { publish, asked } = setup({ probes: [1], takes: [1] })
      await publish(2, () => each)
      names.push(asked.slice(2))
    }

    assert.deepEqual(names, [
      ['write_events'],
      ['wait_for_disk', 'await_planners', 'cancel_schedules', 'cancel_notifications', 'write_events'],
      ['wait_for_disk', 'await_planners', 'cancel_schedules', 'write_events'],
    ])
  })

  it('cuts a batch only before an event that ends what an earlier one of the batch begins', async () => {
    const { publish, asked } = setup({ probes: [1], takes: [4] })
    const cancels = { eventTypes: ['booking.confirmed'], replaces: false }

    // Two entities, in turn: the first two events end nothing that the batch begins.
    await publish(4, (row) => (row === 3 ? null : cancels))

    const piece = ['cancel_schedules', 'cancel_notifications', 'write_events']
    assert.deepEqual(asked.slice(2), ['wait_for_disk', 'await_planners', ...piece, ...piece])
  })

  it('notes which payloads have secrets', async () => {
    const { plan, publish, asked } = setup({ probes: [1, 1], takes: [1, 1], payload: '{"token": {"$sealed": "x"}}' })
    await plan('failed')
    await publish(2, () => null)

    assert.deepEqual(asked, [
      'probe_events',
      'take_events',
      'write_events',
      'probe_events',
      'take_events',
      'write_events',
      'note_sealed_payloads',
    ])
  })

  it('writes nothing where every row waits', async () => {
    const { plan, asked } = setup({ probes: [1], takes: [2] })

    assert.deepEqual(await plan('later'), { taken: 2, decided: 0, inserted: 0, lanes: [] })

    assert.deepEqual(asked, ['probe_events', 'take_events', 'nothing'])
  })
})

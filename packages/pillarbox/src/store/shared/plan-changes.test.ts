import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampleEvent, sampleNotification } from '../../../../../test/support/samples.ts'
import type { StoredSchedule } from '../../model/schedule.ts'
import type { EventPlan } from '../../plan/plan-store.ts'
import { eventChange, scheduleChange } from './plan-changes.ts'

const event = sampleEvent({ dueAt: 500, attemptCount: 1, lastError: 'boom' })
const schedule = { id: 's-1', tenantId: 'acme', attemptCount: 1, lastError: 'boom' } as StoredSchedule
const due = { event, schedule }
const notifications = [sampleNotification()]

const PENDING = { status: 'pending', isWaiting: true, isCompleted: false }
const COMPLETED = { status: 'completed', isWaiting: false, isCompleted: true }
const over = (status: 'cancelled' | 'failed') => ({ status, isWaiting: false, isCompleted: false })

describe('what a plan does to an event', () => {
  it('is nothing where it is left for later', () => {
    assert.equal(eventChange(event, { kind: 'later' }), null)
  })

  it('that fails: an error, an audit row and nothing else', () => {
    assert.deepEqual(eventChange(event, { kind: 'failed', reason: 'invalid_event', error: 'no' }), {
      status: 'failed',
      lastError: 'no',
      endings: [],
      schedule: null,
      notifications: [],
      derived: [],
      audit: { action: 'fail', subject: `event:${event.id}`, from: 'pending', to: 'failed', reason: 'invalid_event' },
    })
  })

  it('that is due: a schedule born completed, and its notifications', () => {
    const change = eventChange(event, { kind: 'notifications', scheduleId: 's-1', notifications, cancels: null })

    assert.deepEqual(change, {
      status: 'published',
      lastError: null,
      endings: [],
      schedule: { id: 's-1', ...COMPLETED, dueAt: 500, attemptCount: 1, lastError: null },
      notifications,
      derived: [],
      audit: null,
    })
  })

  it('that could tell nobody: a schedule born failed, with its words and an audit row', () => {
    const untold = { reason: 'no_recipient', error: 'No recipient: nobody' } as const
    const plan: EventPlan = { kind: 'notifications', scheduleId: 's-1', notifications, untold, cancels: null }

    const { status, schedule, audit, ...change } = eventChange(event, plan) ?? assert.fail()

    assert.deepEqual([status, schedule?.status, schedule?.lastError], ['published', 'failed', untold.error])
    assert.deepEqual(change.notifications, notifications)
    const subject = 'schedule:s-1'
    assert.deepEqual(audit, { action: 'fail', subject, from: null, to: 'failed', reason: 'no_recipient' })
  })

  it('that is due later, or needs approval: a schedule that waits', () => {
    const plan: EventPlan = { kind: 'schedule', scheduleId: 's-1', dueAt: 900, needsApproval: false, cancels: null }
    const waiting = { id: 's-1', ...PENDING, dueAt: 900, attemptCount: 0, lastError: null }

    assert.deepEqual(eventChange(event, plan)?.schedule, waiting)
    assert.deepEqual(eventChange(event, { ...plan, needsApproval: true })?.schedule, {
      ...waiting,
      status: 'awaiting_approval',
    })
  })

  it('that is not to be sent: a schedule born cancelled, with an audit row that comes from nowhere', () => {
    const change = eventChange(event, {
      kind: 'cancelled',
      scheduleId: 's-1',
      reason: 'expired',
      error: 'too late',
      cancels: null,
    })

    assert.deepEqual(change?.schedule, {
      id: 's-1',
      ...over('cancelled'),
      dueAt: 500,
      attemptCount: 0,
      lastError: 'too late',
    })
    assert.deepEqual(change?.audit, {
      action: 'cancel',
      subject: 'schedule:s-1',
      from: null,
      to: 'cancelled',
      reason: 'expired',
    })
    assert.deepEqual([change?.status, change?.lastError], ['published', null])
  })

  it('ends what its type cancels, each once, and replaces its own type unless that is cancelled already', () => {
    const endingsOf = (eventTypes: string[], replaces: boolean) =>
      eventChange(event, {
        kind: 'notifications',
        scheduleId: 's-1',
        notifications: [],
        cancels: { eventTypes, replaces },
      })?.endings.map(({ eventType, reason, at }) => [eventType, reason, at])

    const at = event.createdAt
    assert.deepEqual(endingsOf(['a', 'b', 'a'], true), [
      ['a', 'cancelled_by_event', at],
      ['b', 'cancelled_by_event', at],
      [event.type, 'replaced', at],
    ])
    assert.deepEqual(endingsOf([event.type], true), [[event.type, 'cancelled_by_event', at]])
    assert.deepEqual(endingsOf([], false), [])
  })
})

describe('what a plan does to a schedule', () => {
  const unchanged = { lastError: null, progress: null, crashes: null, notifications: [], audit: null }

  it('is nothing where it is left for later', () => {
    assert.equal(scheduleChange(due, { kind: 'later' }), null)
  })

  it('that is whole: it is completed', () => {
    assert.deepEqual(scheduleChange(due, { kind: 'notifications', notifications }), {
      ...unchanged,
      ...COMPLETED,
      attempts: 1,
      notifications,
    })
  })

  it('that is a part: it stays pending, is no try and forgets crashes', () => {
    const progress = { cursor: '1', planned: 1, total: 2 }

    assert.deepEqual(scheduleChange(due, { kind: 'part', notifications, progress }), {
      ...unchanged,
      ...PENDING,
      attempts: 0,
      crashes: 0,
      notifications,
      progress,
    })
  })

  for (const [kind, action] of [
    ['failed', 'fail'],
    ['cancelled', 'cancel'],
  ] as const)
    it(`that is ${kind}: an error, a try and an audit row`, () => {
      assert.deepEqual(scheduleChange(due, { kind, reason: 'no_recipient', error: 'nobody' }), {
        ...unchanged,
        ...over(kind),
        attempts: 1,
        lastError: 'nobody',
        audit: { action, subject: 'schedule:s-1', from: 'pending', to: kind, reason: 'no_recipient' },
      })
    })
})

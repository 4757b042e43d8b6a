import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sampleEvent, sampleNotification } from '../../../../test/support/samples.ts'
import type { EventType } from '../model/catalogue.ts'
import type { StoredEvent } from '../model/event.ts'
import type { NotificationView } from '../model/notification.ts'
import type { StoredSchedule } from '../model/schedule.ts'
import type { EventAct } from '../plan/event-store.ts'
import { type EventRows, explain } from './explain.ts'

const AT = Date.UTC(2026, 2, 10, 6)
const DUE = Date.UTC(2026, 2, 14, 3, 30)
const HOUR_MS = 3_600_000

const event = (changes: Partial<StoredEvent> = {}): StoredEvent =>
  sampleEvent({
    status: 'published',
    publishedAt: AT,
    createdAt: AT,
    entity: { type: 'booking', id: '42' },
    ...changes,
  })

const schedule = (changes: Partial<StoredSchedule> = {}): StoredSchedule => ({
  id: 's-1',
  tenantId: 'acme',
  eventId: 'event-1',
  eventType: 'booking.confirmed',
  entity: { type: 'booking', id: '42' },
  dueAt: AT,
  status: 'completed',
  attemptCount: 1,
  lastError: null,
  createdAt: AT,
  completedAt: AT,
  progress: null,
  approvedBy: null,
  approvedAt: null,
  isReplayed: false,
  ...changes,
})

function notification(changes: Partial<NotificationView> = {}): NotificationView {
  const { stopped: _, ...made } = sampleNotification({ channel: 'email', to: { email: 'ada@example.test' } })
  return {
    ...made,
    scheduleId: 's-1',
    resolvedTargets: null,
    isSealed: false,
    isScrubbed: false,
    status: 'queued',
    reason: null,
    lastError: null,
    attemptCount: 0,
    nextAttemptAt: null,
    possibleDuplicate: false,
    providerMessageId: null,
    fallbackTo: null,
    correctedTo: null,
    createdAt: AT,
    sentAt: null,
    deliveredAt: null,
    readAt: null,
    ...changes,
  }
}

const type = (changes: Partial<EventType> = {}) =>
  ({
    name: 'booking.confirmed',
    delivery: { kind: 'all' },
    timing: { offsetMs: 0, field: null, at: null, ifPast: 'send' },
    ...changes,
  }) as EventType

function told(changes: Partial<EventRows>): string[] {
  const notifications = changes.notifications ?? []
  const rows: EventRows = {
    event: event(),
    tenant: { id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'Asia/Kolkata', settings: {}, createdAt: 0 },
    type: type(),
    schedules: [schedule()],
    acts: [],
    derived: [],
    notificationCount: notifications.length,
    now: AT + HOUR_MS,
    ...changes,
    notifications,
  }
  return explain(rows).map(({ code, text }) => `${code}: ${text}`)
}

/** What is said after how it was published. */
const after = (changes: Partial<EventRows>): string[] => told(changes).slice(1)

describe('the explanation of an event', () => {
  it('says what it is about, and who published it', () => {
    assert.equal(
      told({})[0],
      'published: booking.confirmed about booking 42 was published in a transaction of the application.',
    )
    assert.equal(
      told({ event: event({ publishedBy: 'key:shop' }) })[0],
      'published: booking.confirmed about booking 42 was published by key:shop.',
    )
  })

  it('says what a domain event became, and of which one an event was made', () => {
    const domain = event({ type: 'CheckoutAbandoned' })
    const derived = [event({ id: 'd-2', type: 'b' }), event({ id: 'd-1', type: 'a', derivedFrom: domain.id })]

    assert.deepEqual(after({ event: domain, type: null, schedules: [], derived }), [
      'derived: It became the event a (d-1), which says itself what came of it.',
      'derived: It became the event b (d-2), which says itself what came of it.',
    ])
    assert.deepEqual(after({ event: domain, type: null, schedules: [] }), [
      'tells_nobody: CheckoutAbandoned tells nobody: the catalogue makes nothing of it.',
    ])
    assert.equal(
      told({ event: event({ derivedFrom: 'e-9' }) })[0],
      'published: booking.confirmed about booking 42 was made of the domain event e-9.',
    )
  })

  it('says what an event waits for that is not planned', () => {
    const pending = { status: 'pending', publishedAt: null } as const
    const broken = { attemptCount: 2, lastError: 'the hook did not answer', nextAttemptAt: DUE }

    assert.deepEqual(after({ event: event(pending), schedules: [] }), [
      'waits_for_worker: It is not planned yet: it waits for a worker.',
    ])
    assert.deepEqual(after({ event: event({ ...pending, ...broken }), schedules: [] }), [
      'planning_failed: Planning it failed 2 times, and is tried again at 2026-03-14 09:00 Asia/Kolkata: the hook did not answer.',
    ])
    assert.deepEqual(after({ event: event({ ...pending, ...broken, status: 'failed' }), schedules: [] }), [
      'event_failed: It cannot be turned into notifications: the hook did not answer. Replay the event once that is mended.',
    ])
  })

  it('says for when it is planned, in the tenant’s time, and from what that was reckoned', () => {
    const waiting = schedule({ status: 'pending', dueAt: DUE, completedAt: null, attemptCount: 0 })
    const departs = event({ payload: { departureDate: '2026-03-15T09:00' } })
    const before = type({ timing: { offsetMs: -24 * HOUR_MS, field: 'departureDate', at: null, ifPast: 'send' } })
    const planned = (changes: Partial<EventRows>) => after({ schedules: [waiting], ...changes })[0]

    assert.equal(
      planned({ event: departs, type: before }),
      'scheduled: Planned for 2026-03-14 09:00 Asia/Kolkata, 24 h before departureDate.',
    )
    const morning = type({ timing: { offsetMs: -48 * HOUR_MS, field: 'departureDate', at: '09:00', ifPast: 'send' } })
    assert.equal(
      planned({ event: event({ payload: { departureDate: '2026-03-16' } }), type: morning }),
      'scheduled: Planned for 2026-03-14 09:00 Asia/Kolkata, 2 d before departureDate, at 09:00.',
    )
    assert.equal(
      planned({ event: event({ dueAt: DUE }) }),
      'scheduled: Planned for 2026-03-14 09:00 Asia/Kolkata, as the event asked.',
    )
    for (const changed of [type({ timing: { ...before.timing, offsetMs: -HOUR_MS } }), null])
      assert.equal(
        planned({ event: departs, type: changed }),
        'scheduled: Planned for 2026-03-14 09:00 Asia/Kolkata.',
        'the catalogue says otherwise by now',
      )
  })

  it('says what a schedule waits for, who approved it and why it was cancelled', () => {
    const open = { completedAt: null, attemptCount: 0 }
    assert.deepEqual(after({ schedules: [schedule({ ...open, status: 'awaiting_approval' })] }), [
      'awaits_approval: Waits for approval: somebody has to approve or reject it.',
    ])
    assert.deepEqual(
      after({
        schedules: [schedule({ ...open, status: 'pending', approvedBy: 'key:ada', approvedAt: AT + 1 })],
      }),
      ['approved: Approved by key:ada.', 'waits_for_worker: Its time has come: it waits for a worker.'],
    )
    const lastError = 'The event "booking.cancelled" cancelled it'
    assert.deepEqual(after({ schedules: [schedule({ ...open, status: 'cancelled', lastError })] }), [
      'schedule_cancelled: Cancelled: The event "booking.cancelled" cancelled it.',
    ])
    assert.deepEqual(after({ schedules: [schedule({ ...open, status: 'failed', lastError: 'No recipient' })] }), [
      'schedule_failed: It made nothing that can be sent: No recipient. Replay the schedule once that is mended.',
    ])
    const progress = { cursor: 'x', planned: 3_000, total: 10_000 }
    assert.deepEqual(after({ schedules: [schedule({ ...open, status: 'pending', progress })] }), [
      'planned_in_part: 3000 of 10000 recipients are planned so far.',
    ])
  })

  it('says where nothing was made, and why', () => {
    assert.deepEqual(after({}), [
      'nothing_made: No notification was made of it: whom it is for was told of booking 42 by an earlier event, or is reached on no channel.',
    ])
    assert.deepEqual(after({ type: type({ delivery: { kind: 'none' } }) }), [
      'tells_nobody: booking.confirmed tells nobody: it only cancels what other events began.',
    ])
  })

  it('counts apart who was skipped', () => {
    const [sent, skipped] = [notification({ id: 'n-1' }), notification({ id: 'n-2', status: 'skipped' })]

    assert.equal(
      after({ notifications: [sent, skipped] })[0],
      'planned: It was turned into 1 notification; 1 more was skipped.',
    )
    assert.equal(
      after({ notifications: [skipped, { ...skipped, id: 'n-3' }] })[0],
      'planned: It was turned into no notification; 2 were skipped.',
    )
  })

  it('follows each notification, in the order of time, its recipient masked', () => {
    const email = notification({
      id: 'n-1',
      status: 'delivered',
      provider: 'smtp',
      sentAt: AT + 2_000,
      deliveredAt: AT + 9_000,
    })
    const sms = notification({ id: 'n-2', channel: 'sms', to: { phone: '+919876543210' }, status: 'retrying' })
    const trying = { attemptCount: 3, nextAttemptAt: DUE, lastError: '503 try later' }

    assert.deepEqual(after({ notifications: [{ ...sms, ...trying }, email] }), [
      'planned: It was turned into 2 notifications.',
      'retrying: sms: not sent to +91***10 yet, after 3 attempts; it is tried again at 2026-03-14 09:00 Asia/Kolkata: 503 try later.',
      'sent: email: sent to a***@example.test through smtp.',
      'delivered: email: delivered to a***@example.test.',
    ])
  })

  it('takes acceptance for no delivery', () => {
    const accepted = notification({ status: 'sent', sentAt: AT + 1, deliveredAt: AT + 1 })

    assert.deepEqual(after({ notifications: [accepted] }).slice(1), [
      'sent: email: sent to a***@example.test through vendor.',
    ])
  })

  it('says why somebody was not told, by the reason, in its words', () => {
    const stopped = (changes: Partial<NotificationView>) => after({ notifications: [notification(changes)] }).slice(1)

    assert.deepEqual(stopped({ status: 'parked', reason: 'no_active_channels', lastError: 'no account for email' }), [
      'no_active_channels: email: set aside for an operator, not sent to a***@example.test. Templates exist, but the tenant has no active account for their channels. (no account for email)',
    ])
    assert.deepEqual(stopped({ status: 'skipped', reason: 'no_address' }), [
      'no_address: email: skipped, not sent to a***@example.test. The recipient has no address for this channel.',
    ])
    assert.deepEqual(
      stopped({ status: 'skipped', reason: 'duplicate', duplicateOf: 'n-0', lastError: 'n-0 tells it' }),
      [
        'duplicate: email: skipped, not sent to a***@example.test. The same was told, or is being told, by the notification n-0.',
      ],
    )
    assert.deepEqual(stopped({ status: 'cancelled', reason: 'expired' }), [
      'expired: email: cancelled, not sent to a***@example.test. It was not sent before its expiry, or its time was already past.',
    ])
    assert.deepEqual(stopped({ status: 'parked', reason: 'bounced', sentAt: AT + 1, provider: null }), [
      'sent: email: sent to a***@example.test.',
      'bounced: email: not received by a***@example.test. The provider accepted the message and later reported a bounce.',
    ])
    assert.deepEqual(stopped({ status: 'skipped', reason: 'no_address', to: {} }), [
      'no_address: email: skipped, not sent to the recipient. The recipient has no address for this channel.',
    ])
    assert.deepEqual(stopped({ status: 'parked', reason: 'no_recipient', to: {} }), [
      'no_recipient: email: set aside for an operator, not sent to the recipient. The event names nobody with an address for any of its channels.',
    ])
  })

  it('follows a chain, a resend and what is odd about a message', () => {
    const first = notification({
      id: 'n-1',
      channel: 'whatsapp',
      to: { phone: '+919876543210' },
      status: 'failed',
      reason: 'fallback_triggered:email',
    })
    const warnings = [{ code: 'missing_placeholder', message: '{{room}} was empty' }]
    const next = notification({ id: 'n-2', fallbackOf: 'n-1', createdAt: AT + 1, warnings })
    const again = notification({ id: 'n-3', triggeredBy: 'key:ada', scheduleId: null, createdAt: AT + 2 })
    const elsewhere = {
      ...again,
      id: 'n-4',
      createdAt: AT + 3,
      correctedFrom: 'n-3',
      to: { email: 'bob@example.test' },
    }

    assert.deepEqual(after({ notifications: [elsewhere, again, next, first] }), [
      'planned: It was turned into 2 notifications.',
      'fallback_triggered: whatsapp: not sent to +91***10. The channel failed for good and the next channel of the chain took over.',
      'fallback: email: takes over from whatsapp.',
      'missing_placeholder: email: {{room}} was empty.',
      'queued: email: waits to be sent to a***@example.test.',
      'resent: email: sent again by key:ada.',
      'queued: email: waits to be sent to a***@example.test.',
      'corrected: email: sent to a corrected address by key:ada.',
      'queued: email: waits to be sent to b***@example.test.',
    ])
  })

  const act = (changes: Partial<EventAct>): EventAct => ({
    at: AT + 1_000,
    actor: 'key:ada',
    action: 'retry',
    notificationId: 'n-1',
    subject: null,
    attempt: 0,
    durationMs: null,
    operationId: null,
    from: 'skipped',
    to: 'queued',
    reason: null,
    note: 'private',
    ...changes,
  })

  it('tells that somebody was skipped at first, for what, and who had it sent', () => {
    const sent = notification({ id: 'n-1', status: 'sent', sentAt: AT + 2_000 })
    const retried = (...acts: EventAct[]) => after({ notifications: [sent], acts }).slice(1)

    assert.deepEqual(retried(act({ reason: 'no_address' })), [
      'no_address: email: skipped at first, not sent to a***@example.test. The recipient has no address for this channel.',
      'retried: email: retried by key:ada.',
      'sent: email: sent to a***@example.test through vendor.',
    ])
    assert.deepEqual(
      retried(
        act({ to: 'skipped', reason: 'no_template → suppressed' }),
        act({ at: AT + 1_500, reason: 'suppression_overridden' }),
      ).slice(0, 3),
      [
        'no_template: email: skipped at first, not sent to a***@example.test. The event asks for this channel, and no active template exists for it.',
        'retried: email: retried by key:ada, and skipped all the same. The address is suppressed on this channel: lift that, then retry.',
        'retried: email: retried by key:ada, though the address is suppressed.',
      ],
    )
    assert.deepEqual(retried(act({ actor: 'system', reason: 'no_template' })).slice(1, 2), [
      'retried: email: can be sent now: put into the queue by the replay of its schedule.',
    ])
  })

  it('says where a notification stands behind what was done to it', () => {
    const acts = [
      act({ action: 'discard', from: 'skipped', to: 'discarded', reason: 'discarded_by_operator' }),
      act({ at: AT + 2_000, action: 'restore', from: 'discarded', to: 'parked', reason: 'restored_by_operator' }),
    ]
    const parked = notification({
      id: 'n-1',
      status: 'parked',
      reason: 'restored_by_operator',
      lastError: 'no address',
    })

    assert.deepEqual(after({ notifications: [parked], acts }).slice(1), [
      'skipped: email: skipped at first, not sent to a***@example.test. no address',
      'discarded: email: given up by key:ada.',
      'restored: email: taken back by key:ada.',
      'restored_by_operator: email: set aside for an operator, not sent to a***@example.test. An operator took back that it was discarded. (no address)',
    ])
    const corrected = act({ action: 'discard', from: 'skipped', to: 'discarded', reason: 'corrected_by_operator' })
    assert.equal(
      after({ notifications: [parked], acts: [corrected] })[2],
      'corrected: email: its address was corrected by key:ada.',
    )
  })

  it('tells how an event and its schedule failed before, who replayed them, and what completed it by hand', () => {
    const of = (subject: string, changes: Partial<EventAct>) => act({ subject, notificationId: null, ...changes })
    const acts = [
      of('event:event-1', { action: 'fail', actor: 'system', to: 'failed', reason: 'unknown_event_type' }),
      of('event:event-1', { at: AT + 1_100, action: 'replay', to: 'pending' }),
      of('schedule:s-1', { at: AT + 1_200, action: 'fail', actor: 'system', to: 'failed', reason: 'no_recipient' }),
      of('schedule:s-1', { at: AT + 1_300, action: 'replay', actor: 'console:bo', to: 'pending' }),
      of('schedule:s-1', { at: AT + 1_400, action: 'fail', actor: 'system', to: 'failed', reason: 'no_recipient' }),
    ]
    const failed = schedule({
      status: 'failed',
      completedAt: null,
      lastError: 'No recipient: nobody',
    })

    assert.deepEqual(after({ acts, schedules: [failed] }), [
      'event_failed: It failed. The catalogue has no such event type.',
      'replayed: Replayed by key:ada.',
      'schedule_failed: It failed. The event names nobody with an address for any of its channels.',
      'replayed: Replayed by console:bo.',
      'schedule_failed: It made nothing that can be sent: No recipient: nobody. Replay the schedule once that is mended.',
    ])
    const byHand = of('schedule:s-1', { at: AT + 1_500, from: 'failed', to: 'completed' })
    assert.deepEqual(after({ acts: [...acts.slice(4), byHand] }).slice(1), [
      'schedule_failed: It failed. The event names nobody with an address for any of its channels.',
      'completed_by_hand: Completed: key:ada had one of its notifications sent.',
    ])
  })

  it('says how many notifications it does not tell of', () => {
    const lines = after({ notifications: [notification()], notificationCount: 1_000 })

    assert.deepEqual(lines, [
      'planned: It was turned into at least 1 notification.',
      'queued: email: waits to be sent to a***@example.test.',
      'more: 999 further notifications, older ones, are not told of here.',
    ])
  })
})

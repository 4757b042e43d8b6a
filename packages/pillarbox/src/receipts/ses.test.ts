import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type SesEvent, type SesEventType, sesEvent, snsMessage } from '@pillarbox/vendors'
import { keptOf } from '../../../../test/support/callbacks.ts'
import { assertHeard } from '../../../../test/support/vendor-facts.ts'
import { systemClock } from '../runtime/system.ts'
import { createOutbound } from '../security/outbound.ts'
import { sesReceipts } from './ses.ts'
import { SES_BOUNCES, SES_EVENTS } from './ses-events.ts'

const EVENTS = {
  Send: 'sent',
  Delivery: 'delivered',
  DeliveryDelay: 'sent',
  Complaint: 'complained',
  'Complaint/OnAccountSuppressionList': 'failed: permanent suppressed',
  Reject: 'failed: permanent content_rejected',
  'Rendering Failure': 'failed: permanent template_rejected',
  Open: 'read',
  Click: 'read',
  Subscription: 'nothing',
  AmazonSnsSubscriptionSucceeded: 'nothing',
}

const BOUNCES = {
  'Undetermined/Undetermined': 'bounced: permanent unreachable',
  'Permanent/General': 'bounced: permanent invalid_recipient, dead',
  'Permanent/NoEmail': 'bounced: permanent invalid_recipient, dead',
  'Permanent/Suppressed': 'bounced: permanent invalid_recipient, dead',
  'Permanent/OnAccountSuppressionList': 'bounced: permanent invalid_recipient, dead',
  'Permanent/OnTenantSuppressionList': 'bounced: permanent invalid_recipient, dead',
  'Permanent/EmailValidationSuppressed': 'bounced: permanent invalid_recipient, dead',
  'Permanent/UnsubscribedRecipient': 'bounced: permanent suppressed',
  'Transient/General': 'sent',
  'Transient/MailboxFull': 'sent',
  'Transient/MessageTooLarge': 'sent',
  'Transient/CustomTimeoutExceeded': 'sent',
  'Transient/ContentRejected': 'sent',
  'Transient/AttachmentRejected': 'sent',
}

const AT = Date.UTC(2026, 10, 15, 9, 30, 15, 123)
const NOTIFICATION = '018f0000-0000-7000-8000-0000000000ff'
const EVENT: SesEvent = {
  messageId: '0100018f-message',
  recipients: ['guest@example.com'],
  at: AT,
  tags: { notificationId: NOTIFICATION, 'ses:configuration-set': 'main' },
}

const source = sesReceipts({
  outbound: createOutbound({ clock: systemClock, allowPrivate: false }),
  clock: systemClock,
  certHosts: [],
})

const published = (message: unknown) =>
  source.parse(
    keptOf(
      snsMessage({
        certificateUrl: 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
        topicArn: 'arn:aws:sns:us-east-1:123456789012:ses',
        at: AT + 500,
        messageId: 'sns-1',
        message,
      }),
      AT + 1_000,
    ),
  )
const parse = (type: SesEventType, event: Partial<SesEvent> = {}) => published(sesEvent(type, { ...EVENT, ...event }))

describe('SES’s events', () => {
  it('name the message, our reference, the time and the recipient', () => {
    assert.deepEqual(parse('Delivery'), {
      events: [
        {
          provider: 'ses',
          providerMessageId: '0100018f-message',
          notificationId: NOTIFICATION,
          at: AT,
          recipient: 'guest@example.com',
          isPartial: false,
          eventId: 'sns-1',
          kind: 'delivered',
        },
      ],
      unreadable: 0,
    })
  })

  it('has a fact for every line of its tables', () => {
    assert.deepEqual(Object.keys(EVENTS).sort(), Object.keys(SES_EVENTS).sort())
    assert.deepEqual(Object.keys(BOUNCES).sort(), Object.keys(SES_BOUNCES).sort())
  })

  for (const form of ['event', 'notification'] as const)
    for (const [type, fact] of Object.entries(EVENTS))
      it(`${type} means ${fact} as ${form}`, () => {
        const isSuppressed = type === 'Complaint/OnAccountSuppressionList'
        const { events, unreadable } = parse((isSuppressed ? 'Complaint' : type) as SesEventType, {
          form,
          ...(isSuppressed ? { complaintSubType: 'OnAccountSuppressionList' } : {}),
        })

        assertHeard(events, fact, 'SES', type)
        assert.equal(unreadable, 0)
      })

  for (const [bounce, fact] of Object.entries(BOUNCES))
    it(`Bounce ${bounce} means ${fact}`, () => {
      const { events } = parse('Bounce', { bounce: bounce as NonNullable<SesEvent['bounce']> })

      assertHeard(events, fact, 'SES', bounce)
    })

  for (const [type, isDead] of [
    ['Permanent', true],
    ['Undetermined', undefined],
  ] as const)
    it(`Bounce ${type} of a kind nobody knows yet counts by its type`, () => {
      const [event] = parse('Bounce', { bounce: `${type}/Brand-new` }).events

      assert.ok(event?.kind === 'bounced' && event.failure.kind === 'permanent')
      assert.deepEqual([event.failure.code, event.failure.isDead], [`${type}/Brand-new`, isDead])
    })

  it('Bounce Transient parks nothing, of whatever kind: SES has the mail, and that is all it says', () => {
    const [event] = parse('Bounce', { bounce: 'Transient/Brand-new' }).events

    assert.equal(event?.kind, 'sent')
  })

  it('speak of each recipient alone, and say when there are others', () => {
    const destination = ['a@example.com', 'b@example.com', 'c@example.com']
    const bounced = parse('Bounce', { destination, recipients: destination.slice(0, 2) }).events
    const delivered = parse('Delivery', { destination, recipients: destination }).events

    assert.deepEqual(
      bounced.map(({ recipient, isPartial }) => [recipient, isPartial]),
      [
        ['a@example.com', true],
        ['b@example.com', true],
      ],
    )
    assert.deepEqual(
      delivered.map(({ recipient, isPartial }) => [recipient, isPartial]),
      destination.map((recipient) => [recipient, false]),
    )
  })

  it('are none of the greeting that SES puts into a topic', () => {
    for (const greeting of [
      'Successfully validated SNS topic for Amazon SES event publishing.',
      { notificationType: 'AmazonSnsSubscriptionSucceeded', message: 'You have successfully subscribed' },
    ])
      assert.deepEqual(published(greeting), { events: [], unreadable: 0 })
  })

  it('are counted where nobody knows them', () => {
    for (const message of ['words', '', { eventType: 'Teleported' }, { eventType: 'constructor' }, [], 7])
      assert.deepEqual(published(message), { events: [], unreadable: 1 }, JSON.stringify(message))
  })

  it('say nothing in their errors that came with them', () => {
    const [event] = published({
      eventType: 'Bounce',
      mail: { messageId: 'm', destination: ['guest@example.com'] },
      bounce: {
        bounceType: 'Permanent',
        bounceSubType: 'guest@example.com is <b>unknown</b>',
        bouncedRecipients: [{ emailAddress: 'guest@example.com', diagnosticCode: 'smtp; 550 guest@example.com' }],
      },
    }).events

    assert.ok(event?.kind === 'bounced')
    assert.equal(event.failure.error, 'SES reported Permanent/unknown: The recipient’s server refused it for good.')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { awsSmsEvent, type SnsDelivery, snsDelivery, snsMessage } from '@pillarbox/vendors'
import { keptOf } from '../../../../test/support/callbacks.ts'
import { assertHeard } from '../../../../test/support/vendor-facts.ts'
import { systemClock } from '../runtime/system.ts'
import { createOutbound } from '../security/outbound.ts'
import { snsSmsReceipts } from './sns-sms.ts'
import { AWS_SMS_EVENTS, SNS_FAILURES } from './sns-sms-events.ts'

const EVENTS = {
  QUEUED: 'sent',
  PENDING: 'sent',
  SENT: 'sent',
  SUCCESSFUL: 'delivered',
  DELIVERED: 'delivered',
  READ: 'read',
  INVALID: 'failed: permanent invalid_recipient, dead',
  INVALID_MESSAGE: 'failed: permanent content_rejected',
  UNREACHABLE: 'failed: permanent unreachable',
  CARRIER_UNREACHABLE: 'failed: permanent unreachable',
  BLOCKED: 'failed: permanent unreachable',
  CARRIER_BLOCKED: 'failed: permanent content_rejected',
  SPAM: 'failed: permanent content_rejected',
  UNKNOWN: 'failed: permanent unreachable',
  TTL_EXPIRED: 'failed: permanent unreachable',
  PROTECT_BLOCKED: 'failed: permanent unreachable',
  FAILED: 'failed: permanent unreachable',
  FALLEN_BACK_TO_SMS: 'sent',
  FILE_INACCESSIBLE: 'failed: permanent content_rejected',
  FILE_TYPE_UNSUPPORTED: 'failed: permanent content_rejected',
  FILE_SIZE_EXCEEDED: 'failed: permanent content_rejected',
}

/** What SNS says in words only, and the code that stands for it. */
const FAILURES: Readonly<Record<string, [code: string, fact: string]>> = {
  'Blocked as spam by phone carrier': ['spam', 'permanent content_rejected'],
  'Destination is on a blocked list': ['destination_blocked', 'permanent unreachable'],
  'Invalid phone number': ['invalid_number', 'permanent invalid_recipient, dead'],
  'Message body is invalid': ['invalid_message', 'permanent content_rejected'],
  'Phone carrier has blocked this message': ['carrier_blocked', 'permanent content_rejected'],
  'Phone carrier is currently unreachable/unavailable': ['carrier_unreachable', 'permanent unreachable'],
  'Phone has blocked SMS': ['phone_blocked', 'permanent unreachable'],
  'Phone is on a blocked list': ['phone_blocked', 'permanent unreachable'],
  'Phone is currently unreachable/unavailable': ['phone_unreachable', 'permanent unreachable'],
  'Phone number is opted out': ['opted_out', 'permanent invalid_recipient, dead'],
  'This delivery would exceed max price': ['max_price', 'permanent unreachable'],
  'Unknown error attempting to reach phone': ['unknown', 'permanent unreachable'],
}

const AT = Date.UTC(2026, 10, 15, 9, 30, 15, 123)
const NOTIFICATION = '018f0000-0000-7000-8000-0000000000ff'
const MESSAGE = { messageId: '34d9b400-c6dd-5444-820d-fbeb0f1f54cf', phone: '+919876543210', at: AT }

const source = snsSmsReceipts({
  outbound: createOutbound({ clock: systemClock, allowPrivate: false }),
  clock: systemClock,
  certHosts: [],
})

const published = (message: unknown) =>
  source.parse(
    keptOf(
      snsMessage({
        certificateUrl: 'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem',
        topicArn: 'arn:aws:sns:us-east-1:123456789012:sms',
        at: AT + 500,
        messageId: 'sns-1',
        message,
      }),
      AT + 1_000,
    ),
  )

describe('the events of End User Messaging', () => {
  const parse = (eventType: string) =>
    published(awsSmsEvent(eventType, { ...MESSAGE, context: { notificationId: NOTIFICATION } }))

  it('name the message, our reference, the time and the recipient', () => {
    assert.deepEqual(parse('TEXT_DELIVERED'), {
      events: [
        {
          provider: 'aws-sms',
          providerMessageId: MESSAGE.messageId,
          notificationId: NOTIFICATION,
          at: AT,
          recipient: '+919876543210',
          isPartial: false,
          eventId: 'sns-1',
          kind: 'delivered',
        },
      ],
      unreadable: 0,
    })
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(EVENTS).sort(), Object.keys(AWS_SMS_EVENTS).sort())
  })

  for (const family of ['TEXT', 'MEDIA', 'RCS'])
    for (const [name, fact] of Object.entries(EVENTS))
      it(`${family}_${name} means ${fact}`, () => {
        assertHeard(parse(`${family}_${name}`).events, fact, 'AWS', `${family}_${name}`)
      })

  it('are none of a call’s, and counted where nobody knows them', () => {
    assert.deepEqual(parse('VOICE_COMPLETED'), { events: [], unreadable: 0 })
    for (const type of ['TEXT_TELEPORTED', 'TEXT_constructor', 'DELIVERED', ''])
      assert.deepEqual(parse(type), { events: [], unreadable: 1 }, type)
  })
})

describe('SNS’s record of a delivery', () => {
  const parse = (record: Partial<SnsDelivery>) => published(snsDelivery({ ...MESSAGE, status: 'SUCCESS', ...record }))

  it('names the message, the time and the recipient', () => {
    assert.deepEqual(parse({}), {
      events: [
        {
          provider: 'sns',
          providerMessageId: MESSAGE.messageId,
          notificationId: null,
          at: AT,
          recipient: '+919876543210',
          isPartial: false,
          eventId: 'sns-1',
          kind: 'delivered',
        },
      ],
      unreadable: 0,
    })
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(FAILURES).sort(), Object.keys(SNS_FAILURES).sort())
  })

  for (const [words, [code, fact]] of Object.entries(FAILURES))
    it(`takes “${words}” for ${fact}`, () => {
      const { events } = parse({ status: 'FAILURE', providerResponse: words })

      assertHeard(events, `failed: ${fact}`, 'AWS', code)
    })

  it('takes words that nobody knows for a failure without repeating them', () => {
    const [event] = parse({ status: 'FAILURE', providerResponse: 'no way to +919876543210' }).events

    assert.ok(event?.kind === 'failed')
    assert.equal(event.failure.error, 'AWS reported unknown: It was not delivered.')
  })

  it('is counted with another status, and so is what is neither', () => {
    assert.deepEqual(parse({ status: 'MAYBE' as SnsDelivery['status'] }), { events: [], unreadable: 1 })
    for (const message of ['words', {}, null, [1]])
      assert.deepEqual(published(message), { events: [], unreadable: 1 }, JSON.stringify(message))
  })
})

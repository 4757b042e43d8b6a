import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { awsSmsEvent, type SnsDelivery, snsDelivery, snsMessage } from '@pillarbox/vendors'
import { keptOf } from '../../../../test/support/callbacks.ts'
import { outcomeOf } from '../channels/vendor-answers.ts'
import { createOutbound } from '../security/outbound.ts'
import { systemClock } from '../system.ts'
import { snsSmsReceipts } from './sns-sms.ts'
import { AWS_SMS_EVENTS, SNS_FAILURES } from './sns-sms-events.ts'

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

  for (const family of ['TEXT', 'MEDIA', 'RCS'])
    for (const [name, { words, ...meaning }] of Object.entries(AWS_SMS_EVENTS))
      it(`${family}_${name} means ${meaning.means}: ${words}`, () => {
        const [event] = parse(`${family}_${name}`).events

        assert.equal(event?.kind, meaning.means)
        if (event?.kind !== 'failed' || meaning.means !== 'failed') return
        const code = `${family}_${name}`
        assert.deepEqual(event.failure, outcomeOf(meaning.rule, code, `AWS reported ${code}: ${words}`))
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

  for (const [words, { code, rule }] of Object.entries(SNS_FAILURES))
    it(`takes “${words}” for ${rule.does}`, () => {
      const [event] = parse({ status: 'FAILURE', providerResponse: words }).events

      assert.ok(event?.kind === 'failed')
      assert.deepEqual(event.failure, outcomeOf(rule, code, `AWS reported ${code}: ${words}.`))
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

import { at, textAt } from '../channels/vendor-answers.ts'
import {
  believed,
  codeAt,
  idAt,
  instantIn,
  jsonIn,
  type Meaning,
  meaningOf,
  phoneAt,
  type Reading,
  receiptSource,
  referenceAt,
} from './reading.ts'
import type { KeptCallback, ReceiptSource } from './receipt-source.ts'
import { createSnsVerifier, snsMessageIn } from './sns.ts'
import type { SnsDeps } from './sns-certificates.ts'
import { AWS_SMS_EVENTS, snsFailure } from './sns-sms-events.ts'

/**
 * SMS by AWS, over SNS: the events of End User Messaging, which are about messages of `aws-sms`, and the record that SNS
 * itself keeps of a delivery, about messages of `sns`, for those who forward it from its log.
 */
export function snsSmsReceipts(deps: SnsDeps): ReceiptSource {
  return receiptSource({
    name: 'sns-sms',
    providers: ['sns', 'aws-sms'],
    vendor: 'AWS',
    isShared: true,
    verify: createSnsVerifier(deps),
    read,
  })
}

type SnsMessage = ReturnType<typeof snsMessageIn>

function read(kept: KeptCallback, reading: Reading): void {
  const message = snsMessageIn(kept)
  if (!message.isReport) return
  const json = jsonIn(message.text ?? '')
  if (at(json, 'eventType') !== undefined) addEvent(reading, kept, message, json)
  else if (at(json, 'delivery') !== undefined) addRecord(reading, kept, message, json)
  else reading.miss()
}

function addEvent(reading: Reading, kept: KeptCallback, { messageId, publishedAt }: SnsMessage, json: unknown): void {
  const [, family, name] = /^(TEXT|MEDIA|RCS|VOICE)_(\w{1,64})$/.exec(textAt(json, 'eventType') ?? '') ?? []
  if (family === 'VOICE') return
  const time = at(json, 'eventTimestamp')
  const facts = {
    provider: 'aws-sms',
    providerMessageId: idAt(json, 'messageId'),
    notificationId: referenceAt(json, 'context', 'notificationId'),
    at: believed(kept, typeof time === 'number' ? time : null, publishedAt),
    recipient: phoneAt(json, 'destinationPhoneNumber'),
    eventId: idAt(messageId),
  }
  reading.add(facts, { code: codeAt(json, 'eventType'), meaning: meaningOf(AWS_SMS_EVENTS, name ?? null) })
}

function addRecord(reading: Reading, kept: KeptCallback, { messageId, publishedAt }: SnsMessage, json: unknown): void {
  const facts = {
    provider: 'sns',
    providerMessageId: idAt(json, 'notification', 'messageId'),
    notificationId: null,
    at: believed(kept, instantIn(textAt(json, 'notification', 'timestamp'), 'Z'), publishedAt),
    recipient: phoneAt(json, 'delivery', 'destination'),
    eventId: idAt(messageId),
  }
  const status = textAt(json, 'status')
  if (status === 'SUCCESS') reading.add(facts, { code: '', meaning: CARRIER_TOOK_IT })
  else if (status === 'FAILURE') reading.add(facts, snsFailure(textAt(json, 'delivery', 'providerResponse')))
  else reading.miss()
}

const CARRIER_TOOK_IT: Meaning = { means: 'delivered', words: 'The carrier took it.' }

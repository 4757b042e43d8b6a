import { type KeyObject, verify as verifySignature } from 'node:crypto'
import { isTopicArn, topicOf } from '../channels/aws.ts'
import { at, textAt } from '../channels/vendor-answers.ts'
import type { Account } from '../model/account.ts'
import { accountsWithToken } from './proof.ts'
import { instantIn, jsonIn } from './reading.ts'
import { answer, type Callback, forged, goodFor, type KeptCallback, type Verified } from './receipt-source.ts'
import { createSnsCertificates, isSnsUrl, type SnsDeps } from './sns-certificates.ts'

const HOUR_MS = 3_600_000
/** A message is at most 1 MiB, which JSON may write at twice the length and more. */
const MOST_BYTES = 4_000_000
const LONGEST_SIGNATURE = 2_048

/** What is signed, in this order; a subject only where there is one. */
const SIGNED = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const

type SnsType = keyof typeof SIGNED

interface SnsEnvelope {
  type: SnsType
  /** What the signature covers. */
  signed: string
  signature: Buffer
  algorithm: 'RSA-SHA1' | 'RSA-SHA256'
  certificateUrl: string
  topicArn: string
  publishedAt: number
  subscribeUrl: string | null
}

/**
 * Whether a callback comes from Amazon SNS and is about an account: signed by a certificate from SNS itself, within the last
 * hour, and of the topic that the account names as `topicArn`, or, where it names none, sent to the address with the
 * account's token. A subscription is confirmed where an account names its topic, and nowhere else: whoever learns a token
 * could have a topic of his own speak for the account. One that only the token speaks for is kept, with what to set.
 */
export function createSnsVerifier(
  deps: SnsDeps,
): (callback: Callback, accounts: readonly Account[]) => Promise<Verified> {
  const { outbound, clock, certHosts } = deps
  const certificates = createSnsCertificates(deps)

  // What costs nothing is asked first: only a message that could be genuine makes us fetch a certificate.
  return async (callback, accounts) => {
    if (callback.rawBody.length > MOST_BYTES) return forged('too_large')
    const envelope = envelopeIn(callback.rawBody)
    if (!envelope) return forged('malformed')
    const meant = accountsMeant(callback, accounts, envelope.topicArn)
    if (meant.length === 0) return forged(callback.query.get('token') ? 'token_wrong' : 'unknown_topic')
    if (Math.abs(clock.now() - envelope.publishedAt) > HOUR_MS) return forged('replayed')
    const key = await certificates.find(envelope.certificateUrl)
    // SNS comes again after a 5xx, and never after a 4xx.
    if (key === 'unavailable') return answer('the certificate of SNS could not be fetched', { status: 503 })
    if (typeof key === 'string') return forged(key)
    if (!isGenuine(envelope, key)) return forged('signature_wrong')
    if (envelope.type === 'Notification') return goodFor(meant, 'unknown_topic')
    if (envelope.type === 'UnsubscribeConfirmation') return answer('SNS ended the subscription of a topic')
    if (meant.some((account) => topicOf(account) === envelope.topicArn)) return await confirm(envelope)
    return { ...goodFor(meant, 'unknown_topic'), note: unconfirmed(envelope.topicArn) }
  }

  async function confirm({ subscribeUrl }: SnsEnvelope): Promise<Verified> {
    if (subscribeUrl === null || !isSnsUrl(subscribeUrl, certHosts)) return forged('subscribe_host')
    const limits = { totalMs: 5_000, answerBytes: 100_000 }
    const confirmed = await outbound.request({ method: 'GET', url: subscribeUrl, limits })
    return confirmed.kind === 'answer' && confirmed.status >= 200 && confirmed.status < 300
      ? answer('confirmed the subscription of a topic of SNS')
      : answer('the subscription of a topic of SNS could not be confirmed', { status: 503 })
  }
}

function unconfirmed(topicArn: string): string {
  const topic = isTopicArn(topicArn) ? topicArn : 'a topic'
  return `SNS asks whether ${topic} may send here, and no account names it: nothing was confirmed. If it is yours, set topicArn of the account to it and have SNS ask again.`
}

/** The message inside a genuine callback: text, which for all our purposes is JSON. */
export function snsMessageIn({ rawBody }: KeptCallback): {
  /** It says something of a message; otherwise SNS speaks of the subscription. */
  isReport: boolean
  text: string | null
  messageId: string | null
  publishedAt: number | null
} {
  const json = jsonIn(rawBody)
  return {
    isReport: stringAt(json, 'Type') === 'Notification',
    text: stringAt(json, 'Message'),
    messageId: stringAt(json, 'MessageId'),
    publishedAt: instantIn(stringAt(json, 'Timestamp'), 'Z'),
  }
}

function envelopeIn(rawBody: Buffer): SnsEnvelope | null {
  const json = jsonIn(rawBody)
  const type = stringAt(json, 'Type')
  const topicArn = stringAt(json, 'TopicArn')
  const publishedAt = instantIn(stringAt(json, 'Timestamp'), 'Z')
  const certificateUrl = stringAt(json, 'SigningCertURL') ?? stringAt(json, 'SigningCertUrl')
  const signature = stringAt(json, 'Signature')
  const version = textAt(json, 'SignatureVersion')
  if (type === null || !Object.hasOwn(SIGNED, type) || topicArn === null || publishedAt === null) return null
  if (certificateUrl === null || signature === null || signature.length > LONGEST_SIGNATURE) return null
  if (version !== '1' && version !== '2') return null
  const signed = signedText(json, type as SnsType)
  if (signed === null) return null
  return {
    type: type as SnsType,
    signed,
    signature: Buffer.from(signature, 'base64'),
    algorithm: version === '1' ? 'RSA-SHA1' : 'RSA-SHA256',
    certificateUrl,
    topicArn,
    publishedAt,
    subscribeUrl: stringAt(json, 'SubscribeURL'),
  }
}

/** Each name and its value, a line each; null where one is missing. */
function signedText(json: unknown, type: SnsType): string | null {
  let text = ''
  for (const name of SIGNED[type]) {
    const value = stringAt(json, name)
    if (value !== null) text += `${name}\n${value}\n`
    else if (name !== 'Subject') return null
  }
  return text
}

/**
 * The accounts that name the topic, and those that name none and whose token the address carries. Anybody can make a topic
 * and have SNS sign what he likes: a signature alone proves nothing about an account.
 */
function accountsMeant(callback: Callback, accounts: readonly Account[], topicArn: string): Account[] {
  const unnamed = accounts.filter((account) => topicOf(account) === null)
  return [...accounts.filter((account) => topicOf(account) === topicArn), ...accountsWithToken(callback, unnamed)]
}

function isGenuine({ algorithm, signed, signature }: SnsEnvelope, key: KeyObject): boolean {
  try {
    return verifySignature(algorithm, Buffer.from(signed), key, signature)
  } catch {
    return false
  }
}

/** Text and nothing else: a number would be signed as something we can only guess. An empty one counts. */
function stringAt(value: unknown, name: string): string | null {
  const found = at(value, name)
  return typeof found === 'string' ? found : null
}

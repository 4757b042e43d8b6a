import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { type SnsMessage, snsMessage, startSnsCertificateServer } from '@pillarbox/vendors'
import fc from 'fast-check'
import { callbackOf, withBitTurned } from '../../../../test/support/callbacks.ts'
import { account } from '../../../../test/support/providers.ts'
import type { Outbound } from '../channels/outbound.ts'
import type { Clock } from '../model/ports.ts'
import { systemClock } from '../runtime/system.ts'
import { createOutbound } from '../security/outbound.ts'
import type { Callback } from './receipt-source.ts'
import { sesReceipts } from './ses.ts'
import { snsSmsReceipts } from './sns-sms.ts'

const TOPIC = 'arn:aws:sns:us-east-1:123456789012:ses'
const OTHER_TOPIC = 'arn:aws:sns:us-east-1:999999999999:other'
const HOUR_MS = 3_600_000

const named = account('email', 'ses', { settings: { topicArn: TOPIC } })
const other = { ...named, id: 'other', tenantId: 'other', settings: { topicArn: OTHER_TOPIC } }
const unnamed = { ...named, id: 'unnamed', tenantId: 'third', settings: {} }

async function setup(t: TestContext, { allowPrivate = true, certHosts = ['127.0.0.1'] } = {}) {
  const server = await startSnsCertificateServer()
  t.after(server.close)
  const { outbound, fetched } = counting(t, allowPrivate)
  const { clock, now } = fixedClock()
  const verify = sesReceipts({ outbound, clock, certHosts }).verify
  const message = (given: Partial<SnsMessage> = {}): Callback =>
    callbackOf(
      'ses',
      snsMessage({
        certificateUrl: server.certificateUrl,
        subscribeUrl: server.subscribeUrl,
        topicArn: TOPIC,
        at: now,
        message: { eventType: 'Delivery' },
        ...given,
      }),
    )
  return { server, verify, message, fetched, now }
}

/** The real way out, and where it was taken to. */
function counting(t: TestContext, allowPrivate: boolean): { outbound: Outbound; fetched: string[] } {
  const fetched: string[] = []
  const real = createOutbound({ clock: systemClock, allowPrivate, limits: { firstByteMs: 2_000 } })
  t.after(real.close)
  return {
    fetched,
    outbound: {
      request: (request) => {
        fetched.push(request.url)
        return real.request(request)
      },
    },
  }
}

function fixedClock(): { clock: Clock; now: number } {
  const now = Date.UTC(2026, 10, 15, 9)
  return { clock: { ...systemClock, now: () => now }, now }
}

/** The same message with fields changed after it was signed. */
function altered(callback: Callback, changes: Record<string, unknown>): Callback {
  const json = { ...(JSON.parse(callback.rawBody.toString()) as object), ...changes }
  return { ...callback, rawBody: Buffer.from(JSON.stringify(json)) }
}

describe('a message of SNS', () => {
  for (const signatureVersion of ['1', '2'] as const)
    for (const subject of [undefined, 'Amazon SES Email Event Notification', ''])
      it(`is believed with signature version ${signatureVersion} and ${subject === undefined ? 'no subject' : `“${subject}” for a subject`}`, async (t) => {
        const { verify, message } = await setup(t)

        const verified = await verify(message({ signatureVersion, ...(subject === undefined ? {} : { subject }) }), [
          named,
        ])

        assert.deepEqual(verified, { kind: 'good', account: named, accounts: [named] })
      })

  it('fetches its certificate once, however many come at a time', async (t) => {
    const { verify, message, fetched, server } = await setup(t)

    const together = await Promise.all(Array.from({ length: 20 }, () => verify(message(), [named])))
    const later = await verify(message(), [named])

    for (const verified of [...together, later]) assert.equal(verified.kind, 'good')
    assert.deepEqual(fetched, [server.certificateUrl])
  })

  it('is never believed to say something else when any one bit of it was turned', async (t) => {
    const { verify, message } = await setup(t)
    const genuine = message({ subject: 'subject' })

    await fc.assert(
      fc.asyncProperty(fc.nat({ max: genuine.rawBody.length * 8 - 1 }), async (bit) => {
        const rawBody = withBitTurned(genuine.rawBody, bit)
        const verified = await verify({ ...genuine, rawBody }, [named])
        // White space, and the address that would end the subscription, are not signed and mean nothing to us.
        if (verified.kind === 'good') assert.deepEqual(signedPart(rawBody), signedPart(genuine.rawBody))
      }),
      { numRuns: 1_000 },
    )
  })

  for (const field of [
    'Message',
    'MessageId',
    'Subject',
    'Timestamp',
    'TopicArn',
    'Type',
    'Signature',
    'SignatureVersion',
  ])
    it(`is forged when its ${field} was changed, taken away, or made a number`, async (t) => {
      const { verify, message, now } = await setup(t)
      const genuine = message({ subject: 'subject' })
      const changed: Record<string, string> = {
        Timestamp: new Date(now - 1_000).toISOString(),
        TopicArn: OTHER_TOPIC,
        Type: 'UnsubscribeConfirmation',
        SignatureVersion: '1',
      }

      for (const value of [changed[field] ?? 'changed', undefined, 7, null, { deep: 1 }])
        assert.equal(
          (await verify(altered(genuine, { [field]: value }), [named, other])).kind,
          'forged',
          JSON.stringify(value),
        )
    })

  it('is forged when another key signed it, or a word of it is read twice', async (t) => {
    const { verify, message } = await setup(t)
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const genuine = message()
    const twice = `${genuine.rawBody.toString().slice(0, -1)}, "Message": "last" }`

    const forged = { kind: 'forged', why: 'signature_wrong' }
    assert.deepEqual(await verify(message({ key }), [named]), forged)
    assert.deepEqual(await verify(message({ key, signatureVersion: '1' }), [named]), forged)
    assert.deepEqual(await verify({ ...genuine, rawBody: Buffer.from(twice) }, [named]), forged)
  })

  it('is refused as a replay once it is more than an hour old, or from further ahead', async (t) => {
    const { verify, message, now, fetched } = await setup(t)

    for (const at of [now - HOUR_MS - 1, now - 30 * 24 * HOUR_MS, now + HOUR_MS + 1])
      assert.deepEqual(await verify(message({ at }), [named]), { kind: 'forged', why: 'replayed' })
    assert.deepEqual(fetched, [])
    for (const at of [now - HOUR_MS + 1, now + 60_000])
      assert.equal((await verify(message({ at }), [named])).kind, 'good')
  })

  it('is forged for nobody’s account, by another method, when it is no message, and when it is huge', async (t) => {
    const { verify, message, fetched } = await setup(t)
    const genuine = message()
    const huge = Buffer.alloc(5_000_000, '[')

    assert.deepEqual(await verify(genuine, []), { kind: 'forged', why: 'no_account' })
    assert.deepEqual(await verify({ ...genuine, method: 'GET' }, [named]), { kind: 'forged', why: 'wrong_method' })
    assert.deepEqual(await verify({ ...genuine, rawBody: huge }, [named]), { kind: 'forged', why: 'too_large' })
    for (const text of ['', 'words', '[]', 'null', '{}', '7', '{"__proto__":{"Type":"Notification"}}'])
      assert.deepEqual(await verify({ ...genuine, rawBody: Buffer.from(text) }, [named]), {
        kind: 'forged',
        why: 'malformed',
      })
    assert.deepEqual(fetched, [])
  })
})

describe('the topic of an SNS message', () => {
  const FOREIGN = 'arn:aws:sns:us-east-1:666666666666:ses'
  const withToken = { ...unnamed, secrets: { webhookToken: 'a-token-nobody-guesses' } }
  const twin = { ...withToken, id: 'twin', secrets: { webhookToken: 'another-token-of-16' } }
  const calledWith = (callback: Callback, token: string): Callback => ({
    ...callback,
    query: new URLSearchParams({ token }),
  })

  it('must be one that an account names, however genuine its signature is', async (t) => {
    const { verify, message, fetched } = await setup(t)
    const everybody = [named, other, unnamed, withToken, { ...named, settings: { topicArn: '' } }]

    for (const type of ['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation'] as const) {
      const verified = await verify(message({ type, topicArn: FOREIGN }), everybody)
      assert.deepEqual(verified, { kind: 'forged', why: 'unknown_topic' }, type)
    }
    assert.deepEqual(fetched, [])
  })

  it('lets a message speak for the accounts that name it, and for nobody else', async (t) => {
    const { verify, message } = await setup(t)
    const sharer = { ...other, id: 'sharer' }

    const verified = await verify(message({ topicArn: OTHER_TOPIC }), [named, other, sharer, unnamed, withToken])

    assert.deepEqual(verified, { kind: 'good', account: null, accounts: [other, sharer] })
  })

  it('may be any where the address carries the token of an account that names none', async (t) => {
    const { verify, message } = await setup(t)
    const everybody = [named, unnamed, withToken, twin]

    assert.deepEqual(await verify(calledWith(message({ topicArn: FOREIGN }), 'a-token-nobody-guesses'), everybody), {
      kind: 'good',
      account: withToken,
      accounts: [withToken],
    })
  })

  it('is subscribed to only where an account names it; otherwise it is noted what to name', async (t) => {
    const { verify, message, server } = await setup(t)
    const asks = (topicArn: string) =>
      calledWith(message({ topicArn, type: 'SubscriptionConfirmation' }), 'a-token-nobody-guesses')

    const unconfirmed = await verify(asks(FOREIGN), [named, withToken])
    assert.equal(unconfirmed.kind, 'good')
    assert.ok(unconfirmed.kind === 'good' && unconfirmed.note?.includes(FOREIGN))
    assert.deepEqual(unconfirmed.accounts, [withToken])
    assert.deepEqual(server.confirmations, [])

    const confirmed = await verify(asks(TOPIC), [named, withToken])
    assert.equal(confirmed.kind === 'answer' && confirmed.status, 200)
    assert.equal(server.confirmations.length, 1)
  })

  it('says nothing of a message while it only asks to be subscribed to', async (t) => {
    const { message } = await setup(t)
    const { rawBody } = message({ type: 'SubscriptionConfirmation' })

    for (const source of [sesReceipts, snsSmsReceipts]) {
      const { parse } = source({ outbound: { request: () => assert.fail() }, clock: systemClock, certHosts: [] })
      assert.deepEqual(parse({ rawBody, headers: {}, receivedAt: 0 }), { events: [], unreadable: 0 })
    }
  })

  it('is not made good by a token that is wrong, or that belongs to an account that names another topic', async (t) => {
    const { verify, message, server, fetched } = await setup(t)
    const both = { ...named, secrets: { webhookToken: 'a-token-nobody-guesses' } }

    for (const type of ['Notification', 'SubscriptionConfirmation'] as const) {
      const foreign = message({ type, topicArn: FOREIGN })
      for (const token of ['wrong-token-of-some-length', '', 'a-token-nobody-guesse'])
        assert.equal((await verify(calledWith(foreign, token), [unnamed, withToken])).kind, 'forged', token)
      const verified = await verify(calledWith(foreign, 'a-token-nobody-guesses'), [both])
      assert.deepEqual(verified, { kind: 'forged', why: 'token_wrong' })
    }
    assert.deepEqual([fetched, server.confirmations], [[], []])
  })
})

describe('the certificate of an SNS message', () => {
  it('is not fetched from a host that is not the vendor’s', async (t) => {
    const { verify, message, fetched } = await setup(t, { certHosts: [] })

    assert.deepEqual(await verify(message(), [named]), { kind: 'forged', why: 'certificate_host' })
    assert.deepEqual(fetched, [])
  })

  it('is taken from a host that the server is told to trust, with or without its port', async (t) => {
    const { message, server, now } = await setup(t)
    const { outbound } = counting(t, true)

    for (const host of ['127.0.0.1', new URL(server.url).host]) {
      const verify = sesReceipts({ outbound, clock: { ...systemClock, now: () => now }, certHosts: [host] }).verify
      assert.equal((await verify(message(), [named])).kind, 'good', host)
    }
  })

  it('is refused when it has run out', async (t) => {
    const { verify, message, server } = await setup(t)

    const verified = await verify(message({ certificateUrl: server.expiredCertificateUrl }), [named])

    assert.deepEqual(verified, { kind: 'forged', why: 'certificate_expired' })
  })

  it('is refused when it is missing, none, or too large', async (t) => {
    const { verify, message, server } = await setup(t)
    const unusable = { kind: 'forged', why: 'certificate_unusable' }

    server.answerWith('missing', { status: 200, body: 'no certificate' }, { status: 200, body: 'x'.repeat(200_000) })
    for (let i = 0; i < 3; i++) assert.deepEqual(await verify(message(), [named]), unusable)
    server.answerWith({ status: 302, headers: { location: 'http://127.0.0.1/' } })
    assert.deepEqual(await verify(message(), [named]), unusable)
    assert.equal((await verify(message(), [named])).kind, 'good')
  })

  it('that cannot be fetched at present makes SNS come again', async (t) => {
    const { verify, message, server } = await setup(t)

    for (const trouble of ['unavailable', 'reset'] as const) {
      server.answerWith(trouble)
      const verified = await verify(message(), [named])
      assert.equal(verified.kind === 'answer' && verified.status, 503, trouble)
    }
    assert.equal((await verify(message(), [named])).kind, 'good')
  })

  it('is only dialled where addresses like its host’s may be', async (t) => {
    const { verify, message, server } = await setup(t, { allowPrivate: false })

    const verified = await verify(message(), [named])

    assert.equal(verified.kind === 'answer' && verified.status, 503)
    assert.deepEqual(server.requests, [])
  })
})

describe('a confirmation of SNS', () => {
  for (const signatureVersion of ['1', '2'] as const)
    it(`makes us confirm the subscription, with signature version ${signatureVersion}`, async (t) => {
      const { verify, message, server } = await setup(t)

      const verified = await verify(message({ type: 'SubscriptionConfirmation', signatureVersion }), [named])

      assert.deepEqual(verified, {
        kind: 'answer',
        status: 200,
        body: '',
        contentType: 'text/plain; charset=utf-8',
        headers: {},
        note: 'confirmed the subscription of a topic of SNS',
      })
      assert.equal(server.confirmations.length, 1)
    })

  it('does not, of a topic nobody expects, when it was tampered with, or when it is old', async (t) => {
    const { verify, message, server, now } = await setup(t)
    const genuine = message({ type: 'SubscriptionConfirmation' })
    const elsewhere = `${server.url}/?Action=ConfirmSubscription&Token=other`

    for (const callback of [
      message({ type: 'SubscriptionConfirmation', topicArn: OTHER_TOPIC }),
      message({ type: 'SubscriptionConfirmation', at: now - 2 * HOUR_MS }),
      altered(genuine, { SubscribeURL: elsewhere }),
      altered(genuine, { Token: 'other' }),
      altered(genuine, { Token: undefined }),
      // The keys of a notification must not do for it.
      altered(message(), { Type: 'SubscriptionConfirmation', Token: 'x', SubscribeURL: elsewhere }),
    ])
      assert.equal((await verify(callback, [named])).kind, 'forged')
    assert.equal(server.confirmations.length, 0)
  })

  for (const subscribeUrl of [
    'http://169.254.169.254/latest/meta-data/',
    'http://localhost/?Action=ConfirmSubscription',
    'http://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription',
    'https://sns.us-east-1.amazonaws.com.example.com/?Action=ConfirmSubscription',
    'file:///etc/passwd',
    'not a URL',
    '',
  ])
    it(`does not call “${subscribeUrl}”`, async (t) => {
      const { verify, message, fetched, server } = await setup(t)

      const verified = await verify(message({ type: 'SubscriptionConfirmation', subscribeUrl }), [named])

      assert.deepEqual(verified, { kind: 'forged', why: 'subscribe_host' })
      assert.deepEqual(fetched, [server.certificateUrl])
    })

  it('that could not be confirmed makes SNS come again', async (t) => {
    const { verify, message, server } = await setup(t)
    await verify(message(), [named])
    server.answerWith('unavailable')

    const verified = await verify(message({ type: 'SubscriptionConfirmation' }), [named])

    assert.equal(verified.kind === 'answer' && verified.status, 503)
    assert.equal(server.confirmations.length, 0)
  })

  it('of an end is answered, and the subscription not taken up again', async (t) => {
    const { verify, message, server } = await setup(t)

    const verified = await verify(message({ type: 'UnsubscribeConfirmation' }), [named])

    assert.equal(verified.kind === 'answer' && verified.status, 200)
    assert.equal(server.confirmations.length, 0)
  })
})

/** All that a message says under its signature. */
function signedPart(rawBody: Buffer): unknown {
  const { Message, MessageId, Subject, Timestamp, TopicArn, Type } = JSON.parse(rawBody.toString()) as Record<
    string,
    unknown
  >
  return { Message, MessageId, Subject, Timestamp, TopicArn, Type }
}

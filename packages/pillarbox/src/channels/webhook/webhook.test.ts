import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { startWebhookReceiver } from '@pillarbox/vendors'
import { Webhook } from 'standardwebhooks'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { told } from '../../../../../test/support/vendor-facts.ts'
import { systemClock } from '../../runtime/system.ts'
import { createOutbound } from '../../security/outbound.ts'
import { inTrace } from '../trace.ts'
import { webhookProvider } from './webhook.ts'
import { WEBHOOK_STATUSES } from './webhook-errors.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

const FACTS = {
  301: 'permanent invalid_recipient',
  302: 'permanent invalid_recipient',
  307: 'permanent invalid_recipient',
  308: 'permanent invalid_recipient',
  400: 'transient',
  401: 'transient',
  403: 'transient',
  404: 'transient',
  408: 'transient',
  410: 'permanent invalid_recipient, dead',
  413: 'permanent content_rejected',
  429: 'throttled recipient',
  500: 'transient',
  502: 'throttled recipient',
  503: 'transient',
  504: 'throttled recipient',
}

async function setup(t: TestContext, signingSecret = SECRET) {
  const receiver = await startWebhookReceiver()
  t.after(receiver.close)
  const provider = webhookProvider(testOutbound(t))
  const sender = account('webhook', 'webhook', { secrets: { signingSecret } })
  const request = sendRequest(sender, {
    to: { url: `${receiver.url}/hooks` },
    content: { subject: 'booking.confirmed', body: 'Confirmed', data: { bookingId: 1 } },
  })
  return { receiver, provider, request }
}

describe('webhook', () => {
  it('is signed so that the standard’s own library accepts it, and says what happened', async (t) => {
    const { receiver, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: request.notificationId })
    const { body, headers } = receiver.received[0] ?? assert.fail('nothing arrived')
    const message = new Webhook(SECRET).verify(body, headers) as Record<string, unknown>
    assert.equal(headers['webhook-id'], request.notificationId)
    assert.equal(message['type'], 'booking.confirmed')
    assert.deepEqual(message['data'], { bookingId: 1, body: 'Confirmed' })
  })

  it('belongs to the trace that it is sent in, and to none outside of one', async (t) => {
    const { receiver, provider, request } = await setup(t)
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

    await inTrace(trace, () => provider.send(request))
    await inTrace(null, () => provider.send(request))

    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['traceparent']),
      [trace, undefined],
    )
  })

  it('is signed with each of several secrets while one is changed for another', async (t) => {
    const { receiver, provider, request } = await setup(t, `${OTHER} ${SECRET}`)

    await provider.send(request)

    const { body, headers } = receiver.received[0] ?? assert.fail('nothing arrived')
    for (const secret of [SECRET, OTHER]) new Webhook(secret).verify(body, headers)
  })

  it('has a fact for every line of its table', () => {
    assert.deepEqual(Object.keys(FACTS).sort(), Object.keys(WEBHOOK_STATUSES).sort())
  })

  for (const [status, fact] of Object.entries(FACTS))
    it(`takes ${status} for ${fact}`, async (t) => {
      const { receiver, provider, request } = await setup(t)
      receiver.answerWith({ status: Number(status), body: '' })

      const [comesTo, code, error] = told(await provider.send(request))

      assert.deepEqual([comesTo, code], [fact, status])
      assert.match(error, new RegExp(`^answered ${status}: [a-z]`))
    })

  it('does not follow a redirect, wherever it leads', async (t) => {
    const { receiver, provider, request } = await setup(t)
    receiver.answerWith({ status: 303, headers: { location: `${receiver.url}/elsewhere` } })

    assert.equal((await provider.send(request)).kind, 'permanent')
    assert.equal(receiver.requests.length, 1)
  })

  it('does not call an address inside our own network, and leaves the account alone', async (t) => {
    const { receiver, request } = await setup(t)
    const outbound = createOutbound({ clock: systemClock, allowPrivate: false })
    t.after(outbound.close)
    const provider = webhookProvider({ outbound, clock: systemClock })

    const outcome = await provider.send(request)

    assert.deepEqual([outcome.kind, 'code' in outcome && outcome.code], ['permanent', 'address_refused'])
    assert.equal(receiver.requests.length, 0)
  })

  it('honours Retry-After, but not for longer than a day', async (t) => {
    const { receiver, provider, request } = await setup(t)
    receiver.answerWith({ status: 429, headers: { 'retry-after': '99999999' } })

    const outcome = await provider.send(request)

    assert.equal('retryAfterMs' in outcome && outcome.retryAfterMs, 24 * 3_600_000)
  })

  it('stops the account when its signing secret is none', async (t) => {
    const { receiver, provider, request } = await setup(t, 'whsec_short')

    assert.equal((await provider.send(request)).kind, 'unauthorized')
    assert.deepEqual(await provider.verify?.(request.account, request.signal), {
      isGood: false,
      error: 'signingSecret must be whsec_ and base64 of 24 to 64 bytes.',
    })
    assert.equal(receiver.requests.length, 0)
  })
})

import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { startWebhookReceiver } from '@pillarbox/vendors'
import { LINES } from '../support/loopback-vendors.ts'
import { openReceiptWorld } from '../support/receipt-world.ts'
import { until } from '../support/until.ts'
import { onEachStore } from '../support/world.ts'

/** As an application or `node --import ./tracing.mjs` registers an SDK before the server starts. */
const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(
  new TracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  }),
)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const PARENT = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01`, spanId: 'b7ad6b7169203331' }

const CATALOGUE = {
  name: 'bookings',
  defaultLocale: 'en',
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      once: 'per-event',
      recipients: [{ phone: 'phone' }],
      delivery: { channels: ['whatsapp'] },
      templates: [{ channel: 'whatsapp', body: 'The code of room {{room}} is {{code}}.' }],
    },
  },
}

beforeEach(() => exporter.reset())

/** Waits until the spans of a trace are these, oldest first. */
async function spansOf(traceId: string, names: readonly string[]): Promise<ReadableSpan[]> {
  return await until(`the spans ${names.join(', ')} are there`, () => {
    const spans = exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId)
    const found = names.map((name) => spans.find((span) => span.name === `pillarbox.${name}`) ?? null)
    return found.every((span) => span !== null) && found
  })
}

const parents = (spans: readonly ReadableSpan[]): (string | undefined)[] =>
  spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)

const idOf = (span: ReadableSpan | undefined): string => span?.spanContext().spanId ?? ''

async function published(url: string, key: string, traceparent: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', traceparent }
  const answer = await fetch(`${url}/api/events`, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(answer.status, 202, await answer.text())
}

onEachStore('a trace', openReceiptWorld, (world) => {
  it('goes from the request over planning and the provider’s call to the receipt', async () => {
    const { product, vendors, callBack } = world()
    const [meta = assert.fail()] = LINES
    const tenant = await product.tenant({ catalogue: CATALOGUE })
    const account = await tenant.account(meta.account(vendors))
    const payload = { phone: '+919876512345', room: '12', code: 'the-code-of-the-door' }
    const entity = { type: 'booking', id: '1' }
    await published(product.url, tenant.adminKey, PARENT.traceparent, { type: 'booking.confirmed', entity, payload })
    const [notification = assert.fail()] = await tenant.notifications()
    const message = meta.taken(vendors, payload.phone) ?? assert.fail('nothing was sent')
    assert.equal(await callBack(account.webhookUrl, meta.callback(vendors, 'delivered', message)), 200)

    const spans = await spansOf(TRACE_ID, ['publish', 'plan', 'attempt', 'receipt'])

    const [publish, plan, attempt, receipt] = spans
    assert.deepEqual(parents(spans), [PARENT.spanId, idOf(publish), idOf(plan), idOf(plan)])
    assert.equal(attempt?.attributes['pillarbox.notification_id'], notification.id)
    assert.equal(attempt?.attributes['pillarbox.outcome'], 'accepted')
    assert.equal(attempt?.attributes['pillarbox.provider'], 'meta')
    assert.equal(plan?.attributes['pillarbox.result'], 'notifications')
    assert.equal(publish?.attributes['pillarbox.accepted'], 1)
    assert.equal(receipt?.attributes['pillarbox.kind'], 'delivered')
    assert.equal(receipt?.attributes['pillarbox.effect'], 'moved')
    // Whoever may read traces is not thereby told whom somebody wrote to, or what.
    const said = JSON.stringify(spans.map(({ name, attributes, events, status }) => [name, attributes, events, status]))
    for (const secret of ['9876512345', payload.code]) assert.ok(!said.includes(secret), said)
  })

  it('is handed to the provider as the attempt’s own, and begun where nobody had begun one', async (t) => {
    const { product } = world()
    const receiver = await startWebhookReceiver()
    t.after(receiver.close)
    const tenant = await product.tenant()
    await tenant.account({
      channel: 'webhook',
      provider: 'webhook',
      name: 'hooks',
      secrets: { signingSecret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` },
    })
    const { id } = await tenant.send({ channel: 'webhook', to: { url: `${receiver.url}/in` }, body: 'Hello' })

    const attempt = await until(
      'the attempt ended',
      () =>
        exporter.getFinishedSpans().find(({ attributes, name }) => {
          return name === 'pillarbox.attempt' && attributes['pillarbox.notification_id'] === id
        }) ?? null,
    )
    const { traceId, spanId } = attempt.spanContext()
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['traceparent']),
      [`00-${traceId}-${spanId}-01`],
    )
    const [publish] = await spansOf(traceId, ['publish'])
    assert.equal(publish?.parentSpanContext, undefined)
    assert.deepEqual(parents([attempt]), [idOf(publish)])
  })

  it('that an application put into an event of its own transaction goes on in planning', async () => {
    const { product } = world()
    const tenant = await product.tenant({ catalogue: CATALOGUE, channels: ['whatsapp'] })
    const traceId = `${'1'.repeat(31)}${product.engine === 'sqlite' ? 'a' : 'b'}`
    const host = await product.host()
    await host.transact({
      events: [
        {
          tenantId: tenant.id,
          type: 'booking.confirmed',
          entity: { type: 'booking', id: '2' },
          payload: { phone: '+919876512346' },
          traceparent: `00-${traceId}-b7ad6b7169203331-01`,
        },
      ],
    })

    const spans = await spansOf(traceId, ['plan', 'attempt'])

    assert.deepEqual(parents(spans), [PARENT.spanId, idOf(spans[0])])
  })

  it('that is not sampled is carried on and not recorded', async (t) => {
    const { product } = world()
    const receiver = await startWebhookReceiver()
    t.after(receiver.close)
    const tenant = await product.tenant()
    await tenant.account({
      channel: 'webhook',
      provider: 'webhook',
      name: 'hooks',
      secrets: { signingSecret: `whsec_${Buffer.alloc(32, 1).toString('base64')}` },
    })
    const traceId = '2'.repeat(32)
    const headers = {
      authorization: `Bearer ${tenant.adminKey}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-b7ad6b7169203331-00`,
    }
    const body = JSON.stringify({ channel: 'webhook', to: { url: `${receiver.url}/in` }, body: 'Hello' })
    const answer = await fetch(`${product.url}/api/notifications`, { method: 'POST', headers, body })
    assert.equal(answer.status, 202)
    await tenant.settle()

    assert.match(receiver.received[0]?.headers['traceparent'] ?? '', new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
    assert.deepEqual(
      exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId),
      [],
    )
  })

  it('of a call that fails shows as an error, and each attempt has its own span', async () => {
    const { product } = world()
    const tenant = await product.tenant()
    await tenant.account({
      channel: 'email',
      provider: 'sandbox',
      name: 'gateway',
      settings: { faults: [{ kind: 'permanent', times: 1, reason: 'permanent_refusal' }] },
    })
    const id = await tenant.submit({ channel: 'email', to: { email: 'ada@example.test' }, body: 'Hello' })
    await tenant.comesTo(id, 'parked')
    await tenant.call('POST', `/api/notifications/${id}/retry`, {})
    await tenant.comesTo(id, 'sent')

    const attempts = await until('both attempts ended', () => {
      const own = exporter.getFinishedSpans().filter(({ name, attributes }) => {
        return name === 'pillarbox.attempt' && attributes['pillarbox.notification_id'] === id
      })
      return own.length === 2 && own
    })
    assert.deepEqual(
      attempts.map(({ attributes, status }) => [attributes['pillarbox.outcome'], status.code]),
      [
        ['permanent', 2],
        ['accepted', 0],
      ],
    )
    assert.equal(new Set(attempts.map((span) => span.spanContext().traceId)).size, 1)
  })
})

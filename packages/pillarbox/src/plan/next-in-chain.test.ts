import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { sampleNotification } from '../../../../test/support/samples.ts'
import type { Channel } from '../model/channel.ts'
import type { NewEvent } from '../model/event.ts'
import type { NewNotification, NotificationView, Takeover } from '../model/notification.ts'
import { isSealedContent } from '../security/payload-seal.ts'
import { type Bench, bodyOf, type Options, openPlanning } from './fixture.ts'
import { nextInChain } from './next-in-chain.ts'

const templates = [
  { channel: 'sms', locale: 'en', body: 'text {{name}}' },
  { channel: 'sms', locale: 'de', body: 'SMS {{name}}' },
  { channel: 'email', locale: 'en', subject: 'S {{name}}', body: 'mail {{name}}' },
  { channel: 'email', locale: 'de', subject: 'B {{name}}', body: 'Post {{name}}' },
  { channel: 'push', locale: 'en', body: 'push {{name}}' },
]
const type = (fields: Record<string, unknown> = {}) => ({
  entity: 'booking',
  recipients: [{ phone: 'phone', email: 'email', name: 'name', locale: 'locale', profileId: 'profileId' }],
  delivery: { fallback: ['sms', 'email', 'push'] },
  templates,
  ...fields,
})
const catalogueOf = (fields: Record<string, unknown> = {}) => ({
  entities: { booking: 'bookings' },
  eventTypes: { 'booking.confirmed': type(fields) },
})

/** The first notification of an event, as planned, and who takes over from it. */
async function setup(t: TestContext, options: Partial<Options> = {}, event: Partial<NewEvent> = {}) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), accounts: ['sms', 'email'], ...options })
  await bench.publish(event)
  await bench.plan()
  const [first] = await bench.notifications()
  assert.ok(first)
  return { bench, first, next: (...chain: Channel[]) => takeOver(bench, first, chain) }
}

async function takeOver(bench: Bench, { tenantId, id }: NotificationView, chain: Channel[]): Promise<Takeover | null> {
  return takerOf(await nextInChain(bench.chain, { tenantId, notificationId: id }, chain))
}

function takerOf(answer: Awaited<ReturnType<typeof nextInChain>>): Takeover | null {
  return answer && 'skipped' in answer ? null : answer
}

describe('who takes over', () => {
  it('speaks its own template’s words, and carries everything else over', async (t) => {
    const { first, next } = await setup(
      t,
      { catalogue: catalogueOf({ expiresAfter: 'PT1H', onUndeliverable: 'fail', conversation: 'entity' }) },
      { correlationId: 'c-1' },
    )

    const taker = await next('email', 'push')

    assert.deepEqual(taker?.content, { subject: 'S Ada', body: 'mail Ada', data: {} })
    assert.deepEqual([taker.channel, taker.provider, taker.locale], ['email', 'vendor', 'en'])
    assert.deepEqual([taker.correlationId, taker.expiresAt, taker.policy], ['c-1', first.expiresAt, first.policy])
    assert.deepEqual([taker.contactId, taker.conversationId], [first.contactId, first.conversationId])
    assert.ok(taker.contactId && taker.conversationId)
    assert.deepEqual(taker.to, { phone: '+15550100', email: 'ada@example.test', name: 'Ada' })
    assert.deepEqual([taker.dueAt, taker.stopped], [null, null])
  })

  it('goes on in the trace that the event came with', async (t) => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const { first, next } = await setup(t, {}, { traceparent })

    assert.deepEqual([first.traceparent, (await next('email'))?.traceparent], [traceparent, traceparent])
  })

  it('is linked to the one that failed, and its key is the same however often the failure is reported (P2)', async (t) => {
    const { first, next } = await setup(t)

    const [once, again] = [await next('email'), await next('email')]

    assert.equal(once?.fallbackOf, first.id)
    assert.equal(once.correlationId, first.eventId)
    assert.equal(once.idempotencyKey, again?.idempotencyKey)
    assert.equal(once.idempotencyKey, `fallback:${first.id}:email`)
  })

  it('leaves a row for each channel that the chain passed over, and says why', async (t) => {
    const { bench, first, next } = await setup(t, { accounts: ['sms', 'email'] })

    const taker = await next('push', 'whatsapp', 'email')

    assert.deepEqual([taker?.channel, taker?.place, taker?.fallback], ['email', '0', []])
    assert.deepEqual(
      taker?.passedOver?.map(({ channel, stopped, idempotencyKey, place, fallbackOf }) => {
        return [channel, stopped?.reason, idempotencyKey, place, fallbackOf]
      }),
      [
        ['push', 'no_active_account', `fallback:${first.id}:push`, '0', first.id],
        ['whatsapp', 'no_template', `fallback:${first.id}:whatsapp`, '0', first.id],
      ],
    )
    assert.equal((await bench.notifications()).length, 1, 'they are written with the one that takes over')
  })

  it('leaves a row for each channel where none can take over', async (t) => {
    const { bench, first } = await setup(t)

    const answer = await nextInChain(bench.chain, { tenantId: 'acme', notificationId: first.id }, ['push', 'whatsapp'])

    assert.ok(answer && 'skipped' in answer)
    assert.deepEqual(
      answer.skipped.map(({ channel, stopped, place, fallbackOf }) => [channel, stopped?.reason, place, fallbackOf]),
      [
        ['push', 'no_active_account', '0', first.id],
        ['whatsapp', 'no_template', '0', first.id],
      ],
    )
  })

  it('is nobody whose address is suppressed', async (t) => {
    const { bench, next } = await setup(t, { accounts: ['sms', 'email', 'push'] })
    const ban = { channel: 'email', address: 'ada@example.test', cause: 'operator', error: null } as const
    await bench.store.suppressions.insert({
      id: bench.ids(),
      tenantId: 'acme',
      ...ban,
      notificationId: null,
      createdBy: 'test',
    })

    await bench.clock.advance(1_000)

    assert.equal(await next('email'), null)
  })

  it('carries the rest of the chain', async (t) => {
    const { next } = await setup(t)

    assert.deepEqual((await next('email', 'push', 'in_app'))?.fallback, ['push', 'in_app'])
  })

  it('is the first channel with an address, an account, a template and words', async (t) => {
    const broken = { channel: 'whatsapp', locale: 'en', body: '{{ name | no_such_filter }}' }
    const { bench, next } = await setup(t, {
      catalogue: catalogueOf({ templates: [...templates, broken] }),
      accounts: ['sms', 'email', 'push', 'whatsapp', 'webhook'],
    })
    await bench.store.accounts.setStatus(bench.accountId('sms'), 'suspended', null, 'test')
    await bench.clock.advance(1_000)

    const taker = await next('push', 'whatsapp', 'sms', 'webhook', 'email', 'in_app')

    assert.equal(taker?.channel, 'email')
    assert.deepEqual(taker.fallback, ['in_app'])
  })

  it('speaks the language the first one spoke', async (t) => {
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'de-AT' }
    const { next } = await setup(t, {}, { payload })

    assert.equal(bodyOf((await next('email')) ?? undefined), 'Post Ada')
  })

  it('speaks the event’s language, whatever the recipient prefers', async (t) => {
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'en' }
    const { first, next } = await setup(t, {}, { payload, locale: 'de' })

    assert.equal(bodyOf(first), 'SMS Ada')
    assert.equal(bodyOf((await next('email')) ?? undefined), 'Post Ada')
  })

  it('speaks the recipient’s language, though the first one had no words in it', async (t) => {
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'de' }
    const catalogue = catalogueOf({ templates: templates.filter(({ body }) => body !== 'SMS {{name}}') })
    const { first, next } = await setup(t, { catalogue }, { payload })

    assert.equal(bodyOf(first), 'text Ada')
    assert.equal(bodyOf((await next('email')) ?? undefined), 'Post Ada')
  })

  it('speaks the tenant’s language to somebody who prefers none, though the first one had no words in it', async (t) => {
    const catalogue = catalogueOf({ templates: templates.filter(({ body }) => body !== 'SMS {{name}}') })
    const { first, next } = await setup(t, { catalogue, tenant: { defaultLocale: 'de' } })

    assert.equal(bodyOf(first), 'text Ada')
    assert.equal(bodyOf((await next('email')) ?? undefined), 'Post Ada')
  })

  it('uses the template of the same scope', async (t) => {
    const scopes = { listing: 'listingId' }
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada', listingId: 10 }
    const { bench, next } = await setup(t, { catalogue: catalogueOf({ scopes }) }, { payload })
    await bench.store.templates.insert(
      {
        id: bench.ids(),
        tenantId: 'acme',
        eventType: 'booking.confirmed',
        channel: 'email',
        locale: 'en',
        scope: { type: 'listing', id: '10' },
        subject: 'L',
        body: 'listing ten',
        format: null,
        providerTemplate: null,
        isActive: true,
      },
      'test',
    )
    await bench.clock.advance(1_000)

    assert.equal(bodyOf((await next('email')) ?? undefined), 'listing ten')
  })

  it('reaches the recipient at an address that their contact has learnt since', async (t) => {
    const { bench, first, next } = await setup(
      t,
      {},
      { payload: { name: 'Ada' }, recipients: [{ phone: '+15550100', profileId: 'p-1' }] },
    )
    assert.equal(await next('email'), null)
    const changed = { email: 'new@example.test' }
    await bench.store.people.updateContact('acme', first.contactId ?? '', changed, 'test')
    await bench.clock.advance(1_000)

    assert.equal((await next('email'))?.to.email, 'new@example.test')
  })

  it('says what the list says of the recipient', async (t) => {
    const seats = [
      { phone: '+15550101', mail: 'a@example.test', seat: '1A' },
      { phone: '+15550102', mail: 'b@example.test', seat: '1B' },
    ]
    const catalogue = catalogueOf({
      recipients: [{ phone: 'seats[].phone', email: 'seats[].mail' }],
      templates: [...templates.slice(0, 1), { channel: 'email', subject: 'S', body: 'seat {{recipient.seat}}' }],
    })
    const { bench } = await setup(t, { catalogue }, { payload: { seats, name: 'x' } })
    const second = (await bench.notifications())[1]
    assert.ok(second)

    assert.equal(bodyOf((await takeOver(bench, second, ['email'])) ?? undefined), 'seat 1B')
  })

  it('seals words with secrets for itself', async (t) => {
    const catalogue = catalogueOf({
      secrets: ['token'],
      templates: [...templates.slice(0, 1), { channel: 'email', subject: 'S', body: 'code {{token}}' }],
    })
    const payload = { phone: '+15550100', email: 'ada@example.test', token: 's3cret' }
    const { bench, next } = await setup(t, { catalogue }, { payload })

    const taker = await next('email')

    assert.ok(taker?.content && isSealedContent(taker.content))
    const opened = bench.seal.openContent(taker.content, { tenantId: 'acme', notificationId: taker.id })
    assert.ok('content' in opened)
    assert.equal(opened.content.body, 'code s3cret')
  })

  it('is nobody when no channel is left, none reaches the recipient, or the notification is gone', async (t) => {
    const { bench, next } = await setup(t)
    const gone = { tenantId: 'acme', notificationId: bench.ids() }

    assert.equal(await next(), null)
    assert.equal(await next('push', 'in_app'), null)
    assert.equal(await nextInChain(bench.chain, gone, ['email']), null)
    await bench.store.accounts.setStatus(bench.accountId('email'), 'paused', null, 'test')
    await bench.clock.advance(1_000)
    assert.equal(await next('email'), null)
  })

  it('is nobody when the host has called it off by now', async (t) => {
    let isOff = false
    const resolve = () => (isOff ? { cancel: 'booking cancelled' } : undefined)
    const { bench, next } = await setup(t, { resolve })
    isOff = true
    await bench.clock.advance(1_000)

    assert.equal(await next('email'), null)
  })
})

describe('who takes over from a notification without an event', () => {
  async function direct(t: TestContext, contentOf: (bench: Bench, id: string) => NewNotification['content']) {
    const bench = await openPlanning(t, { catalogue: catalogueOf() })
    const id = bench.ids()
    const to = { phone: '+15550100', email: 'ada@example.test' }
    const content = contentOf(bench, id)
    await bench.store.notifications.insert([sampleNotification({ id, accountId: bench.accountId('sms'), to, content })])
    const answer = await nextInChain(bench.chain, { tenantId: 'acme', notificationId: id }, ['push', 'email'])
    return { bench, taker: takerOf(answer) }
  }

  it('repeats its words', async (t) => {
    const { taker } = await direct(t, () => ({ subject: null, body: 'first words', data: {} }))

    assert.equal(bodyOf(taker ?? undefined), 'first words')
    assert.equal(taker?.channel, 'email')
  })

  it('repeats words that were sealed for the first, sealed for itself', async (t) => {
    const words = { subject: null, body: 'code 1234', data: {} }

    const { bench, taker } = await direct(t, ({ seal }, notificationId) =>
      seal.sealContent(words, ['1234'], { tenantId: 'acme', notificationId }),
    )

    assert.ok(taker?.content && isSealedContent(taker.content))
    const opened = bench.seal.openContent(taker.content, { tenantId: 'acme', notificationId: taker.id })
    assert.ok('content' in opened)
    assert.equal(opened.content.body, 'code 1234')
  })

  it('is nobody where its words cannot be opened', async (t) => {
    const { taker } = await direct(t, () => ({ sealed: 'under another key' }))

    assert.equal(taker, null)
  })
})

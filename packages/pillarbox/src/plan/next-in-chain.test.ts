import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { START } from '../../../../test/support/manual-clock.ts'
import { sampleEvent, sampleNotification, sampleTemplate, storedAccount } from '../../../../test/support/samples.ts'
import type { Channel } from '../model/channel.ts'
import type { StoredEvent } from '../model/event.ts'
import { createRenderer } from '../render/render.ts'
import type { NotificationView, Store, StoredAccount, Template } from '../store/store.ts'
import type { PlanContext } from './context-book.ts'
import { nextInChain } from './next-in-chain.ts'
import { replan } from './replan.ts'

function view(changes: Partial<NotificationView> = {}): NotificationView {
  const { parked: _parked, ...notification } = sampleNotification()
  return {
    ...notification,
    to: { phone: '+15550100', email: 'ada@example.test' },
    content: { subject: null, body: 'first words', data: {} },
    eventId: 'event-1',
    eventType: 'booking.confirmed',
    status: 'sending',
    reason: null,
    lastError: null,
    attemptCount: 1,
    nextAttemptAt: null,
    possibleDuplicate: false,
    providerMessageId: null,
    fallbackTo: null,
    createdAt: START,
    sentAt: null,
    deliveredAt: null,
    readAt: null,
    ...changes,
  }
}

interface Given {
  view?: Partial<NotificationView> | null
  event?: StoredEvent | null
  templates?: Template[]
  accounts?: StoredAccount[]
}

const mail = (changes: Partial<Template> = {}): Template =>
  sampleTemplate({
    id: 't-email',
    channel: 'email',
    subject: 'S {{name}}',
    body: 'mail {{name}}',
    version: 3,
    ...changes,
  })
const account = (channel: Channel, changes: Partial<StoredAccount> = {}): StoredAccount =>
  storedAccount({ id: `a-${channel}`, channel, provider: `p-${channel}`, ...changes })

function setup(given: Given = {}) {
  const found = given.view === null ? null : view(given.view)
  const event = given.event === undefined ? sampleEvent() : given.event
  const accounts = given.accounts ?? [account('email'), account('push')]
  const context: PlanContext = {
    tenant: { id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {}, createdAt: START },
    eventType: null,
    templates: given.templates ?? [mail()],
    accounts: accounts.filter(({ status }) => status === 'active'),
  }
  const store = {
    notifications: { find: async (tenantId: string) => (tenantId === 'acme' ? found : null) },
    events: { find: async () => event },
    accounts: {
      list: async (_tenantId: string, channel: Channel) => accounts.filter((one) => one.channel === channel),
    },
  } as unknown as Store
  const contexts = { peek: () => context, load: async () => context }
  const deps = { store, contexts, renderer: createRenderer(), ids: () => 'new-id' }
  return {
    next: (...chain: Channel[]) => nextInChain(deps, { tenantId: 'acme', notificationId: 'notification-1' }, chain),
    replan: () => replan(deps, view({ status: 'parked', content: null, accountId: null, ...given.view })),
  }
}

describe('who takes over', () => {
  it('speaks its own template’s words, and carries everything else over', async () => {
    const { next } = setup({
      view: { correlationId: 'c-1', expiresAt: START + 9, triggeredBy: 'key:shop', site: 'north' },
    })

    const taker = await next('email', 'push')

    assert.deepEqual(taker?.content, { subject: 'S Ada', body: 'mail Ada', data: {} })
    assert.deepEqual([taker?.channel, taker?.accountId, taker?.provider], ['email', 'a-email', 'p-email'])
    assert.deepEqual([taker?.templateId, taker?.templateVersion, taker?.locale], ['t-email', 3, 'en'])
    assert.deepEqual(
      [taker?.correlationId, taker?.expiresAt, taker?.triggeredBy, taker?.site],
      ['c-1', START + 9, 'key:shop', 'north'],
    )
    assert.deepEqual(taker?.to, { phone: '+15550100', email: 'ada@example.test' })
    assert.deepEqual([taker?.dueAt, taker?.parked], [null, null])
  })

  it('is linked to the one that failed, and its key is the same however often the failure is reported (P2)', async () => {
    const { next } = setup()

    const [once, again] = [await next('email'), await next('email')]

    assert.equal(once?.fallbackOf, 'notification-1')
    assert.equal(once?.correlationId, 'notification-1')
    assert.equal(once?.idempotencyKey, again?.idempotencyKey)
    assert.equal(once?.idempotencyKey, 'fallback:notification-1:email')
  })

  it('carries the rest of the chain', async () => {
    assert.deepEqual((await setup().next('email', 'push', 'in_app'))?.fallback, ['push', 'in_app'])
  })

  it('is the first channel with an address, an account, a template and words', async () => {
    const templates = [
      mail(),
      sampleTemplate({ id: 't-push', channel: 'push' }),
      sampleTemplate({ id: 't-whatsapp', channel: 'whatsapp', body: '{{ name | no_such_filter }}' }),
      sampleTemplate({ id: 't-sms', channel: 'sms' }),
    ]
    const accounts = [
      account('email'),
      account('push'),
      account('whatsapp'),
      account('sms', { status: 'suspended' }),
      account('webhook'),
    ]
    const { next } = setup({ templates, accounts })

    const taker = await next('push', 'whatsapp', 'sms', 'webhook', 'email', 'in_app')

    assert.equal(taker?.channel, 'email')
    assert.deepEqual(taker?.fallback, ['in_app'])
  })

  it('speaks the language the first one spoke', async () => {
    const templates = [mail(), mail({ id: 't-de', locale: 'de', body: 'Post {{name}}' })]
    const { next } = setup({ templates, view: { locale: 'de' } })

    assert.equal((await next('email'))?.content?.body, 'Post Ada')
  })

  it('repeats the words of a notification that came without an event', async () => {
    const { next } = setup({ view: { eventId: null, eventType: null, templateId: 't-own' }, templates: [] })

    const taker = await next('email')

    assert.equal(taker?.content?.body, 'first words')
    assert.equal(taker?.templateId, 't-own')
  })

  it('is nobody when no channel is left, none reaches the recipient, or the notification is gone', async () => {
    assert.equal(await setup().next(), null)
    assert.equal(await setup({ view: { to: { phone: '+15550100' } } }).next('email', 'push'), null)
    assert.equal(await setup({ accounts: [] }).next('email'), null)
    assert.equal(await setup({ templates: [] }).next('email'), null)
    assert.equal(await setup({ view: null }).next('email'), null)
    assert.equal(
      await setup({ view: { eventId: null }, accounts: [account('email', { status: 'paused' })] }).next('email'),
      null,
    )
  })
})

describe('planning anew what was born parked', () => {
  const parked = (reason: NotificationView['reason']): Partial<NotificationView> => ({
    channel: 'email',
    reason,
    content: null,
  })

  it('answers account, template and words as they are now', async () => {
    const answer = await setup({ view: parked('no_templates_found') }).replan()

    assert.deepEqual(answer, {
      replacement: {
        accountId: 'a-email',
        provider: 'p-email',
        content: { subject: 'S Ada', body: 'mail Ada', data: {} },
        templateId: 't-email',
        templateVersion: 3,
      },
    })
  })

  it('answers what still stands in the way', async () => {
    const reasonOf = async (given: Given): Promise<string> => {
      const answer = await setup(given).replan()
      return 'problem' in answer ? answer.problem.reason : 'none'
    }

    assert.equal(await reasonOf({ view: parked('no_templates_found'), templates: [] }), 'no_templates_found')
    assert.equal(await reasonOf({ view: parked('no_active_channels'), accounts: [] }), 'no_active_channels')
    assert.equal(
      await reasonOf({ view: parked('render_failed'), templates: [mail({ body: '{{ x | no_such_filter }}' })] }),
      'render_failed',
    )
  })

  it('does not let a notification go that still has no address', async () => {
    const answer = await setup({ view: { ...parked('no_recipient'), to: { phone: '+15550100' } } }).replan()

    assert.ok('problem' in answer)
    assert.equal(answer.problem.reason, 'no_recipient')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { START } from '../../../../test/support/manual-clock.ts'
import { sampleEvent, sampleTemplate, storedAccount } from '../../../../test/support/samples.ts'
import type { Delivery, EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { StoredEvent } from '../model/event.ts'
import { createRenderer } from '../render/render.ts'
import type { NewNotification, StoredAccount, Template } from '../store/store.ts'
import type { PlanContext } from './context-book.ts'
import { dueAt, planNotifications, templateFor } from './plan-event.ts'

const PATHS = { phone: 'phone', email: 'email', name: 'name', locale: 'locale' }

interface Given {
  event?: Partial<StoredEvent>
  type?: Partial<EventType>
  delivery?: Delivery
  /** Channels that have a template. */
  templates?: (Channel | Template)[]
  /** Channels that have an account. */
  accounts?: (Channel | StoredAccount)[]
  defaultLocale?: string
}

function plan({
  event,
  type,
  delivery,
  templates = [],
  accounts = [],
  defaultLocale = 'en',
}: Given): NewNotification[] {
  const eventType: EventType = {
    name: 'booking.confirmed',
    entity: 'booking',
    once: 'per-entity',
    recipients: [PATHS],
    delivery: delivery ?? { kind: 'all' },
    afterMs: 0,
    ...type,
  }
  const context: PlanContext = {
    tenant: { id: 'acme', name: 'Acme', defaultLocale, timeZone: 'UTC', settings: {}, createdAt: START },
    eventType,
    templates: templates.map((given) =>
      typeof given === 'string' ? sampleTemplate({ id: `t-${given}`, channel: given }) : given,
    ),
    accounts: accounts.map((given) =>
      typeof given === 'string' ? storedAccount({ id: `a-${given}`, channel: given }) : given,
    ),
  }
  let made = 0
  const tools = { ids: () => `id-${++made}`, renderer: createRenderer() }
  return planNotifications(sampleEvent(event), eventType, context, 'schedule-1', tools)
}

/** What became of an event, in short: `channel→account`, `parked reason`. */
function brief(planned: readonly NewNotification[]): string[] {
  return planned.map(({ channel, accountId, parked }) =>
    parked ? `parked ${parked.reason}` : `${channel}→${accountId}`,
  )
}

function only(planned: readonly NewNotification[]): NewNotification {
  assert.equal(planned.length, 1)
  return planned[0] as NewNotification
}

const BOTH: Pick<Given, 'templates' | 'accounts'> = { templates: ['sms', 'email'], accounts: ['sms', 'email'] }

describe('a notification', () => {
  it('carries where it comes from, where it goes, and the words', () => {
    const planned = plan({ templates: ['sms'], accounts: ['sms'], event: { correlationId: 'c-1' } })

    assert.deepEqual(only(planned), {
      id: 'id-1',
      tenantId: 'acme',
      idempotencyKey: 'B-42:booking.confirmed:sms:t-sms',
      channel: 'sms',
      accountId: 'a-sms',
      provider: 'vendor',
      to: { name: 'Ada', email: 'ada@example.test', phone: '+15550100' },
      content: { subject: null, body: 'Hello Ada', data: {} },
      eventId: 'event-1',
      eventType: 'booking.confirmed',
      scheduleId: 'schedule-1',
      entity: { type: 'booking', id: 'B-42' },
      templateId: 't-sms',
      templateVersion: 1,
      locale: 'en',
      correlationId: 'c-1',
      executionId: null,
      parentExecutionId: null,
      site: null,
      triggeredBy: 'system',
      fallback: [],
      fallbackOf: null,
      warnings: [],
      dueAt: null,
      expiresAt: null,
      parked: null,
    })
  })

  it('uses the first account of its channel', () => {
    const accounts = [storedAccount({ id: 'first' }), storedAccount({ id: 'second' })]

    assert.deepEqual(brief(plan({ templates: ['sms'], accounts })), ['sms→first'])
  })
})

describe('delivery', () => {
  it('to all channels: those with a template, an account and an address', () => {
    assert.deepEqual(brief(plan(BOTH)), ['sms→a-sms', 'email→a-email'])
    assert.deepEqual(brief(plan({ ...BOTH, templates: ['sms', 'email', 'push'] })), ['sms→a-sms', 'email→a-email'])
    assert.deepEqual(brief(plan({ ...BOTH, event: { payload: { phone: '+15550100' } } })), ['sms→a-sms'])
    assert.deepEqual(brief(plan({ ...BOTH, templates: ['email'] })), ['email→a-email'])
  })

  it('to named channels: only those, all of them', () => {
    const delivery: Delivery = { kind: 'channels', channels: ['email', 'whatsapp'] }

    assert.deepEqual(brief(plan({ ...BOTH, delivery })), ['email→a-email'])
  })

  it('as a chain: the first reachable channel, which carries the rest', () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['push', 'whatsapp', 'sms', 'email'] }
    const everywhere: Channel[] = ['push', 'whatsapp', 'sms', 'email']

    const first = only(plan({ delivery, templates: everywhere, accounts: everywhere }))

    assert.equal(first.channel, 'whatsapp')
    assert.deepEqual(first.fallback, ['sms', 'email'])
  })

  it('as a chain carries only channels that could be reached now', () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['whatsapp', 'sms', 'push', 'email'] }

    const first = only(plan({ delivery, templates: ['sms', 'email', 'push'], accounts: ['sms', 'push', 'email'] }))

    assert.equal(first.channel, 'sms')
    assert.deepEqual(first.fallback, ['email'])
  })

  it('is the event’s own choice where it names channels: all of them, and no chain', () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['whatsapp', 'sms'] }

    const planned = plan({ ...BOTH, delivery, event: { channels: ['email', 'sms'] } })

    assert.deepEqual(brief(planned), ['email→a-email', 'sms→a-sms'])
    assert.deepEqual(
      planned.map(({ fallback }) => fallback),
      [[], []],
    )
  })
})

describe('words', () => {
  const inLocales = (...locales: string[]): Template[] =>
    locales.map((locale) => sampleTemplate({ id: `t-${locale}`, locale, body: `${locale} {{name}}` }))
  const localeOf = (given: Given): string | null => only(plan({ accounts: ['sms'], ...given })).locale

  it('are in the recipient’s language, else the event’s, else the tenant’s, else whatever there is', () => {
    const payload = { phone: '+15550100', locale: 'fr' }
    const templates = (...locales: string[]) => inLocales(...locales)
    const given = { event: { payload, locale: 'de' }, defaultLocale: 'es' }

    assert.equal(localeOf({ ...given, templates: templates('en', 'es', 'de', 'fr') }), 'fr')
    assert.equal(localeOf({ ...given, templates: templates('en', 'es', 'de') }), 'de')
    assert.equal(localeOf({ ...given, templates: templates('en', 'es') }), 'es')
    assert.equal(localeOf({ ...given, templates: templates('en') }), 'en')
  })

  it('are chosen for each recipient', () => {
    const planned = plan({
      accounts: ['sms'],
      templates: inLocales('en', 'fr'),
      event: { recipients: [{ phone: '+12025550101', locale: 'fr' }, { phone: '+12025550102' }] },
    })

    assert.deepEqual(
      planned.map(({ content }) => content?.body),
      ['fr Ada', 'en Ada'],
    )
  })

  it('are not sent to an address that has not the form its channel needs; the other channels are', () => {
    const recipients = [{ phone: 'not a phone', email: 'ada@example.com' }]

    const planned = plan({ accounts: ['sms', 'email'], templates: ['sms', 'email'], event: { recipients } })

    assert.deepEqual(Object.fromEntries(planned.map(({ channel, parked }) => [channel, parked?.reason ?? null])), {
      email: null,
      sms: 'invalid_recipient',
    })
  })

  it('that cannot be rendered park their notification alone, with template and account (P7)', () => {
    const broken = sampleTemplate({ id: 't-broken', channel: 'sms', body: '{{ name | no_such_filter }}' })

    const planned = plan({ accounts: ['sms', 'email'], templates: [broken, 'email'] })

    assert.deepEqual(brief(planned), ['parked render_failed', 'email→a-email'])
    assert.match(planned[0]?.parked?.error ?? '', /no_such_filter/)
    assert.deepEqual([planned[0]?.content, planned[0]?.accountId, planned[0]?.templateId], [null, 'a-sms', 't-broken'])
  })
})

describe('what cannot be sent is parked and says why (P1)', () => {
  it('no recipient at all', () => {
    const planned = only(plan({ ...BOTH, event: { payload: { name: 'Ada' } } }))

    assert.deepEqual([planned.parked?.reason, planned.to], ['no_recipient', {}])
    assert.deepEqual([planned.content, planned.accountId, planned.provider], [null, null, null])
  })

  it('no template on any of the channels', () => {
    const planned = only(plan({ accounts: ['sms'], delivery: { kind: 'channels', channels: ['sms', 'whatsapp'] } }))

    assert.equal(planned.parked?.reason, 'no_templates_found')
    assert.match(planned.parked?.error ?? '', /sms, whatsapp/)
    assert.equal(planned.channel, 'sms')
  })

  it('templates, but no account for them', () => {
    const planned = only(plan({ templates: ['sms', 'email'], accounts: ['push'] }))

    assert.equal(planned.parked?.reason, 'no_active_channels')
    assert.match(planned.parked?.error ?? '', /sms, email/)
  })

  it('template and account, but no address for the channel', () => {
    const planned = only(
      plan({ templates: ['sms'], accounts: ['sms'], event: { payload: { email: 'ada@example.test' } } }),
    )

    assert.equal(planned.parked?.reason, 'no_recipient')
    assert.deepEqual(planned.to, { email: 'ada@example.test' })
  })

  it('one recipient’s trouble is not another’s', () => {
    const planned = plan({
      templates: ['sms'],
      accounts: ['sms'],
      event: { recipients: [{ email: 'ada@example.test' }, { phone: '+15550100' }] },
    })

    assert.deepEqual(brief(planned), ['parked no_recipient', 'sms→a-sms'])
  })

  it('on a channel that exists, whatever the event asked for', () => {
    const empty = only(plan({ event: { channels: [] } }))
    const all = only(plan({}))

    assert.deepEqual([empty.channel, all.channel], ['email', 'email'])
  })
})

describe('idempotency keys (P2)', () => {
  const keys = (given: Given): string[] => plan({ ...BOTH, ...given }).map(({ idempotencyKey }) => idempotencyKey)

  it('are per entity by default: the same thing twice makes one row', () => {
    assert.deepEqual(keys({ event: { id: 'one' } }), keys({ event: { id: 'two' } }))
    assert.deepEqual(keys({}), ['B-42:booking.confirmed:sms:t-sms', 'B-42:booking.confirmed:email:t-email'])
  })

  it('are per event where the catalogue says so', () => {
    assert.deepEqual(keys({ type: { once: 'per-event' } }), [
      'event-1:booking.confirmed:sms:t-sms',
      'event-1:booking.confirmed:email:t-email',
    ])
  })

  it('name the recipient where there are several, and only then', () => {
    const recipients = [{ phone: '+12025550101' }, { phone: '+12025550102', profileId: 'p2' }]

    assert.deepEqual(keys({ event: { recipients, channels: ['sms'] } }), [
      'B-42:booking.confirmed:sms:t-sms:+12025550101',
      'B-42:booking.confirmed:sms:t-sms:p2',
    ])
    assert.deepEqual(keys({ event: { recipients: [{ phone: '+12025550101' }], channels: ['sms'] } }), [
      'B-42:booking.confirmed:sms:t-sms',
    ])
  })

  it('are all different within one event', () => {
    const recipients = [{ phone: '1', email: 'a' }, { phone: '2', email: 'b' }, { userId: 'nowhere' }]

    const made = keys({ event: { recipients } })

    assert.equal(made.length, 5)
    assert.equal(new Set(made).size, 5)
  })

  it('of what is parked name the reason, so that it does not stand in the way of what is sent later', () => {
    assert.deepEqual(keys({ templates: [] }), ['B-42:booking.confirmed:email:no_templates_found'])
  })
})

describe('an event is due', () => {
  const type = { afterMs: 60_000 } as EventType

  it('at its own time, else the catalogue’s delay after it happened, else after it was written', () => {
    assert.equal(dueAt(sampleEvent({ dueAt: START + 5, occurredAt: START }), type), START + 5)
    assert.equal(dueAt(sampleEvent({ occurredAt: START - 1_000 }), type), START + 59_000)
    assert.equal(dueAt(sampleEvent(), type), START + 60_000)
  })
})

describe('the template for a channel', () => {
  const templates = [
    sampleTemplate({ id: 'sms-en', locale: 'en' }),
    sampleTemplate({ id: 'mail-de', channel: 'email', locale: 'de' }),
    sampleTemplate({ id: 'sms-de', locale: 'de' }),
  ]

  it('is never one of another channel', () => {
    assert.equal(templateFor(templates, 'email', ['en'])?.id, 'mail-de')
    assert.equal(templateFor(templates, 'push', ['en']), null)
  })

  it('follows the locales in their order', () => {
    assert.equal(templateFor(templates, 'sms', ['fr', 'de', 'en'])?.id, 'sms-de')
    assert.equal(templateFor(templates, 'sms', [])?.id, 'sms-en')
  })
})

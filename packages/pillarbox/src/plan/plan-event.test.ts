import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { START } from '../../../../test/support/manual-clock.ts'
import { sampleEvent, sampleTemplate, storedAccount } from '../../../../test/support/samples.ts'
import type { StoredAccount } from '../model/account.ts'
import type { Delivery, EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { Contact } from '../model/contact.ts'
import type { EventRecipient, StoredEvent } from '../model/event.ts'
import type { Content, NewNotification } from '../model/notification.ts'
import type { Template } from '../model/template.ts'
import type { Tenant } from '../model/tenant.ts'
import { renderOptions } from '../render/render-options.ts'
import { createPayloadSeal, isSealedContent } from '../security/payload-seal.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import type { PlanContext } from './context-book.ts'
import { openEvent } from './due-event.ts'
import { recipientAt } from './part.ts'
import { recognisedAs } from './people.ts'
import { type EventCause, planNotifications } from './plan-event.ts'
import type { Recipient } from './recipients.ts'

const PATHS = { phone: 'phone', email: 'email', name: 'name', locale: 'locale' }

interface Given {
  event?: Partial<StoredEvent>
  type?: Partial<EventType>
  delivery?: Delivery
  /** Channels that have a template. */
  templates?: (Channel | Template)[]
  /** Channels that have an account. */
  accounts?: (Channel | StoredAccount)[]
  tenant?: Partial<Tenant>
  catalogueLocale?: string | null
  /** The contact that all recipients turn out to be. */
  contact?: Partial<Contact>
  /** The contact of each, where they are several. */
  contactOf?: (recipient: Recipient) => Partial<Contact>
  cause?: Partial<EventCause>
}

const seal = createPayloadSeal(Buffer.alloc(32, 7))
const untrusted = createUntrustedInProcess()

async function plan(given: Given): Promise<NewNotification[]> {
  const { templates = [], accounts = [], catalogueLocale = null } = given
  const type: EventType = {
    name: 'booking.confirmed',
    description: null,
    entity: 'booking',
    once: 'per-entity',
    payload: null,
    recipients: [PATHS],
    delivery: given.delivery ?? { kind: 'all' },
    timing: { offsetMs: 0, field: null, at: null, ifPast: 'send' },
    replaces: false,
    cancelledBy: [],
    approval: false,
    secrets: [],
    scopes: [],
    conversation: null,
    expiresAfterMs: null,
    retry: null,
    onUndeliverable: null,
    ...given.type,
  }
  const tenant: Tenant = {
    id: 'acme',
    name: 'Acme',
    defaultLocale: 'en',
    timeZone: 'UTC',
    settings: {},
    createdAt: START,
    ...given.tenant,
  }
  const context: PlanContext = {
    tenant,
    eventType: type,
    derives: null,
    templates: templates.map((one) =>
      typeof one === 'string' ? sampleTemplate({ id: `t-${one}`, channel: one }) : one,
    ),
    accounts: accounts.map((one) => (typeof one === 'string' ? storedAccount({ id: `a-${one}`, channel: one }) : one)),
    cancels: [],
    catalogueLocale,
    region: null,
    rendering: renderOptions(tenant, type, 'en'),
  }
  const due = openEvent(seal, sampleEvent(given.event), context)
  assert.ok(!('kind' in due))
  let made = 0
  const tools = { ids: () => `id-${++made}`, untrusted, sealing: seal, clock: { now: () => START } }
  const named = Array.from({ length: due.audience.size }, (_, place) => {
    const entry = due.audience.at(place)
    return entry ? [{ ...recipientAt(entry), place: String(place) }] : []
  }).flat()
  const recipients = named.map((one) => {
    const contact = given.contactOf?.(one) ?? given.contact
    return recognisedAs(one, contact ? { contact: contactOf(contact), conversationId: 'v-1' } : null)
  })
  const cause: EventCause = { due, scheduleId: 'schedule-1', dueAt: START, ...given.cause }
  return planNotifications(tools, cause, { recipients, stopped: [] })
}

function contactOf(changes: Partial<Contact>): Contact {
  const blank = { profileId: null, userId: null, name: null, phone: null, email: null, locale: null }
  return { id: 'c-1', tenantId: 'acme', ...blank, version: 1, createdAt: START, updatedAt: START, ...changes }
}

/** What became of an event, in short: `channel→account`, `parked channel: reason`. */
function brief(planned: readonly NewNotification[]): string[] {
  return planned.map(({ channel, accountId, stopped }) =>
    stopped ? `${stopped.status} ${channel}: ${stopped.reason}` : `${channel}→${accountId}`,
  )
}

function only(planned: readonly NewNotification[]): NewNotification {
  assert.equal(planned.length, 1)
  return planned[0] as NewNotification
}

function contentOf({ content }: NewNotification): Content {
  assert.ok(content && !isSealedContent(content))
  return content
}

const BOTH: Pick<Given, 'templates' | 'accounts'> = { templates: ['sms', 'email'], accounts: ['sms', 'email'] }

describe('a notification', () => {
  it('carries where it comes from, where it goes, and the words', async () => {
    const planned = await plan({ templates: ['sms'], accounts: ['sms'], event: { correlationId: 'c-1' } })

    assert.deepEqual(only(planned), {
      id: 'id-1',
      tenantId: 'acme',
      idempotencyKey: 'B-42:booking.confirmed:sms:t-sms',
      channel: 'sms',
      accountId: 'a-sms',
      provider: 'vendor',
      to: { name: 'Ada', email: 'ada@example.test', phone: '+15550100' },
      content: { subject: null, body: 'Hello Ada', data: {} },
      contactId: null,
      conversationId: null,
      policy: null,
      eventId: 'event-1',
      eventType: 'booking.confirmed',
      scheduleId: 'schedule-1',
      place: '0',
      entity: { type: 'booking', id: 'B-42' },
      templateId: 't-sms',
      templateVersion: 1,
      locale: 'en',
      correctedFrom: null,
      correlationId: 'c-1',
      traceparent: null,
      executionId: null,
      parentExecutionId: null,
      site: null,
      triggeredBy: 'system',
      fallback: [],
      fallbackOf: null,
      warnings: [],
      dueAt: null,
      wantedAt: START,
      expiresAt: null,
      duplicateOf: null,
      stopped: null,
    })
  })

  it('uses the first account of its channel', async () => {
    const accounts = [storedAccount({ id: 'first' }), storedAccount({ id: 'second' })]

    assert.deepEqual(brief(await plan({ templates: ['sms'], accounts })), ['sms→first'])
  })

  it('carries what its event type says in place of the account', async () => {
    const retry = { maxAttempts: 2, fixed: 'PT1M' }
    const policyOf = async (type: Partial<EventType>) =>
      only(await plan({ templates: ['sms'], accounts: ['sms'], type })).policy

    assert.deepEqual(await policyOf({ retry, onUndeliverable: 'fail' }), { retry, onUndeliverable: 'fail' })
    assert.deepEqual(await policyOf({ onUndeliverable: 'park' }), { onUndeliverable: 'park' })
  })

  it('expires as long after it was due as its event type says', async () => {
    const planned = await plan({ templates: ['sms'], accounts: ['sms'], type: { expiresAfterMs: 1_000 } })

    assert.equal(only(planned).expiresAt, START + 1_000)
  })

  it('carries the provider’s own template, rendered', async () => {
    const providerTemplate = { dltTemplateId: '1107', dltEntityId: '1101' }
    const planned = await plan({ templates: [sampleTemplate({ providerTemplate })], accounts: ['sms'] })

    assert.deepEqual(contentOf(only(planned)).providerTemplate, providerTemplate)
  })

  it('may say to whom it speaks, and what the list says of them', async () => {
    const template = sampleTemplate({ body: '{{recipient.name}}, seat {{recipient.seat}} of {{seats.size}}' })
    const seats = [
      { phone: '+15550101', who: 'Ada', seat: '1A' },
      { phone: '+15550102', who: 'Bo', seat: '1B' },
    ]
    const type = { recipients: [{ phone: 'seats[].phone', name: 'seats[].who' }] }

    const planned = await plan({ templates: [template], accounts: ['sms'], event: { payload: { seats } }, type })

    assert.deepEqual(
      planned.map((one) => contentOf(one).body),
      ['Ada, seat 1A of 2', 'Bo, seat 1B of 2'],
    )
  })

  it('may say what it is about and whom, also where the payload does not', async () => {
    const template = sampleTemplate({
      body: '{{guestName}} {{ guest.phone }} {{bookingId}} {{entity.type}} {{entity.id}}',
    })
    const type = { recipients: [{ phone: 'guest.phone', name: 'guestName' }] }
    const event = { entity: { type: 'booking', id: '42' }, recipients: [{ phone: '+15550100', name: 'Ada' }] }
    const bodyOf = async (payload: Record<string, unknown>, recipients = type.recipients) =>
      contentOf(
        only(
          await plan({ templates: [template], accounts: ['sms'], event: { ...event, payload }, type: { recipients } }),
        ),
      ).body

    assert.equal(await bodyOf({}), 'Ada +15550100 42 booking 42')
    assert.equal(await bodyOf({ bookingId: 7, guest: { name: 'Bo' } }), 'Bo +15550100 7 booking 42')
    // Nobody can tell which of the two an event's own recipient is.
    assert.equal(await bodyOf({}, [...type.recipients, { phone: 'hostPhone', name: 'hostName' }]), '  42 booking 42')
  })

  it('leaves a payload’s own field of that name alone', async () => {
    const template = sampleTemplate({ body: '{{recipient}}' })
    const payload = { phone: '+15550100', recipient: 'the owner' }

    assert.equal(
      contentOf(only(await plan({ templates: [template], accounts: ['sms'], event: { payload } }))).body,
      'the owner',
    )
  })
})

describe('delivery', () => {
  it('to all channels: those with a template; one without an account or an address is skipped', async () => {
    assert.deepEqual(brief(await plan(BOTH)), ['sms→a-sms', 'email→a-email'])
    assert.deepEqual(brief(await plan({ ...BOTH, templates: ['sms', 'email', 'push'] })), [
      'sms→a-sms',
      'email→a-email',
      'skipped push: no_active_account',
    ])
    assert.deepEqual(brief(await plan({ ...BOTH, event: { payload: { phone: '+15550100' } } })), [
      'sms→a-sms',
      'skipped email: no_address',
    ])
    assert.deepEqual(brief(await plan({ ...BOTH, templates: ['email'] })), ['email→a-email'])
  })

  it('to named channels: only those, all of them; one without a template is skipped', async () => {
    const delivery: Delivery = { kind: 'channels', channels: ['email', 'whatsapp'] }

    assert.deepEqual(brief(await plan({ ...BOTH, delivery })), ['email→a-email', 'skipped whatsapp: no_template'])
  })

  it('as a chain: the first reachable channel, which carries the rest; those it passed over are skipped', async () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['push', 'whatsapp', 'sms', 'email'] }
    const everywhere: Channel[] = ['push', 'whatsapp', 'sms', 'email']

    const planned = await plan({ delivery, templates: everywhere, accounts: everywhere })

    assert.deepEqual(brief(planned), ['skipped push: no_address', 'whatsapp→a-whatsapp'])
    assert.deepEqual(
      planned.map(({ fallback }) => fallback),
      [[], ['sms', 'email']],
    )
  })

  it('as a chain carries channels that may be reached by then, though they cannot be now', async () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['whatsapp', 'sms', 'push', 'email'] }

    const planned = await plan({ delivery, templates: ['sms', 'email', 'push'], accounts: ['sms', 'push', 'email'] })

    assert.deepEqual(brief(planned), ['skipped whatsapp: no_template', 'sms→a-sms'])
    assert.deepEqual(planned[1]?.fallback, ['push', 'email'])
  })

  it('as a chain passes over a malformed address, which nobody has to look at then', async () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['sms', 'email'] }
    const payload = { phone: 'none', email: 'ada@example.test' }

    const planned = await plan({ ...BOTH, delivery, event: { payload } })

    assert.deepEqual(brief(planned), ['skipped sms: no_address', 'email→a-email'])
    assert.match(planned[0]?.stopped?.error ?? '', /sms needs/)
  })

  it('as a chain of which nothing can be used says so of each channel', async () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['sms', 'email', 'push'] }

    const planned = await plan({ ...BOTH, delivery, event: { payload: { phone: 'none', email: 'none' } } })

    assert.deepEqual(brief(planned), [
      'parked sms: invalid_recipient',
      'parked email: invalid_recipient',
      'skipped push: no_template',
    ])
    assert.deepEqual(
      planned.flatMap(({ fallback }) => fallback),
      [],
    )
  })

  it('is the event’s own choice where it names channels: all of them, and no chain', async () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['whatsapp', 'sms'] }

    const planned = await plan({ ...BOTH, delivery, event: { channels: ['email', 'sms'] } })

    assert.deepEqual(brief(planned), ['email→a-email', 'sms→a-sms'])
    assert.deepEqual(
      planned.map(({ fallback }) => fallback),
      [[], []],
    )
  })

  it('to a list is one email to all of it', async () => {
    const given = { templates: ['email' as const], accounts: ['email' as const] }

    const planned = only(await plan({ ...given, type: { recipients: [{ list: 'ops-team' }] } }))

    assert.deepEqual([planned.channel, planned.to, planned.stopped], ['email', { list: 'ops-team' }, null])
  })

  it('to a list on other channels is skipped, and says what to do', async () => {
    const given = { templates: ['sms' as const], accounts: ['sms' as const] }

    const planned = only(await plan({ ...given, type: { recipients: [{ list: 'ops-team' }] } }))

    assert.deepEqual([planned.stopped?.status, planned.stopped?.reason], ['skipped', 'no_address'])
    assert.match(planned.stopped?.error ?? '', /expand: true/)
  })
})

describe('words', () => {
  const inLocales = (...locales: string[]): Template[] =>
    locales.map((locale) => sampleTemplate({ id: `t-${locale}`, locale, body: `${locale} {{name}}` }))
  const localeOf = async (given: Given): Promise<string | null> =>
    only(await plan({ accounts: ['sms'], ...given })).locale

  it('are in the event’s language, else the recipient’s, the tenant’s, the catalogue’s, else whatever there is', async () => {
    const payload = { phone: '+15550100', locale: 'fr' }
    const given = { event: { payload, locale: 'de' }, tenant: { defaultLocale: 'es' }, catalogueLocale: 'pt' }

    assert.equal(await localeOf({ ...given, templates: inLocales('en', 'pt', 'es', 'fr', 'de') }), 'de')
    assert.equal(await localeOf({ ...given, templates: inLocales('en', 'pt', 'es', 'fr') }), 'fr')
    assert.equal(await localeOf({ ...given, templates: inLocales('en', 'pt', 'es') }), 'es')
    assert.equal(await localeOf({ ...given, templates: inLocales('en', 'pt') }), 'pt')
    assert.equal(await localeOf({ ...given, templates: inLocales('it', 'en') }), 'en')
  })

  it('are in another form of the language before they are in another language', async () => {
    const payload = { phone: '+15550100', locale: 'de-AT' }

    assert.equal(await localeOf({ event: { payload }, templates: inLocales('en', 'de-DE') }), 'de-DE')
  })

  it('are in the contact’s language where the event does not say', async () => {
    assert.equal(await localeOf({ contact: { locale: 'fr' }, templates: inLocales('en', 'fr') }), 'fr')
  })

  it('are chosen for each recipient', async () => {
    const planned = await plan({
      accounts: ['sms'],
      templates: inLocales('en', 'fr'),
      event: { recipients: [{ phone: '+12025550101', locale: 'fr' }, { phone: '+12025550102' }] },
    })

    assert.deepEqual(
      planned.map((one) => contentOf(one).body),
      ['fr Ada', 'en Ada'],
    )
  })

  it('are those of the narrowest scope that fits, whatever the locale', async () => {
    const scoped = (id: string, scope: Template['scope'], locale = 'en'): Template =>
      sampleTemplate({ id, scope, locale })
    const templates = [
      scoped('everybody', null),
      scoped('listing-10', { type: 'listing', id: '10' }, 'de'),
      scoped('listing-11', { type: 'listing', id: '11' }),
      scoped('owner-7', { type: 'owner', id: '7' }),
    ]
    const scopes = [
      { type: 'listing', path: 'listingId' },
      { type: 'owner', path: 'owner.id' },
    ]
    const templateOf = async (fields: Record<string, unknown>): Promise<string | null> =>
      only(
        await plan({
          accounts: ['sms'],
          templates,
          type: { scopes },
          event: { payload: { phone: '+15550100', ...fields } },
        }),
      ).templateId

    assert.equal(await templateOf({ listingId: 10, owner: { id: '7' } }), 'listing-10')
    assert.equal(await templateOf({ listingId: 12, owner: { id: '7' } }), 'owner-7')
    assert.equal(await templateOf({ listingId: 12 }), 'everybody')
    assert.equal(await templateOf({}), 'everybody')
  })

  it('of a scope that does not fit are none', async () => {
    const templates = [sampleTemplate({ scope: { type: 'listing', id: '10' } })]

    const delivery: Delivery = { kind: 'channels', channels: ['sms'] }

    assert.deepEqual(brief(await plan({ accounts: ['sms'], templates, delivery })), ['skipped sms: no_template'])
    assert.deepEqual(
      brief(await plan({ accounts: ['sms'], templates })),
      [],
      'and all channels with a template are none',
    )
  })

  it('are not sent to an address that has not the form its channel needs; the other channels are', async () => {
    const recipients = [{ phone: 'not a phone', email: 'ada@example.com' }]

    const planned = await plan({ accounts: ['sms', 'email'], templates: ['sms', 'email'], event: { recipients } })

    assert.deepEqual(Object.fromEntries(planned.map(({ channel, stopped }) => [channel, stopped?.reason ?? null])), {
      email: null,
      sms: 'invalid_recipient',
    })
  })

  it('that cannot be rendered park their notification alone, with template and account (P7)', async () => {
    const broken = sampleTemplate({ id: 't-broken', channel: 'sms', body: '{{ name | no_such_filter }}' })

    const planned = await plan({ accounts: ['sms', 'email'], templates: [broken, 'email'] })

    assert.deepEqual(brief(planned), ['parked sms: render_failed', 'email→a-email'])
    assert.match(planned[0]?.stopped?.error ?? '', /no_such_filter/)
    assert.deepEqual([planned[0]?.content, planned[0]?.accountId, planned[0]?.templateId], [null, 'a-sms', 't-broken'])
  })

  it('that are HTML are marked as such', async () => {
    const html = sampleTemplate({ channel: 'email', subject: 'S', body: '<p>{{name}}</p>' })

    assert.equal(contentOf(only(await plan({ accounts: ['email'], templates: [html] }))).isHtml, true)
    assert.equal(contentOf(only(await plan({ accounts: ['sms'], templates: ['sms'] }))).isHtml, undefined)
  })
})

describe('secrets', () => {
  const type = { secrets: ['token'] }
  const template = sampleTemplate({ body: 'Your code is {{token}}' })
  const given = { templates: [template], accounts: ['sms'] as Channel[], type }
  const phone = '+15550100'

  it('are opened for the words, which are sealed for their notification alone', async () => {
    const payload = seal.sealFields({ tenantId: 'acme', id: 'event-1', payload: { phone, token: 's3cret' } }, ['token'])

    const { id, tenantId, content, warnings } = only(await plan({ ...given, event: { payload } }))

    assert.ok(content && isSealedContent(content))
    assert.equal(JSON.stringify(content).includes('s3cret'), false)
    const opened = seal.openContent(content, { tenantId, notificationId: id })
    assert.ok('content' in opened)
    assert.equal(opened.content.body, 'Your code is s3cret')
    assert.deepEqual(opened.secrets, ['s3cret'])
    assert.ok('error' in seal.openContent(content, { tenantId, notificationId: 'another' }))
    assert.deepEqual(warnings, [])
  })

  it('in clear are warned about, and sealed all the same', async () => {
    const { content, warnings } = only(await plan({ ...given, event: { payload: { phone, token: 's3cret' } } }))

    assert.ok(content && isSealedContent(content))
    assert.deepEqual(
      warnings.map(({ code, key }) => [code, key]),
      [['secret_in_clear', '/token']],
    )
    assert.equal(JSON.stringify(warnings).includes('s3cret'), false)
  })

  it('seal the words of an event whose type names none, where the host sealed something', async () => {
    const payload = seal.sealFields({ tenantId: 'acme', id: 'event-1', payload: { phone, token: 's3cret' } }, ['token'])

    const { content } = only(await plan({ ...given, type: {}, event: { payload } }))

    assert.ok(content && isSealedContent(content))
  })
})

describe('contacts', () => {
  it('lend their addresses to nobody who is only reached by the same telephone', async () => {
    const planned = await plan({
      ...BOTH,
      event: { recipients: [{ phone: '+15550100' }] },
      contact: { email: 'ada@example.test', phone: '+15550100' },
    })

    assert.deepEqual(brief(planned), ['sms→a-sms', 'skipped email: no_address'])
    assert.deepEqual([planned[0]?.to, planned[0]?.contactId], [{ phone: '+15550100' }, 'c-1'])
  })

  it('fill in the addresses that the event does not name, for one it names for certain', async () => {
    const planned = await plan({
      ...BOTH,
      event: { recipients: [{ phone: '+15550100', profileId: 'p-1' }] },
      contact: { email: 'ada@example.test', phone: '+15550999', name: 'Ada L.' },
    })

    assert.deepEqual(brief(planned), ['sms→a-sms', 'email→a-email'])
    assert.deepEqual(planned[0]?.to, { phone: '+15550100', email: 'ada@example.test', name: 'Ada L.' })
    assert.deepEqual([planned[0]?.contactId, planned[0]?.conversationId], ['c-1', 'v-1'])
  })

  it('who share an address are told each', async () => {
    const recipients = [
      { profileId: 'p-1', email: 'family@example.test' },
      { profileId: 'p-2', email: 'family@example.test' },
    ]
    const contactOfEach = (profileId: string): Partial<Contact> => ({ id: `c-${profileId}`, profileId })

    const planned = await plan({
      templates: ['email'],
      accounts: ['email'],
      event: { recipients },
      contactOf: ({ key }) => contactOfEach(key),
    })

    assert.deepEqual(brief(planned), ['email→a-email', 'email→a-email'])
    assert.deepEqual(
      planned.map(({ contactId, to }) => [contactId, to.email]),
      [
        ['c-p-1', 'family@example.test'],
        ['c-p-2', 'family@example.test'],
      ],
    )
    assert.equal(new Set(planned.map(({ idempotencyKey }) => idempotencyKey)).size, 2)
  })

  it('named twice, by phone and by email, are told once at each address', async () => {
    const recipients = [
      { phone: '+15550100', contactId: 'c-1' },
      { email: 'ada@example.test', contactId: 'c-1' },
    ]

    const planned = await plan({
      ...BOTH,
      event: { recipients },
      contact: { phone: '+15550100', email: 'ada@example.test' },
    })

    assert.deepEqual(brief(planned), [
      'sms→a-sms',
      'email→a-email',
      'skipped sms: duplicate',
      'skipped email: duplicate',
    ])
    assert.deepEqual(
      planned.map(({ place, duplicateOf }) => [place, duplicateOf]),
      [
        ['0', null],
        ['0', null],
        ['1', planned[0]?.id],
        ['1', planned[1]?.id],
      ],
    )
  })

  it('with a second address of their own are told there, too', async () => {
    const recipients = [
      { phone: '+15550100', email: 'a@example.test' },
      { phone: '+15550100', email: 'b@example.test' },
    ]

    const planned = await plan({ ...BOTH, event: { recipients }, contact: { phone: '+15550100' } })

    assert.deepEqual(
      planned.map(({ channel, to, stopped }) => stopped?.reason ?? (channel === 'sms' ? to.phone : to.email)),
      ['+15550100', 'a@example.test', 'duplicate', 'b@example.test'],
    )
  })
})

describe('what cannot be sent is skipped and says why (P1)', () => {
  it('an element of a list in which nobody can be reached', async () => {
    const type = { recipients: [{ phone: 'seats[].phone', email: 'seats[].email' }] }
    const payload = { seats: [{ phone: '+15550101', email: 'a@example.test' }, { name: 'Bo' }] }

    const planned = (await plan({ ...BOTH, type, event: { payload } })).filter(({ stopped }) => stopped)

    assert.deepEqual(brief(planned), ['skipped sms: no_address', 'skipped email: no_address'])
    assert.equal(planned[0]?.stopped?.error, 'seats[1] has no address for sms')
    assert.deepEqual([planned[0]?.content, planned[0]?.accountId, planned[0]?.provider], [null, null, null])
  })

  it('no template on any of the channels', async () => {
    const planned = await plan({ accounts: ['sms'], delivery: { kind: 'channels', channels: ['sms', 'whatsapp'] } })

    assert.deepEqual(brief(planned), ['skipped sms: no_template', 'skipped whatsapp: no_template'])
    assert.match(planned[1]?.stopped?.error ?? '', /booking.confirmed on whatsapp/)
  })

  it('templates, but no account for them', async () => {
    const planned = await plan({ templates: ['sms', 'email'], accounts: ['push'] })

    assert.deepEqual(brief(planned), ['skipped sms: no_active_account', 'skipped email: no_active_account'])
  })

  it('an account that is suspended, which is as good as none', async () => {
    const off = storedAccount({ channel: 'sms', status: 'suspended' })

    assert.equal(only(await plan({ templates: ['sms'], accounts: [off] })).stopped?.reason, 'no_active_account')
  })

  it('template and account, but no address for the channel', async () => {
    const planned = only(
      await plan({ templates: ['sms'], accounts: ['sms'], event: { payload: { email: 'ada@example.test' } } }),
    )

    assert.equal(planned.stopped?.reason, 'no_address')
    assert.deepEqual(planned.to, { email: 'ada@example.test' })
  })

  it('one recipient’s trouble is not another’s', async () => {
    const planned = await plan({
      templates: ['sms'],
      accounts: ['sms'],
      event: { recipients: [{ email: 'ada@example.test' }, { phone: '+15550100' }] },
    })

    assert.deepEqual(brief(planned), ['skipped sms: no_address', 'sms→a-sms'])
  })

  it('with the locale of whoever should have got it', async () => {
    const payload = { email: 'ada@example.test', locale: 'fr' }

    assert.equal(only(await plan({ event: { payload, channels: ['email'] } })).locale, 'fr')
  })
})

describe('idempotency keys (P2)', () => {
  const keys = async (given: Given): Promise<string[]> =>
    (await plan({ ...BOTH, ...given })).map(({ idempotencyKey }) => idempotencyKey)

  it('are per entity by default: the same thing twice makes one row', async () => {
    assert.deepEqual(await keys({ event: { id: 'one' } }), await keys({ event: { id: 'two' } }))
    assert.deepEqual(await keys({}), ['B-42:booking.confirmed:sms:t-sms', 'B-42:booking.confirmed:email:t-email'])
  })

  it('are per event where the catalogue says so', async () => {
    assert.deepEqual(await keys({ type: { once: 'per-event' } }), [
      'event-1:booking.confirmed:sms:t-sms',
      'event-1:booking.confirmed:email:t-email',
    ])
  })

  it('are per due time where the catalogue says so: what moves is told anew, what is repeated is not', async () => {
    const type = {
      once: 'per-occurrence',
      timing: { offsetMs: -3_600_000, field: 'departure', at: null, ifPast: 'send' },
    } as const
    const at = async (id: string, departure: string) =>
      await keys({ type, event: { id, payload: { phone: '+12025550101', departure }, channels: ['sms'] } })

    assert.deepEqual(await at('one', '2026-03-15T10:00:00Z'), ['B-42@20260315T090000Z:booking.confirmed:sms:t-sms'])
    assert.deepEqual(await at('two', '2026-03-15T10:00:00Z'), await at('one', '2026-03-15T10:00:00Z'))
    assert.deepEqual(await at('one', '2026-03-16T10:00:00Z'), ['B-42@20260316T090000Z:booking.confirmed:sms:t-sms'])
    assert.deepEqual(
      await keys({ type, event: { dueAt: Date.UTC(2026, 0, 1), channels: ['sms'] } }),
      ['B-42@20260101T000000Z:booking.confirmed:sms:t-sms'],
      'an event may say itself when it is due',
    )
  })

  it('name the recipient where there are several, and only then', async () => {
    const recipients: EventRecipient[] = [{ phone: '+12025550101' }, { phone: '+12025550102', profileId: 'p2' }]

    assert.deepEqual(await keys({ event: { recipients, channels: ['sms'] } }), [
      'B-42:booking.confirmed:sms:t-sms:+12025550101',
      'B-42:booking.confirmed:sms:t-sms:p2',
    ])
    assert.deepEqual(await keys({ event: { recipients: [{ phone: '+12025550101' }], channels: ['sms'] } }), [
      'B-42:booking.confirmed:sms:t-sms',
    ])
  })

  it('are of the first, where the same person is named twice', async () => {
    const recipients: EventRecipient[] = [{ email: 'Ada@example.test' }, { email: 'ada@EXAMPLE.test' }]

    assert.deepEqual(await keys({ templates: ['email'], event: { recipients } }), [
      'B-42:booking.confirmed:email:t-email:ada@example.test',
      'skipped:event-1:email:1',
    ])
  })

  it('are all different within one event', async () => {
    const recipients = [{ phone: '1', email: 'a' }, { phone: '2', email: 'b' }, { userId: 'nowhere' }]

    const made = await keys({ event: { recipients } })

    assert.equal(made.length, 6)
    assert.equal(new Set(made).size, 6)
  })

  it('of what is skipped name event, channel and place, and do not stand in the way of what is sent later', async () => {
    assert.deepEqual(await keys({ accounts: [] }), ['skipped:event-1:sms:0', 'skipped:event-1:email:0'])
  })

  it('of a resend by hand are new for every request', async () => {
    const manual = { requestId: 'r-1', actor: 'console:test' }

    const planned = await plan({
      ...BOTH,
      cause: { manual, limits: { channels: ['sms'] } },
      type: { expiresAfterMs: 1 },
    })

    assert.equal(only(planned).idempotencyKey, 'manual:B-42:sms:t-sms:r-1')
    assert.deepEqual([planned[0]?.triggeredBy, planned[0]?.expiresAt], ['console:test', null])
  })
})

describe('a paused account', () => {
  const ill = storedAccount({ id: 'ill', channel: 'email', status: 'paused' })
  const payload = { phone: '+491701234567', email: 'a@example.com' }
  const told = async (given: Given) =>
    (await plan({ templates: ['email', 'sms'], event: { payload }, ...given })).map(
      ({ channel, accountId, fallback, stopped }) => [channel, accountId, fallback, stopped],
    )

  it('is planned for all the same: what it would have sent waits for its credentials', async () => {
    assert.deepEqual(await told({ accounts: [ill, 'sms'] }), [
      ['sms', 'a-sms', [], null],
      ['email', 'ill', [], null],
    ])
  })

  it('comes after an active one of its channel', async () => {
    const well = storedAccount({ id: 'well', channel: 'email' })

    assert.deepEqual(await told({ templates: ['email'], accounts: [ill, well] }), [['email', 'well', [], null]])
  })

  it('holds up no chain that has another channel, but is better than none', async () => {
    const delivery: Delivery = { kind: 'fallback', channels: ['email', 'sms'] }

    assert.deepEqual(await told({ delivery, accounts: [ill, 'sms'] }), [
      [
        'email',
        null,
        [],
        { status: 'skipped', reason: 'no_active_account', error: `the account ${ill.name} is paused` },
      ],
      ['sms', 'a-sms', [], null],
    ])
    assert.deepEqual(await told({ delivery, accounts: [ill] }), [['email', 'ill', ['sms'], null]])
    assert.deepEqual(await told({ delivery, accounts: [ill, 'sms'], event: { payload: { email: 'a@example.com' } } }), [
      ['email', 'ill', ['sms'], null],
    ])
  })
})

it('sends to a webhook account’s own URL where the recipient names none', async () => {
  const settings = { url: 'https://hooks.example.com/in' }
  const hook = storedAccount({ id: 'hook', channel: 'webhook', settings })
  const type = { recipients: [{ userId: 'user', url: 'hook' }] }
  const told = async (payload: Record<string, unknown>) =>
    only(await plan({ templates: ['webhook'], accounts: [hook], type, event: { payload } })).to

  assert.deepEqual(await told({ user: 'u1' }), { userId: 'u1', url: settings.url })
  assert.deepEqual((await told({ user: 'u1', hook: 'https://other.example.com/' })).url, 'https://other.example.com/')
})

it('sends to a device through the account whose vendor knows it', async () => {
  const accounts = ['fcm', 'wns'].map((provider) => storedAccount({ id: provider, provider, channel: 'push' }))
  const planned = await plan({
    templates: ['push'],
    accounts,
    type: { recipients: [{ deviceToken: 'token', platform: 'platform' }] },
    event: { payload: { token: 'https://example.notify.windows.com/?token=x', platform: 'WNS' } },
  })

  assert.equal(only(planned).accountId, 'wns')
})

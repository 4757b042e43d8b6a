import type { StoredAccount } from '../model/account.ts'
import { withOwnUrl } from '../model/account-choice.ts'
import { addressProblems, isPhone } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { Contact } from '../model/contact.ts'
import { type FieldError, isPassing, isPillarboxError, PillarboxError } from '../model/errors.ts'
import type { NewNotification, NotificationStatus, Warning } from '../model/notification.ts'
import type { Clock, IdSource, Meters, Tracing } from '../model/ports.ts'
import { type Address, addressOf } from '../model/recipient.ts'
import { asSentTo } from '../model/sent-address.ts'
import { regionOf, testClockMs } from '../model/tenant.ts'
import { type ComposeTools, compose, policyOf, throwUnlessRendered } from '../plan/compose.ts'
import { noRecipient } from '../plan/recipients.ts'
import { createWordsFinder, type RequestWords, type WordsDeps, wordsProblems } from '../plan/request-words.ts'
import type { SkipReport } from '../plan/skip-report.ts'
import type { Hub } from '../runtime/hub.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'
import { instantMs, withoutNulls } from './body-fields.ts'
import { measureIntake } from './measure-intake.ts'
import {
  bodyProblems,
  chainOf,
  expandProblems,
  fromPush,
  isPushBody,
  type NotificationBody,
  type PushBody,
} from './notification-body.ts'
import type { SiteBody } from './site-items.ts'
import type { SiteContact } from './site-store.ts'

export interface NotificationIntake {
  /** The same for what a site hands off. `isRewound`: the site's buffer was restored or cloned. */
  handOff(
    caller: IntakeCaller & { site: string },
    items: readonly SiteBody[],
    contact: Omit<SiteContact, 'tenantId' | 'site'>,
  ): Promise<{ answers: NotificationAnswer[]; isRewound: boolean }>
  /**
   * Takes notifications that have the schema's form; answers in the given order. What is answered without a problem is
   * durable. One that cannot be taken is answered with a problem and spoils no other.
   */
  submit(caller: IntakeCaller, bodies: readonly (NotificationBody | PushBody)[]): Promise<NotificationAnswer[]>
  /**
   * Takes a body with `expand`: one notification for each member of its list with an address for the channel. They are
   * written in parts, each under the body's key and the member's id: a call that was cut short is simply repeated, and
   * makes those that are still missing. Throws what is wrong with the body before anything is written.
   */
  expand(caller: IntakeCaller, body: NotificationBody): Promise<Expanded>
}

export interface IntakeCaller {
  tenantId: string
  actor: string
  /** Where it was handed off, if it was. */
  site?: string | null
  /** The trace of the request, by W3C Trace Context. */
  traceparent?: string | null
}

export type NotificationAnswer =
  | { id: string; status: NotificationStatus; duplicate: boolean }
  | { problem: PillarboxError }

export interface Expanded {
  /** One per member, in the order of the list; those that were there already included. */
  ids: string[]
  /** How many of them were there already. */
  duplicates: number
  /** Members without an address for any of the channels. */
  skipped: number
}

/** The most members `expand` makes notifications for in one call. */
const MAX_EXPANDED = 10_000
const EXPANDED_AT_ONCE = 1_000

export interface NotificationIntakeDeps extends ComposeTools, WordsDeps {
  store: WordsDeps['store'] & Pick<Store, 'notifications' | 'people' | 'lists' | 'sites'>
  sealing: ComposeTools['sealing'] & WordsDeps['sealing']
  clock: Clock
  snapshots: Pick<TenantSnapshots, 'get' | 'choose'>
  ids: IdSource
  skips: SkipReport
  meters: Meters
  tracing: Tracing
  nudge: Hub['nudge']
}

export function createNotificationIntake(deps: NotificationIntakeDeps): NotificationIntake {
  const { store, snapshots, ids, clock, skips, nudge } = deps
  const way = 'notifications'
  return {
    submit: (from, bodies) => measureIntake(deps, { from, way, items: bodies.length }, (own) => submit(own, bodies)),
    async handOff(from, items, contact) {
      let isRewound = false
      const answers = await measureIntake(deps, { from, way: 'sites', items: items.length }, (own) =>
        submit(
          own,
          items.map(({ body }) => body),
          async (accepted, refused) => {
            const told = items.filter((_, i) => refused.has(i)).flatMap(({ sequence }) => sequence ?? [])
            const heard = {
              ...contact,
              tenantId: from.tenantId,
              site: from.site,
              refused: [...contact.refused, ...told],
            }
            const handedOff = accepted.map(({ notification, index }) => {
              const { sequence = null, sentAt = null } = items[index] ?? {}
              return { notification, sequence, sentAt }
            })
            const result = await store.sites.handOff(heard, handedOff)
            isRewound = result.isRewound
            return result.written
          },
        ),
      )
      return { answers, isRewound }
    },
    async expand(from, body) {
      let skipped = 0
      const rows = await measureIntake(deps, { from, way, items: 1 }, async (own) => {
        const made = await expand(own, body)
        skipped = made.skipped
        return made.rows
      })
      return { ids: rows.map(({ id }) => id), duplicates: rows.filter(({ duplicate }) => duplicate).length, skipped }
    },
  }

  async function submit(
    caller: IntakeCaller,
    given: readonly (NotificationBody | PushBody)[],
    insert: (accepted: readonly AcceptedItem[], refused: ReadonlySet<number>) => Promise<WrittenRow[]> = (accepted) =>
      insertAll(accepted.map(({ notification }) => notification)),
  ): Promise<NotificationAnswer[]> {
    const answers: NotificationAnswer[] = []
    const accepted: AcceptedItem[] = []
    const refused = new Set<number>()
    const finder = createWordsFinder(deps, caller.tenantId)
    const bodies = given.map((body) => (isPushBody(body) ? fromPush(body) : body))
    const contacts = await contactsOf(caller.tenantId, bodies)
    for (const [index, body] of bodies.entries()) {
      try {
        const to = await withAccountUrl(caller.tenantId, body, await addressFor(caller.tenantId, body, contacts))
        const problems = [...addressProblems(body.channel, to), ...bodyProblems(body), ...wordsProblems(body)]
        if (body.expand) problems.push({ path: '/expand', message: 'cannot be used in a batch' })
        if (problems.length) throw invalid(problems)
        const words = await finder.wordsOf(body)
        const contact = contacts.get(body.to.contactId ?? '') ?? null
        accepted.push({ index, notification: await newNotification(caller, body, { to, contact, words }) })
      } catch (error) {
        if (!isPillarboxError(error) || isPillarboxError(error, 'store_unavailable')) throw error
        answers[index] = { problem: error }
        if (!isPassing(error)) refused.add(index)
      }
    }
    const written = await write(
      accepted.map(({ notification }) => notification),
      () => insert(accepted, refused),
    )
    for (const [i, { index, notification }] of accepted.entries()) {
      const row = written[i]
      if (row) answers[index] = { ...row, status: notification.stopped ? 'parked' : 'queued' }
    }
    return answers
  }

  async function expand(
    caller: IntakeCaller,
    body: NotificationBody,
  ): Promise<{ rows: WrittenRow[]; skipped: number }> {
    const { tenantId } = caller
    const problems = [...expandProblems(body), ...bodyProblems(body), ...wordsProblems(body)]
    if (problems.length) throw invalid(problems)
    const words = await createWordsFinder(deps, tenantId).wordsOf(body)
    const chain = chainOf(body).filter((channel) => words.channels?.has(channel) ?? true)
    // Words that cannot be made are told before anything is written.
    for (const channel of chain)
      await composeOn(caller, body, { to: {}, contact: null, words }, { channel, account: null })
    const list = await store.lists.findByName(tenantId, body.to.list ?? '')
    if (!list) throw invalid([{ path: '/to/list', message: 'is not a recipient list of this tenant' }])
    const { members, skipped } = await membersOf(tenantId, list.id, chain)
    if (!members.length)
      throw invalid([{ path: '/to/list', message: `has no member with an address for ${chainOf(body).join(' or ')}` }])
    const rows: WrittenRow[] = []
    for (let from = 0; from < members.length; from += EXPANDED_AT_ONCE) {
      const part = await Promise.all(
        members.slice(from, from + EXPANDED_AT_ONCE).map(({ id, to }) => {
          const one = { ...body, idempotencyKey: `${body.idempotencyKey}:${id}` }
          return newNotification(caller, one, { to, contact: null, words })
        }),
      )
      rows.push(...(await write(part)))
    }
    return { rows, skipped }
  }

  /** Members with an address for one of the channels. Read whole before anything is written: too long a list makes nothing. */
  async function membersOf(
    tenantId: string,
    listId: string,
    chain: readonly Channel[],
  ): Promise<{ members: { id: string; to: Address }[]; skipped: number }> {
    const members: { id: string; to: Address }[] = []
    let skipped = 0
    for (let after: string | null = null; ; ) {
      const page = await store.lists.members(tenantId, listId, after, EXPANDED_AT_ONCE)
      for (const { id, ...member } of page.members) {
        const to: Address = withoutNulls(member)
        if (chain.some((channel) => addressProblems(channel, to).length === 0)) members.push({ id, to })
        else skipped += 1
      }
      if (members.length > MAX_EXPANDED)
        throw invalid([
          {
            path: '/to/list',
            message: `has more than ${MAX_EXPANDED} members; publish an event whose type has recipients: [{ list, expand: true }], which is planned in parts`,
          },
        ])
      after = page.next
      if (after === null) return { members, skipped }
    }
  }

  async function insertAll(notifications: readonly NewNotification[]): Promise<WrittenRow[]> {
    return notifications.length > 0 ? await store.notifications.insert(notifications) : []
  }

  async function write(
    notifications: readonly NewNotification[],
    insert: () => Promise<WrittenRow[]> = () => insertAll(notifications),
  ): Promise<WrittenRow[]> {
    const templates = new Set(notifications.flatMap(({ templateId }) => templateId ?? []))
    if (templates.size) await store.templates.markUsed([...templates])
    const written = await insert()
    skips.note(notifications.filter((_, i) => written[i]?.duplicate === false))
    const now = clock.now()
    const due = notifications.filter(
      ({ stopped, dueAt }, i) => !written[i]?.duplicate && !stopped && (dueAt ?? 0) <= now,
    )
    const lanes = new Set(due.flatMap(({ accountId }) => accountId ?? []))
    if (lanes.size > 0) nudge('dispatch', [...lanes])
    return written
  }

  /** Contacts that are named, by id. */
  async function contactsOf(tenantId: string, bodies: readonly NotificationBody[]): Promise<Map<string, Contact>> {
    const wanted = [...new Set(bodies.flatMap(({ to }) => to.contactId ?? []))]
    if (!wanted.length) return new Map()
    const requests = wanted.map((contactId) => ({ tenantId, contactId, conversation: null }))
    const people = await store.people.resolve(requests, ids)
    return new Map(people.flatMap(({ contact }, i) => (contact ? [[wanted[i] ?? '', contact]] : [])))
  }

  /** As it is sent to: what the contact has where the body names one, numbers in E.164, emails folded. */
  async function addressFor(
    tenantId: string,
    { to: given }: NotificationBody,
    contacts: ReadonlyMap<string, Contact>,
  ): Promise<Address> {
    const plain: Address = withoutNulls(given)
    const isLocal = plain.phone !== undefined && !isPhone(plain.phone)
    const to = asSentTo(plain, isLocal ? regionOf((await snapshots.get(tenantId)).tenant) : null)
    if (to.contactId === undefined) return to
    const contact = contacts.get(to.contactId)
    if (!contact) throw invalid([{ path: '/to/contactId', message: 'is not a contact of this tenant' }])
    const { name, phone, email, userId } = contact
    return { ...withoutNulls({ name, phone, email, userId }), ...to, contactId: contact.id }
  }

  /** Where webhooks go may be the account's to say. */
  async function withAccountUrl(tenantId: string, body: NotificationBody, to: Address): Promise<Address> {
    if (to.url !== undefined || !chainOf(body).includes('webhook')) return to
    return withOwnUrl(to, await snapshots.choose(tenantId, 'webhook', to))
  }

  async function newNotification(
    caller: IntakeCaller,
    body: NotificationBody,
    request: ResolvedRequest,
  ): Promise<NewNotification> {
    const route = await routeFor(caller.tenantId, chainOf(body), request)
    return composeOn(caller, body, request, route)
  }

  /** Throws where the template cannot be rendered: the caller is there to hear of it. */
  async function composeOn(
    { tenantId, actor, site = null, traceparent = null }: IntakeCaller,
    body: NotificationBody,
    { to, contact, words }: ResolvedRequest,
    { channel, account, fallback = [], warnings = [] }: RequestRoute,
  ): Promise<NewNotification> {
    const id = ids()
    const locale = contact?.locale ?? null
    const aheadMs = testClockMs((await snapshots.get(tenantId)).tenant)
    const realTime = (text: string | null | undefined): number | null => {
      const at = instantMs(text)
      return at === null ? null : at - aheadMs
    }
    const notification = await compose(deps, {
      id,
      key: body.idempotencyKey ?? id,
      recipient: { ...noRecipient, address: to, locale, contactId: contact?.id ?? null },
      words: words.on(channel, locale),
      channel,
      account,
      cause: {
        tenantId,
        triggeredBy: actor,
        eventType: words.eventType,
        policy: policyOf(words.type),
        entity: body.entity ?? null,
        correlationId: body.correlationId ?? null,
        traceparent,
        executionId: body.executionId ?? null,
        parentExecutionId: body.parentExecutionId ?? null,
        site,
        dueAt: realTime(body.dueAt),
        wantedAt: laterThan(clock.now(), realTime(body.dueAt)),
        expiresAt: realTime(body.expiresAt),
      },
      fallback,
      warnings,
    })
    return throwUnlessRendered(notification, body.templateId ? '/templateId' : '/eventType')
  }

  /**
   * The first channel of the chain that has words, an active account and an address. A channel without is as good as
   * failed, so the next one is taken at once; where none has an account, the notification waits, parked, on the channel
   * asked for.
   */
  async function routeFor(
    tenantId: string,
    chain: readonly Channel[],
    { to, words: { channels } }: ResolvedRequest,
  ): Promise<RequestRoute> {
    const warnings: Warning[] = chain
      .slice(1)
      .filter((channel) => addressOf(channel, to) === null)
      .map((key) => ({
        code: 'no_fallback_address',
        key,
        message: `There is no address for the fallback channel ${key}.`,
      }))
    const reachable = chain.filter((channel) => addressOf(channel, to) !== null || to.list !== undefined)
    const skipped: Warning[] = []
    const skip = (key: Channel, message: string): void => void skipped.push({ code: 'channel_skipped', key, message })
    for (const [i, channel] of reachable.entries()) {
      if (channels && !channels.has(channel)) {
        skip(channel, `There is no active template for ${channel}.`)
        continue
      }
      const account = await snapshots.choose(tenantId, channel, to)
      if (!account) {
        skip(channel, `The tenant has no active account for ${channel}.`)
        continue
      }
      return { channel, account, fallback: reachable.slice(i + 1), warnings: [...skipped, ...warnings] }
    }
    const channel = reachable.find((one) => channels?.has(one) ?? true) ?? chain[0] ?? 'email'
    return { channel, account: null, fallback: reachable.filter((one) => one !== channel), warnings }
  }
}

/** A notification that is to be written, and the body that it comes of. */
interface AcceptedItem {
  notification: NewNotification
  index: number
}

/** A notification that is on record; `duplicate`: it was there already. */
interface WrittenRow {
  id: string
  duplicate: boolean
}

/** What a request comes to before its channel is chosen. */
interface ResolvedRequest {
  to: Address
  contact: Contact | null
  words: RequestWords
}

/** The channel a request goes out on, and those to be tried after it. */
interface RequestRoute {
  channel: Channel
  account: StoredAccount | null
  fallback?: Channel[]
  warnings?: Warning[]
}

function invalid(errors: FieldError[]): PillarboxError {
  const [first] = errors
  return new PillarboxError('invalid_body', `${first?.path} ${first?.message}.`, { errors })
}

/** The instant, if it is still to come. */
function laterThan(now: number, instant: number | null): number | null {
  return instant !== null && instant > now ? instant : null
}

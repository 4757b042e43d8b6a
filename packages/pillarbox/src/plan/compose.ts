import type { StoredAccount } from '../model/account.ts'
import type { EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import type {
  BornStopped,
  Content,
  NewNotification,
  NotificationPolicy,
  SealedContent,
  Warning,
} from '../model/notification.ts'
import type { Clock } from '../model/ports.ts'
import { isSkipReason, type Reason } from '../model/reason.ts'
import type { Template } from '../model/template.ts'
import { testClockMs } from '../model/tenant.ts'
import { onlyWords, type RenderOptions, type TemplateWords } from '../render/render.ts'
import { suppliedFields } from '../render/render-options.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import { redact } from '../security/redact.ts'
import type { Allowance } from '../untrusted/allowance.ts'
import type { Tasks } from '../untrusted/tasks.ts'
import { answerOf, NO_TIME, type Untrusted } from '../untrusted/untrusted.ts'
import type { PlanContext } from './context-book.ts'
import type { UnrenderedMessage } from './message.ts'
import type { Recipient } from './recipients.ts'

/** What every notification is made of, whoever asks for it: an event, a request, a test, a resend, a fallback, a retry. */
export interface Composition {
  id: string
  /** The idempotency key. */
  key: string
  /** Who; null where an event turned out to be for nobody. */
  recipient: ComposedRecipient | null
  /** What. */
  words: WordsSource
  channel: Channel
  account: Pick<StoredAccount, 'id' | 'provider'> | null
  /** Why. */
  cause: Cause
  /** Channels to be tried after this one. */
  fallback?: readonly Channel[]
  /** The notification that tells the same. */
  duplicateOf?: string
  /** See `NewNotification`. */
  followsCancelled?: boolean
  warnings?: readonly Warning[]
}

export type ComposedRecipient = Pick<
  Recipient,
  'address' | 'locale' | 'element' | 'place' | 'contactId' | 'conversationId'
>

/** What a notification says, or what keeps it from saying anything. */
export type WordsSource =
  | { kind: 'template'; template: Template; message: UnrenderedMessage; data?: Record<string, unknown> }
  /** Words that exist already: those of the caller, or of the notification that this one takes over from. */
  | {
      kind: 'content'
      content: Content | SealedContent
      from: Pick<NewNotification, 'templateId' | 'templateVersion' | 'locale'> | null
    }
  | { kind: 'obstacle'; obstacle: Obstacle }

/** Why somebody cannot be told. */
export interface Obstacle {
  reason: Reason
  error: string
}

/** The answer of whoever was asked for words and found an obstacle instead. */
export function problem(reason: Reason, error: string): { problem: Obstacle } {
  return { problem: { reason, error } }
}

/** What a notification goes back to, and what that says about when and how it is sent. What is left out is null. */
export type Cause = Pick<NewNotification, 'tenantId' | 'triggeredBy'> &
  Partial<
    Pick<
      NewNotification,
      | 'eventId'
      | 'eventType'
      | 'scheduleId'
      | 'entity'
      | 'correlationId'
      | 'traceparent'
      | 'executionId'
      | 'parentExecutionId'
      | 'site'
      | 'fallbackOf'
      | 'correctedFrom'
      | 'policy'
      | 'dueAt'
      | 'wantedAt'
      | 'expiresAt'
    >
  >

export interface ComposeTools {
  untrusted: Untrusted
  sealing: Pick<PayloadSeal, 'sealContent'>
  clock: Pick<Clock, 'now'>
  /** Whose turn it is to have words made; absent: the tenant's. */
  turn?: string
  /** Of all that is composed together; absent: there is time for everything. */
  allowance?: Allowance | null
}

/**
 * Makes notifications: the only place that does. What cannot be sent is born skipped or, where somebody has to look at it,
 * parked, and says why. The words of all groups are asked for at once; null for a group whose words there was no time for.
 * Rejects with `overloaded` where nobody could make them.
 */
export async function composeGroups(
  tools: ComposeTools,
  groups: readonly (readonly Composition[])[],
): Promise<(NewNotification[] | null)[]> {
  const words = (await allWords(tools, groups.flat())).values()
  return groups.map((group) => {
    const made = group.map((composition) => {
      const own = words.next().value
      return own ? assembled(composition, own) : null
    })
    return made.every((one) => one !== null) ? made : null
  })
}

/** Makes those of one group. */
export async function composeAll(
  tools: ComposeTools,
  compositions: readonly Composition[],
): Promise<NewNotification[]> {
  const [made] = await composeGroups(tools, [compositions])
  if (!made) throw new PillarboxError('overloaded', 'The words of a notification were not made in time.')
  return made
}

/** Makes one. */
export async function compose(tools: ComposeTools, composition: Composition): Promise<NewNotification> {
  const [made] = await composeAll(tools, [composition])
  return made ?? assembled(composition, NO_WORDS)
}

function assembled(composition: Composition, words: ComposedWords): NewNotification {
  const { id, key, recipient, channel, account, cause } = composition
  return {
    eventId: null,
    eventType: null,
    scheduleId: null,
    entity: null,
    executionId: null,
    parentExecutionId: null,
    site: null,
    fallbackOf: null,
    correctedFrom: null,
    policy: null,
    dueAt: null,
    expiresAt: null,
    ...cause,
    correlationId: cause.correlationId ?? id,
    id,
    idempotencyKey: key,
    channel,
    accountId: account?.id ?? null,
    provider: account?.provider ?? null,
    to: recipient?.address ?? {},
    contactId: recipient?.contactId ?? null,
    conversationId: recipient?.conversationId ?? null,
    content: words.content,
    templateId: words.templateId,
    templateVersion: words.templateVersion,
    locale: words.locale,
    place: recipient?.place ?? null,
    fallback: [...(composition.fallback ?? [])],
    duplicateOf: composition.duplicateOf ?? null,
    warnings: [...(composition.warnings ?? []), ...words.warnings],
    stopped: stoppedBy(words.obstacle ?? (account ? null : noAccount(channel))),
    ...(composition.followsCancelled && { followsCancelled: true }),
  }
}

function stoppedBy(obstacle: Obstacle | null): BornStopped | null {
  return obstacle && { status: isSkipReason(obstacle.reason) ? 'skipped' : 'parked', ...obstacle }
}

/**
 * For whoever asks while the caller waits to hear of it: the notification, or a `PillarboxError` where its template could
 * not be rendered. `path` is the field of the request that named the template.
 */
export function throwUnlessRendered(notification: NewNotification, path: string): NewNotification {
  if (notification.stopped?.reason !== 'render_failed') return notification
  const message = notification.stopped.error
  throw new PillarboxError('invalid_template', `The template cannot be rendered: ${message}`, {
    errors: [{ path, message }],
  })
}

export function noAccount(channel: Channel): Obstacle {
  return { reason: 'no_active_channels', error: `The tenant has no active account for ${channel}.` }
}

/** What an event type says in place of the account. */
export function policyOf(type: EventType | null): NotificationPolicy | null {
  const retry = type?.retry ?? null
  const onUndeliverable = type?.onUndeliverable ?? null
  if (retry === null && onUndeliverable === null) return null
  return { ...(retry !== null && { retry }), ...(onUndeliverable !== null && { onUndeliverable }) }
}

interface ComposedWords extends Pick<NewNotification, 'content' | 'templateId' | 'templateVersion' | 'locale'> {
  warnings: readonly Warning[]
  obstacle: Obstacle | null
}

const NO_WORDS: ComposedWords = {
  content: null,
  templateId: null,
  templateVersion: null,
  locale: null,
  warnings: [],
  obstacle: null,
}

/** What the words of one composition come to once those that strangers wrote have been worked out. */
interface PendingWords {
  job?: Tasks['render']['given']
  html?: Tasks['plainText']['given']
  finish(rendered: Tasks['render']['answer'], plain: Tasks['plainText']['answer'] | null): ComposedWords
}

/** Null in place of words that there was no time for. */
async function allWords(tools: ComposeTools, compositions: readonly Composition[]): Promise<(ComposedWords | null)[]> {
  const { untrusted, allowance } = tools
  const turn = tools.turn ?? compositions[0]?.cause.tenantId ?? ''
  const pending = compositions.map((composition) => wordsOf(tools, composition))
  const jobs = pending.flatMap(({ job }) => job ?? [])
  const htmls = pending.flatMap(({ html }) => html ?? [])
  const asked = [
    untrusted.run('render', jobs, turn, allowance),
    untrusted.run('plainText', htmls, turn, allowance),
  ] as const
  const [rendered, plain] = await Promise.all(asked).then(([some, others]) => [some.values(), others.values()] as const)
  return pending.map(({ job, html, finish }) => {
    const words = job && rendered.next().value
    const text = html && plain.next().value
    if (words === NO_TIME || text === NO_TIME) return null
    return finish(
      job ? answerOf(words, (error) => ({ error })) : { error: '' },
      html ? answerOf(text, (problem) => ({ problem })) : null,
    )
  })
}

function wordsOf(tools: ComposeTools, composition: Composition): PendingWords {
  const { words, recipient, channel, cause } = composition
  switch (words.kind) {
    case 'content': {
      const { content, from } = words
      const isUnread = !('sealed' in content) && content.isHtml === true && content.text === undefined
      return {
        ...(isUnread && { html: { tenantId: cause.tenantId, html: content.body, channel } }),
        finish: (_, plain) => ({ ...NO_WORDS, ...from, ...withText(content, plain) }),
      }
    }
    case 'obstacle':
      // The locale that the recipient prefers: planning anew finds it there.
      return { finish: () => ({ ...NO_WORDS, locale: recipient?.locale ?? null, obstacle: words.obstacle }) }
    case 'template':
      return fromTemplate(tools, composition, words)
  }
}

/** The caller's own HTML with the text that is made of it; or why there can be none. */
function withText(
  content: Content | SealedContent,
  plain: Tasks['plainText']['answer'] | null,
): Pick<ComposedWords, 'content' | 'obstacle'> {
  if (plain === null) return { content, obstacle: null }
  if ('problem' in plain) return { content, obstacle: { reason: 'content_rejected', error: plain.problem } }
  return { content: { ...content, text: plain.text }, obstacle: null }
}

/** A template's words for a recipient, sealed where they may hold a secret. */
function fromTemplate(
  { sealing, clock }: ComposeTools,
  { id, channel, recipient, cause }: Composition,
  { template, message, data }: Extract<WordsSource, { kind: 'template' }>,
): PendingWords {
  const { tenantId, payload, secrets } = message
  const { rendering, eventType, tenant } = message.context
  const from = { templateId: template.id, templateVersion: template.version, locale: template.locale }
  const finish: PendingWords['finish'] = (rendered) => {
    if ('error' in rendered) {
      const error = rendering ? redact(rendered.error, secrets) : `the tenant ${tenantId} is gone`
      return { ...NO_WORDS, ...from, warnings: message.warnings, obstacle: { reason: 'render_failed', error } }
    }
    const { subject, body, isHtml, text, providerTemplate, warnings } = rendered
    const content: Content = {
      subject,
      body,
      data: data ?? (channel === 'push' ? pushDataOf(payload) : {}),
      ...(isHtml && { isHtml }),
      ...(text !== undefined && { text }),
      ...(providerTemplate && { providerTemplate }),
    }
    return {
      ...from,
      content: message.isSecret ? sealing.sealContent(content, secrets, { tenantId, notificationId: id }) : content,
      warnings: [...message.warnings, ...warnings],
      obstacle: null,
    }
  }
  if (!rendering) return { finish }
  const supplied = suppliedFields(eventType, { recipient, entity: cause.entity ?? null })
  const own = { now: clock.now() + testClockMs(tenant), supplied }
  const options = sentOptions(rendering, template.locale)
  return { job: { tenantId, template: sentWords(template), channel, context: payload, options, own }, finish }
}

/** The same object for the same template: then a message says it once, however many recipients it is for. */
function sentWords(template: Template): TemplateWords {
  const words = sentBefore.get(template) ?? onlyWords(template)
  sentBefore.set(template, words)
  return words
}

const sentBefore = new WeakMap<Template, TemplateWords>()

/** The same object for the same context and locale. */
function sentOptions(rendering: NonNullable<PlanContext['rendering']>, locale: string): RenderOptions {
  const byLocale = optionsBefore.get(rendering) ?? new Map<string, RenderOptions>()
  const options = byLocale.get(locale) ?? { ...rendering, locale }
  byLocale.set(locale, options)
  optionsBefore.set(rendering, byLocale)
  return options
}

const optionsBefore = new WeakMap<NonNullable<PlanContext['rendering']>, Map<string, RenderOptions>>()

/** A push message carries the payload's `data` to the application on the device, beside its words. */
function pushDataOf({ data }: Record<string, unknown>): Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Record<string, unknown>) : {}
}

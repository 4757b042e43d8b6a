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
import type { Renderer } from '../render/render.ts'
import { suppliedFields } from '../render/render-options.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import { redact } from '../security/redact.ts'
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
      | 'executionId'
      | 'parentExecutionId'
      | 'site'
      | 'fallbackOf'
      | 'correctedFrom'
      | 'policy'
      | 'dueAt'
      | 'expiresAt'
    >
  >

export interface ComposeTools {
  renderer: Pick<Renderer, 'render'>
  sealing: Pick<PayloadSeal, 'sealContent'>
  clock: Pick<Clock, 'now'>
}

/**
 * Makes one notification: the only place that does. What cannot be sent is born skipped or, where somebody has to look at
 * it, parked, and says why. Never throws.
 */
export function compose(tools: ComposeTools, composition: Composition): NewNotification {
  const { id, key, recipient, channel, account, cause } = composition
  const words = wordsOf(tools, composition)
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

function wordsOf(tools: ComposeTools, composition: Composition): ComposedWords {
  const { words, recipient } = composition
  const nothing: ComposedWords = {
    content: null,
    templateId: null,
    templateVersion: null,
    locale: null,
    warnings: [],
    obstacle: null,
  }
  switch (words.kind) {
    case 'content':
      return { ...nothing, ...words.from, content: words.content }
    case 'obstacle':
      // The locale that the recipient prefers: planning anew finds it there.
      return { ...nothing, locale: recipient?.locale ?? null, obstacle: words.obstacle }
    case 'template': {
      const { id: templateId, version: templateVersion, locale } = words.template
      const rendered = render(tools, composition, words)
      const isRendered = 'content' in rendered
      return {
        content: isRendered ? rendered.content : null,
        templateId,
        templateVersion,
        locale,
        warnings: [...words.message.warnings, ...(isRendered ? rendered.warnings : [])],
        obstacle: isRendered ? null : { reason: 'render_failed', error: rendered.error },
      }
    }
  }
}

/** A template's words for a recipient, sealed where they may hold a secret. */
function render(
  { renderer, sealing, clock }: ComposeTools,
  { id, channel, recipient, cause }: Composition,
  { template, message, data }: Extract<WordsSource, { kind: 'template' }>,
): { content: Content | SealedContent; warnings: readonly Warning[] } | { error: string } {
  const { rendering } = message.context
  if (!rendering) return { error: `the tenant ${message.tenantId} is gone` }
  const supplied = suppliedFields(message.context.eventType, { recipient, entity: cause.entity ?? null })
  const options = { ...rendering, locale: template.locale, now: clock.now(), supplied }
  const rendered = renderer.render(template, channel, message.payload, options)
  if ('error' in rendered) return { error: redact(rendered.error, message.secrets) }
  const { subject, body, isHtml, text, providerTemplate, warnings } = rendered
  const content: Content = {
    subject,
    body,
    data: data ?? (channel === 'push' ? pushDataOf(message.payload) : {}),
    ...(isHtml && { isHtml }),
    ...(text !== undefined && { text }),
    ...(providerTemplate && { providerTemplate }),
  }
  const place = { tenantId: message.tenantId, notificationId: id }
  return { content: message.isSecret ? sealing.sealContent(content, message.secrets, place) : content, warnings }
}

/** A push message carries the payload's `data` to the application on the device, beside its words. */
function pushDataOf({ data }: Record<string, unknown>): Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Record<string, unknown>) : {}
}

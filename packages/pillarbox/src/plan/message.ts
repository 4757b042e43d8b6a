import type { Channel } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import { bestByLocale } from '../model/locale.ts'
import type { Warning } from '../model/notification.ts'
import { textOf, valueAt } from '../model/path.ts'
import type { Template } from '../model/template.ts'
import type { OpenedPayload, PayloadSeal } from '../security/payload-seal.ts'
import type { PlanContext } from './context-book.ts'

/** What is to be said, by an event or by a request that names templates, before it is known to whom and on which channel. */
export interface UnrenderedMessage {
  tenantId: string
  context: PlanContext
  /** Of the event or the request; the recipient's own counts where this is null. */
  locale: string | null
  /** What templates are rendered with; sealed fields are opened. */
  payload: Record<string, unknown>
  /** The secret values, to be kept out of whatever is said about them. */
  secrets: readonly string[]
  /** What is rendered from it is sealed, whether a secret stands in it or not. */
  isSecret: boolean
  /** True of each notification that is made of it. */
  warnings: readonly Warning[]
}

/** Opens the sealed fields of a payload. The problem, where one cannot be opened, names it. */
export function openMessage(
  sealing: Pick<PayloadSeal, 'openPayload'>,
  { tenantId, id, payload, locale }: Pick<UnrenderedMessage, 'tenantId' | 'payload' | 'locale'> & { id: string },
  context: PlanContext,
): (UnrenderedMessage & { inClear: string[] }) | Extract<OpenedPayload, { problem: unknown }> {
  const secretPaths = context.eventType?.secrets ?? []
  const opened = sealing.openPayload({ tenantId, id, payload }, secretPaths)
  if ('problem' in opened) return opened
  const isSecret = secretPaths.length > 0 || opened.wasSealed
  return { tenantId, context, locale, ...opened, isSecret, warnings: [] }
}

/**
 * A request's context as a message; its secret fields are treated like an event's. Throws a `PillarboxError` where the
 * tenant is gone or a field cannot be opened.
 */
export function requestMessage(
  sealing: Pick<PayloadSeal, 'openPayload'>,
  request: { tenantId: string; context: Record<string, unknown>; locale: string | null },
  context: PlanContext,
): UnrenderedMessage {
  if (!context.tenant) throw new PillarboxError('not_found', 'There is no such tenant.')
  const { tenantId, locale } = request
  // What the server sealed opens in its event only, and this is none; what a host sealed needs no id.
  const message = openMessage(sealing, { tenantId, id: '', payload: request.context, locale }, context)
  if (!('problem' in message)) return message
  const path = `/context${message.problem.path}`
  const errors = [{ path, message: message.problem.message }]
  throw new PillarboxError('invalid_body', `${path} ${message.problem.message}.`, { errors })
}

/**
 * The template of a channel for somebody who prefers `recipientLocale`. One whose scope fits, the narrowest first, comes
 * before those for everybody; then the first of these locales for which there is one decides: the event's or request's,
 * the recipient's, the tenant's, the catalogue's.
 */
export function templateFor(
  { context, payload, locale }: UnrenderedMessage,
  channel: Channel,
  recipientLocale: string | null,
): Template | null {
  const candidates = context.templates.filter((template) => template.channel === channel)
  const locales = [locale, recipientLocale, context.tenant?.defaultLocale, context.catalogueLocale]
  for (const scope of context.eventType?.scopes ?? []) {
    const id = textOf(valueAt(payload, scope.path))
    const inScope = candidates.filter((template) => template.scope?.type === scope.type && template.scope.id === id)
    if (inScope.length > 0) return bestByLocale(inScope, locales)
  }
  return bestByLocale(
    candidates.filter((template) => template.scope === null),
    locales,
  )
}

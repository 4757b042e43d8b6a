import type { Channel } from '../model/channel.ts'
import { fallbackKey } from '../model/idempotency.ts'
import type { IdSource } from '../model/ports.ts'
import { addressOf } from '../model/recipient.ts'
import type { Renderer } from '../render/render.ts'
import type { Content, NewNotification, NotificationView, Store, StoredAccount } from '../store/store.ts'
import type { ContextBook, PlanContext } from './context-book.ts'
import { renderFor, templateFor } from './plan-event.ts'

export interface ChainDeps {
  store: Pick<Store, 'notifications' | 'events' | 'accounts'>
  contexts: ContextBook
  renderer: Renderer
  ids: IdSource
}

/**
 * The notification that takes over from one that failed for good: the first channel of `chain` with an account and an
 * address, in its own template's words. Null when no channel is left that could reach the recipient.
 */
export async function nextInChain(
  deps: ChainDeps,
  failed: { tenantId: string; notificationId: string },
  chain: readonly Channel[],
): Promise<NewNotification | null> {
  if (chain.length === 0) return null
  const view = await deps.store.notifications.find(failed.tenantId, failed.notificationId)
  if (!view) return null
  for (const [i, channel] of chain.entries()) {
    if (addressOf(channel, view.to) === null) continue
    const words = await wordsFor(deps, view, channel)
    if (!words) continue
    return {
      ...carriedOver(view),
      id: deps.ids(),
      idempotencyKey: fallbackKey(view.id, channel),
      channel,
      accountId: words.account.id,
      provider: words.account.provider,
      content: words.content,
      templateId: words.templateId,
      templateVersion: words.templateVersion,
      locale: words.locale,
      correlationId: view.correlationId ?? view.id,
      fallback: chain.slice(i + 1),
      fallbackOf: view.id,
      dueAt: null,
      parked: null,
    }
  }
  return null
}

interface WordsFor {
  account: StoredAccount
  content: Content
  templateId: string | null
  templateVersion: number | null
  locale: string | null
}

/** Account and content for a notification on a channel, as planning would choose them now; null when it could not. */
export async function wordsFor(deps: ChainDeps, view: NotificationView, channel: Channel): Promise<WordsFor | null> {
  const event = view.eventId === null ? null : await deps.store.events.find(view.tenantId, view.eventId)
  if (!event) {
    const account = (await deps.store.accounts.list(view.tenantId, channel)).find(({ status }) => status === 'active')
    if (!account || !view.content) return null
    return {
      account,
      content: view.content,
      templateId: view.templateId,
      templateVersion: view.templateVersion,
      locale: view.locale,
    }
  }
  const context: PlanContext = await deps.contexts.load(event.tenantId, event.type)
  const account = context.accounts.find((candidate) => candidate.channel === channel)
  const locales = [view.locale, event.locale, context.tenant?.defaultLocale].filter(
    (locale) => typeof locale === 'string',
  )
  const template = templateFor(context.templates, channel, locales)
  if (!account || !template) return null
  const content = renderFor(deps.renderer, template, channel, event)
  if ('error' in content) return null
  return { account, content, templateId: template.id, templateVersion: template.version, locale: template.locale }
}

function carriedOver(view: NotificationView) {
  const {
    tenantId,
    to,
    eventId,
    eventType,
    scheduleId,
    entity,
    executionId,
    parentExecutionId,
    site,
    triggeredBy,
    expiresAt,
  } = view
  return {
    tenantId,
    to,
    eventId,
    eventType,
    scheduleId,
    entity,
    executionId,
    parentExecutionId,
    site,
    triggeredBy,
    expiresAt,
    warnings: [],
  }
}

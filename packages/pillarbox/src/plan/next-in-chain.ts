import type { StoredAccount } from '../model/account.ts'
import { chooseAccount, withOwnUrl } from '../model/account-choice.ts'
import type { Channel } from '../model/channel.ts'
import { fallbackKey } from '../model/idempotency.ts'
import type { NewNotification, NotificationView } from '../model/notification.ts'
import type { IdSource } from '../model/ports.ts'
import { isSealedContent, type PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import type { EventBook } from './event-book.ts'
import { atEveryAddress, targetOf, type Words, type WordsDeps, waysTo, wordsFor } from './words.ts'

export interface ChainDeps extends WordsDeps {
  store: Pick<Store, 'notifications' | 'accounts'>
  events: EventBook
  sealing: Pick<PayloadSeal, 'sealContent' | 'openContent'>
  ids: IdSource
}

/**
 * The notification that takes over from one that failed for good: the first channel of `chain` with an account and an
 * address, in its own template's words. Null when no channel is left that could reach the recipient, or when the host
 * has called it off by now.
 */
export async function nextInChain(
  deps: ChainDeps,
  failed: { tenantId: string; notificationId: string },
  chain: readonly Channel[],
): Promise<NewNotification | null> {
  if (chain.length === 0) return null
  const view = await deps.store.notifications.find(failed.tenantId, failed.notificationId)
  if (!view) return null
  const id = deps.ids()
  const taker = view.eventId === null ? await repeated(deps, view, chain, id) : await retold(deps, view, chain, id)
  if (!taker) return null
  const { channel, account, words, to } = taker
  return {
    ...carriedOver(view),
    id,
    idempotencyKey: fallbackKey(view.id, channel),
    channel,
    to,
    accountId: account.id,
    provider: account.provider,
    content: words.content,
    warnings: words.warnings,
    templateId: taker.templateId,
    templateVersion: taker.templateVersion,
    locale: taker.locale,
    correlationId: view.correlationId ?? view.id,
    fallback: chain.slice(chain.indexOf(channel) + 1),
    fallbackOf: view.id,
    dueAt: null,
    parked: null,
  }
}

interface Taker extends Pick<NotificationView, 'channel' | 'to' | 'templateId' | 'templateVersion' | 'locale'> {
  account: StoredAccount
  words: Words
}

/** As planning would tell it on the first channel that works now. */
async function retold(
  deps: ChainDeps,
  view: NotificationView,
  chain: readonly Channel[],
  id: string,
): Promise<Taker | null> {
  const due = await deps.events.open(view.tenantId, view.eventId ?? '')
  if ('kind' in due) return null
  const addressee = atEveryAddress(due, await deps.events.addresseeOf(due, view))
  const ways = waysTo(due, addressee, { channels: chain })
  if ('reason' in ways) return null
  for (const { channel, template, account } of ways.usable) {
    if (account.status !== 'active') continue
    const words = wordsFor(deps, due, addressee, { channel, template }, id)
    if ('error' in words) continue
    return {
      channel,
      account,
      words,
      to: addressee.address,
      templateId: template.id,
      templateVersion: template.version,
      locale: template.locale,
    }
  }
  return null
}

/** A notification that came without an event has no other words. */
async function repeated(
  deps: ChainDeps,
  view: NotificationView,
  chain: readonly Channel[],
  id: string,
): Promise<Taker | null> {
  const { tenantId, templateId, templateVersion, locale } = view
  for (const channel of chain) {
    const account = chooseAccount(await deps.store.accounts.list(tenantId, channel), channel, view.to)
    const to = withOwnUrl(view.to, account)
    if (targetOf(channel, to) === null) continue
    const content = account?.status === 'active' ? contentFor(deps, view, id) : null
    if (!account || !content) continue
    return { channel, account, words: { content, warnings: [] }, to, templateId, templateVersion, locale }
  }
  return null
}

/** Its content for another notification: what is sealed opens only for the one it was sealed for. */
function contentFor({ sealing }: ChainDeps, view: NotificationView, id: string): NotificationView['content'] {
  const { tenantId, content } = view
  if (!content || !isSealedContent(content)) return content
  const opened = sealing.openContent(content, { tenantId, notificationId: view.id })
  return 'error' in opened
    ? null
    : sealing.sealContent(opened.content, opened.secrets, { tenantId, notificationId: id })
}

function carriedOver(view: NotificationView) {
  const {
    tenantId,
    contactId,
    conversationId,
    policy,
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
    contactId,
    conversationId,
    policy,
    eventId,
    eventType,
    scheduleId,
    entity,
    executionId,
    parentExecutionId,
    site,
    triggeredBy,
    expiresAt,
  }
}

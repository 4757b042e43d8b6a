import { chooseAccount, withOwnUrl } from '../model/account-choice.ts'
import type { Channel } from '../model/channel.ts'
import { fallbackKey } from '../model/idempotency.ts'
import type { EndedChain, NewNotification, NotificationView, Takeover } from '../model/notification.ts'
import type { IdSource } from '../model/ports.ts'
import { isSealedContent, type PayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { type Cause, type ComposedRecipient, type ComposeTools, type Composition, compose } from './compose.ts'
import type { EventBook } from './event-book.ts'
import { noRecipient } from './recipients.ts'
import { atEveryAddress, eachChannel, passedOver, targetOf } from './routes.ts'
import { bansOn, type SuppressionCheck } from './suppressed.ts'

export interface ChainDeps extends ComposeTools {
  store: Pick<Store, 'notifications' | 'accounts'>
  events: EventBook
  suppressions: SuppressionCheck
  sealing: Pick<PayloadSeal, 'sealContent' | 'openContent'>
  ids: IdSource
}

/**
 * The notification that takes over from one that failed for good: the first channel of `chain` with an account and an
 * address, in its own template's words, with what the chain passed over on its way there. Where no channel can reach
 * the recipient, what says so of each. Null when no channel is left, or when the host has called it off by now.
 */
export async function nextInChain(
  deps: ChainDeps,
  failed: { tenantId: string; notificationId: string },
  chain: readonly Channel[],
): Promise<Takeover | EndedChain | null> {
  if (chain.length === 0) return null
  const view = await deps.store.notifications.find(failed.tenantId, failed.notificationId)
  if (!view) return null
  const id = deps.ids()
  const isEvents = view.eventId !== null
  const steps = isEvents ? eventSteps(deps, view, chain) : ownSteps(deps, view, chain, id)
  const skipped: NewNotification[] = []
  for await (const { channel, ...step } of steps) {
    const next = await compose(deps, {
      ...step,
      id: isEvents ? deps.ids() : id,
      key: fallbackKey(view.id, channel),
      channel,
      cause: causeOf(view),
    })
    if (next.stopped === null)
      return { ...next, fallback: chain.slice(chain.indexOf(channel) + 1), passedOver: skipped }
    if (isEvents) skipped.push(next)
  }
  return skipped.length > 0 ? { skipped } : null
}

/** A channel that may take over, with what it would say to whom, through which account; or why it cannot. */
type FallbackStep = Pick<Composition, 'channel' | 'recipient' | 'words' | 'account'>

/** As planning would tell the event on each channel now. */
async function* eventSteps(
  { events, suppressions }: ChainDeps,
  view: NotificationView,
  chain: readonly Channel[],
): AsyncGenerator<FallbackStep> {
  const due = await events.open(view.tenantId, view.eventId ?? '')
  if ('kind' in due) return
  const recipient = atEveryAddress(due, await events.recipientOf(due, view))
  const bans = await bansOn(suppressions, due, [recipient])
  for (const route of eachChannel(due, recipient, { channels: chain, bans })) {
    const { channel } = route
    if ('template' in route && route.account.status === 'active') {
      const { template, account } = route
      yield { channel, recipient, words: { kind: 'template', template, message: due }, account }
    } else {
      const { obstacle } = passedOver(route)
      yield { channel, recipient, words: { kind: 'obstacle', obstacle }, account: null }
    }
  }
}

/** A notification that came without an event has no other words. */
async function* ownSteps(
  deps: ChainDeps,
  view: NotificationView,
  chain: readonly Channel[],
  id: string,
): AsyncGenerator<FallbackStep> {
  const { tenantId, templateId, templateVersion, locale, place, contactId, conversationId } = view
  const content = contentFor(deps, view, id)
  if (!content) return
  for (const channel of chain) {
    const account = chooseAccount(await deps.store.accounts.list(tenantId, channel), channel, view.to)
    const address = withOwnUrl(view.to, account)
    if (account?.status !== 'active' || targetOf(channel, address) === null) continue
    const recipient: ComposedRecipient = { ...noRecipient, address, place, contactId, conversationId }
    const words = { kind: 'content', content, from: { templateId, templateVersion, locale } } as const
    yield { channel, recipient, words, account }
  }
}

/** Its content for another notification: what is sealed opens only for the one it was sealed for. */
export function contentFor(
  { sealing }: Pick<ChainDeps, 'sealing'>,
  view: NotificationView,
  id: string,
): NotificationView['content'] {
  const { tenantId, content } = view
  if (!content || !isSealedContent(content)) return content
  const opened = sealing.openContent(content, { tenantId, notificationId: view.id })
  return 'error' in opened
    ? null
    : sealing.sealContent(opened.content, opened.secrets, { tenantId, notificationId: id })
}

/** A notification goes back to the same as the one that it takes over from. */
export function causeOf(view: NotificationView): Cause {
  const { tenantId, eventId, eventType, scheduleId, entity, executionId, parentExecutionId, site } = view
  const { triggeredBy, policy, expiresAt } = view
  return {
    tenantId,
    eventId,
    eventType,
    scheduleId,
    entity,
    executionId,
    parentExecutionId,
    site,
    triggeredBy,
    policy,
    expiresAt,
    correlationId: view.correlationId ?? view.id,
    traceparent: view.traceparent ?? null,
    fallbackOf: view.id,
  }
}

import { chooseAccount } from '../model/account-choice.ts'
import { addressProblems } from '../model/address.ts'
import { invalidBody } from '../model/errors.ts'
import { correctedKey, manualKey } from '../model/idempotency.ts'
import type { NewNotification, NotificationView } from '../model/notification.ts'
import type { Address } from '../model/recipient.ts'
import { type Composition, compose, noAccount, type Obstacle, problem } from './compose.ts'
import { type ChainDeps, causeOf, contentFor } from './next-in-chain.ts'
import { noRecipient } from './recipients.ts'
import type { ReplanAnswer } from './replan.ts'
import { atEveryAddress, eachChannel, type Route } from './routes.ts'

/** Where and with which words a notification is sent that somebody corrects by hand. */
export interface Correction {
  /** What replaces fields of the address. */
  to: Address
  /** In today's words. Those without any have no other. */
  rerender: boolean
  actor: string
}

/** What operators have sent otherwise than it was planned. */
export interface Rewrite {
  /** The notification in the words its event would be told in now, to the same address; or what stands in the way. */
  rerender(notification: NotificationView): Promise<ReplanAnswer>
  /**
   * The notification that goes to a corrected address in the place of another, or what stands in the way. Throws a
   * `PillarboxError` where the address cannot be used on the channel.
   */
  correct(notification: NotificationView, correction: Correction): Promise<NewNotification | { problem: Obstacle }>
  /**
   * The notification that tells the same recipient the same once more: in the words its event would be told in now, or,
   * where it came without an event, in its own. One request makes one, however often it is asked.
   */
  repeat(
    notification: NotificationView,
    request: { requestId: string; actor: string },
  ): Promise<NewNotification | { problem: Obstacle }>
}

type RewriteDeps = Omit<ChainDeps, 'suppressions'>

export function createRewrite(deps: RewriteDeps): Rewrite {
  return {
    async rerender(notification) {
      const today = await wordsOfToday(deps, notification)
      if ('problem' in today) return today
      const { account } = today
      const { id, idempotencyKey: key, channel, fallback } = notification
      const composed = await compose(deps, { ...today, id, key, channel, cause: causeOf(notification), fallback })
      const { content, stopped } = composed
      if (!content || stopped) return { problem: stopped ?? noAccount(channel) }
      return { replacement: { ...composed, content, accountId: account.id, provider: account.provider } }
    },
    async correct(notification, { to, rerender, actor }) {
      const { channel, fallback } = notification
      const corrected: NotificationView = { ...notification, to: { ...notification.to, ...to } }
      const problems = addressProblems(channel, corrected.to)
      if (problems.length > 0) throw invalidBody(problems)
      const id = deps.ids()
      const words =
        rerender || notification.content === null
          ? await wordsOfToday(deps, corrected)
          : await keptWords(deps, corrected, id)
      const key = correctedKey(notification.id, id)
      const cause = { fallbackOf: notification.fallbackOf, correctedFrom: notification.id, triggeredBy: actor }
      return composeBeside(deps, notification, { words, id, key, cause, fallback })
    },
    async repeat(notification, { requestId, actor }) {
      const { channel, eventId, entity, templateId } = notification
      const id = deps.ids()
      const words = eventId === null ? await keptWords(deps, notification, id) : await wordsOfToday(deps, notification)
      const key = manualKey({
        entityId: entity?.id ?? notification.id,
        channel,
        templateId: templateId ?? '',
        requestId,
        recipient: notification.id,
      })
      const cause = { fallbackOf: null, correctedFrom: null, triggeredBy: actor }
      return composeBeside(deps, notification, { words, id, key, cause, fallback: [] })
    },
  }
}

/** A notification beside another one: it goes back to the same, and the place of the event stays that of the first. */
async function composeBeside(
  deps: RewriteDeps,
  first: NotificationView,
  given: {
    words: SentWords | { problem: Obstacle }
    id: string
    key: string
    cause: Pick<NewNotification, 'fallbackOf' | 'correctedFrom' | 'triggeredBy'>
    fallback: NotificationView['fallback']
  },
): Promise<NewNotification | { problem: Obstacle }> {
  const { words, id, key, fallback } = given
  if ('problem' in words) return words
  const cause = { ...causeOf(first), ...given.cause, expiresAt: null }
  const recipient = words.recipient && { ...words.recipient, place: null }
  const composed = await compose(deps, { ...words, recipient, id, key, channel: first.channel, cause, fallback })
  return composed.stopped ? { problem: composed.stopped } : composed
}

type SentWords = Pick<Composition, 'recipient' | 'words'> & { account: Route['account'] }

/** By its own template as it is now; where that is no longer used, by the one that planning would choose. */
async function wordsOfToday(
  { events }: RewriteDeps,
  view: NotificationView,
): Promise<SentWords | { problem: Obstacle }> {
  const { tenantId, eventId, channel, templateId, isScrubbed } = view
  if (isScrubbed) return problem('content_scrubbed', 'its content held secrets and was removed when it was final')
  if (eventId === null)
    return problem(
      'invalid_event',
      'it came without an event: its words are those that were given, and stay as they are',
    )
  const due = await events.open(tenantId, eventId)
  if ('kind' in due) return problem(due.reason, due.error)
  const found = atEveryAddress(due, await events.recipientOf(due, view))
  const recipient = { ...found, address: { ...found.address, ...view.to } }
  const isOwnActive = due.context.templates.some(({ id, channel: of }) => id === templateId && of === channel)
  const limits = { channels: [channel], ...(isOwnActive && templateId !== null && { templateId }) }
  const [route] = eachChannel(due, recipient, limits)
  if (!route) return problem('no_recipient', 'the event has no such channel')
  if ('obstacle' in route) return { problem: route.obstacle }
  const words = { kind: 'template', template: route.template, message: due } as const
  return { recipient, words, account: route.account }
}

/** The words it has, sealed for the notification `id` where they hold secrets. */
async function keptWords(
  deps: RewriteDeps,
  view: NotificationView,
  id: string,
): Promise<SentWords | { problem: Obstacle }> {
  const { tenantId, channel, to, templateId, templateVersion, locale, contactId, conversationId } = view
  const content = contentFor(deps, view, id)
  if (!content)
    return problem('content_unreadable', 'its sealed content cannot be opened with this server’s master key')
  const account = chooseAccount(await deps.store.accounts.list(tenantId, channel), channel, to)
  if (!account) return { problem: noAccount(channel) }
  const recipient = { ...noRecipient, address: to, contactId, conversationId }
  return { recipient, words: { kind: 'content', content, from: { templateId, templateVersion, locale } }, account }
}

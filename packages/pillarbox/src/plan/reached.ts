import { CHANNELS, type Channel } from '../model/channel.ts'
import type { NewNotification } from '../model/notification.ts'
import type { Reason } from '../model/reason.ts'
import type { Obstacle } from './compose.ts'
import type { DueEvent } from './due-event.ts'
import { channelsFor } from './routes.ts'

/** What keeps somebody from being told, in the order in which planning looks for it. */
const LACKS = ['no_template', 'no_active_account', 'no_address', 'suppressed'] as const satisfies readonly Reason[]
type Lack = (typeof LACKS)[number]

/**
 * How far the planning of an event came with all of its recipients so far: somebody was told, or what stood in the way, on
 * which channels. Empty where the event names nobody.
 */
export type Reached = 'told' | Partial<Record<Lack, readonly Channel[]>>

export const NOBODY_YET: Reached = {}

export function isReached(value: unknown): value is Reached {
  if (value === 'told') return true
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const isChannels = (given: unknown): boolean =>
    Array.isArray(given) && given.every((one) => CHANNELS.some((channel) => channel === one))
  return Object.entries(value).every(([cause, on]) => LACKS.some((known) => known === cause) && isChannels(on))
}

/** How far two parts of an event's recipients came together. */
export function together(one: Reached, other: Reached): Reached {
  if (one === 'told' || other === 'told') return 'told'
  const both: Partial<Record<Lack, readonly Channel[]>> = {}
  for (const cause of LACKS) {
    if (!one[cause] && !other[cause]) continue
    both[cause] = [...new Set([...(one[cause] ?? []), ...(other[cause] ?? [])])]
  }
  return both
}

/** How far the notifications of some recipients came; `recipients` is how many those are. */
export function reachedBy(notifications: readonly NewNotification[], recipients: number): Reached {
  if (recipients === 0) return NOBODY_YET
  const blocked = new Map<Lack, Set<Channel>>([['no_template', new Set()]])
  for (const { channel, stopped } of notifications) {
    const cause = LACKS.find((one) => one === stopped?.reason)
    // What is told already, was called off, or waits for somebody to look, has been dealt with.
    if (cause === undefined) return 'told'
    blocked.set(cause, (blocked.get(cause) ?? new Set()).add(channel))
  }
  return Object.fromEntries([...blocked].map(([cause, channels]) => [cause, [...channels]]))
}

/**
 * Why an event told nobody anything; null where it did. It failed at the furthest point that it came to with anybody: its
 * words begin with that, and name every other cause with its channels.
 */
export function whyUntold(due: DueEvent, reached: Reached): Obstacle | null {
  if (reached === 'told') return null
  if (Object.keys(reached).length === 0) return NOBODY
  const asked = channelsFor(due)
  const on = (...causes: Lack[]): string =>
    asked.filter((channel) => causes.some((cause) => reached[cause]?.includes(channel))).join(', ')
  const [unaddressed, suppressed, unaccounted] = [
    on('no_address', 'suppressed'),
    on('suppressed'),
    on('no_active_account'),
  ]
  const unworded = on('no_template') || (unaddressed || unaccounted ? '' : asked.join(', ') || 'any channel')
  const causes = [
    unaddressed && `nobody has an address that can be used for ${unaddressed}`,
    suppressed && `suppressed are those for ${suppressed}`,
    unaccounted && `the tenant has no active account for ${unaccounted}`,
    unworded && `no active template for ${due.event.type} on ${unworded}`,
  ].filter((words) => words !== '')
  const { reason, opening } = unaddressed ? FAILURES.address : unaccounted ? FAILURES.account : FAILURES.template
  return { reason, error: `${opening}: ${causes.join('; ')}` }
}

const FAILURES = {
  address: { reason: 'no_recipient', opening: 'No recipient' },
  account: { reason: 'no_active_channels', opening: 'No active channel' },
  template: { reason: 'no_templates_found', opening: 'Template not found' },
} as const

export const NOBODY: Obstacle = { reason: 'no_recipient', error: 'No recipient: the event names nobody' }

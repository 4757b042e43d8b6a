import type { NewNotification } from '../model/notification.ts'
import type { Reason } from '../model/reason.ts'
import type { Obstacle } from './compose.ts'
import type { DueEvent } from './due-event.ts'
import { channelsFor } from './routes.ts'

/**
 * How far the planning of an event came with any of its recipients on any channel. Templates are looked for first, then
 * accounts, then addresses: an event that told nobody failed at the furthest point that it reached.
 */
const STEPS = ['nobody', 'no_templates_found', 'no_active_channels', 'no_recipient', 'told'] as const

export type Reached = (typeof STEPS)[number]

export function isReached(value: unknown): value is Reached {
  return STEPS.some((step) => step === value)
}

export function furthest(...reached: readonly Reached[]): Reached {
  return STEPS.findLast((step) => reached.includes(step)) ?? 'nobody'
}

/** How far the notifications of some recipients came; `recipients` is how many those are. */
export function reachedBy(notifications: readonly NewNotification[], recipients: number): Reached {
  if (recipients === 0) return 'nobody'
  return furthest('no_templates_found', ...notifications.map(({ stopped }) => stepOf(stopped?.reason)))
}

/** What is told already, was called off, or waits for somebody to look, has been dealt with. */
function stepOf(reason: Reason | undefined): Reached {
  switch (reason) {
    case 'no_template':
      return 'no_templates_found'
    case 'no_active_account':
      return 'no_active_channels'
    case 'no_address':
    case 'suppressed':
      return 'no_recipient'
    default:
      return 'told'
  }
}

/** Why an event told nobody anything; null where it did. */
export function whyUntold(due: DueEvent, reached: Reached): Obstacle | null {
  const channels = channelsFor(due).join(', ') || 'any channel'
  switch (reached) {
    case 'nobody':
      return NOBODY
    case 'no_templates_found':
      return { reason: reached, error: `Template not found: no active template for ${due.event.type} on ${channels}` }
    case 'no_active_channels':
      return { reason: reached, error: `No active channel: the tenant has no active account for ${channels}` }
    case 'no_recipient':
      return { reason: reached, error: `No recipient: nobody has an address that can be used for ${channels}` }
    case 'told':
      return null
  }
}

export const NOBODY: Obstacle = { reason: 'no_recipient', error: 'No recipient: the event names nobody' }

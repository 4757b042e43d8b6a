/**
 * Why a notification stopped, or why an event or schedule failed. A closed set: operators filter by it, alerts are
 * written against it, and `docs/reference/states.md` explains each one. Add a code here and the page's test asks for
 * its line.
 */
export const REASONS = {
  invalid_recipient: 'The provider says the address cannot be delivered to.',
  no_address: 'The recipient has no address for this channel.',
  no_active_account: 'The tenant has no active account for this channel.',
  no_template: 'The event asks for this channel, and no active template exists for it.',
  duplicate: 'The same was told, or is being told, by the notification that `duplicateOf` names.',
  no_recipient: 'The event names nobody with an address for any of its channels.',
  no_templates_found: 'No active template exists for the event type on any of its channels.',
  no_active_channels: 'Templates exist, but the tenant has no active account for their channels.',
  unreachable: 'The recipient cannot be reached on this channel at present.',
  template_rejected: 'The provider refused the message template.',
  content_rejected: 'The provider refused the content of the message.',
  channel_suspended: 'The account was suspended before the notification was sent.',
  attempts_exhausted: 'Every attempt the retry policy allows has failed.',
  auth_failed: 'The provider refused the account’s credentials.',
  outcome_unknown: 'The request left, no answer came, and the account’s policy is to hold.',
  malformed_reply: 'The provider answered with something that is not its protocol.',
  provider_missing: 'This version has no provider of that name for the channel.',
  bounced: 'The provider accepted the message and later reported a bounce.',
  complained: 'The recipient reported the message as unwanted.',
  expired: 'It was not sent before its expiry, or its time was already past.',
  replaced: 'A later event for the same entity took its place.',
  rejected_by_operator: 'An operator did not approve it.',
  cancelled_by_host: 'The application’s resolve hook said that it is no longer wanted.',
  list_not_found: 'There is no recipient list of that name.',
  list_empty: 'The recipient list has no member with an address for this channel.',
  list_too_large: 'The recipient list has more members than one message may name.',
  content_unreadable: 'Its sealed content cannot be opened with this server’s master key.',
  content_scrubbed: 'Its content held secrets and was removed when it was final; it cannot be sent again.',
  render_failed: 'The template cannot be rendered with this event’s payload.',
  suppressed: 'The address is suppressed on this channel: lift that, then retry.',
  fallback_triggered: 'The channel failed for good and the next channel of the chain took over.',
  cancelled_by_operator: 'An operator cancelled it before it was sent.',
  cancelled_by_event: 'A later event cancelled it before it was sent.',
  parked_by_operator: 'An operator set it aside.',
  corrected_by_operator: 'An operator corrected its address: it was sent there as another notification.',
  discarded_by_operator: 'An operator decided that it is not to be sent.',
  restored_by_operator: 'An operator took back that it was discarded.',
  erased: 'What was known of its recipient was erased before it was sent.',
  permanent_refusal: 'The provider refused it for good.',
  invalid_event: 'The event cannot be turned into notifications.',
  unknown_event_type: 'The catalogue has no such event type.',
  planning_failed: 'Planning the event failed on every attempt.',
  poisoned: 'Planning it, and nothing else, ended the process twice. It is not tried again by itself.',
} as const satisfies Record<string, string>

export type Reason = keyof typeof REASONS

/** Why a recipient is not told on a channel though nothing failed: such a notification is born `skipped`. */
export const SKIP_REASONS = [
  'no_address',
  'no_active_account',
  'no_template',
  'duplicate',
  'suppressed',
  'cancelled_by_host',
] as const satisfies readonly Reason[]

/** Why a schedule failed that was planned to its end: nobody could be told anything. */
export const UNTOLD_REASONS = [
  'no_recipient',
  'no_templates_found',
  'no_active_channels',
] as const satisfies readonly Reason[]

export function isSkipReason(reason: string): reason is (typeof SKIP_REASONS)[number] {
  return (SKIP_REASONS as readonly string[]).includes(reason)
}

/** `fallback_triggered:<channel>` carries the channel that took over; every other reason stands alone. */
export type StoredReason = Reason | `fallback_triggered:${string}`

/** A stored reason as a word of the closed set, to be counted by. */
export function reasonWord(reason: StoredReason): Reason {
  return reason.startsWith('fallback_triggered:') ? 'fallback_triggered' : (reason as Reason)
}

export function isReason(value: string): value is StoredReason {
  return value.startsWith('fallback_triggered:') || Object.hasOwn(REASONS, value)
}

import type { StoredAccount } from '../model/account.ts'
import type { AlertRule } from '../model/alert.ts'
import type { AlertReading } from './alert-store.ts'

/** What an alert says to people. Names and numbers only: no address, no content, nothing a vendor said. */

/** What is wrong, in a sentence without its full stop. */
export function summaryOf(
  { rule, subject, subjectId, tenantId, value }: AlertReading,
  account: Pick<StoredAccount, 'name' | 'channel' | 'provider'> | null,
): string {
  const whose = subject === 'tenant' ? `Tenant ${subjectId}` : 'The installation'
  const named = account ? `“${account.name}” (${account.channel}, ${account.provider})` : subjectId
  switch (rule) {
    case 'stuck':
      return `${whose} has ${value} stuck notification${value === 1 ? '' : 's'}`
    case 'oldest_pending':
      return `${whose} has something that has been due for ${Math.floor(value / 60_000)} min and is not sent`
    case 'parked_rate':
      return `${whose} had ${Math.round(value)} % of its notifications parked lately`
    case 'breaker_open':
      return `Account ${named} of tenant ${tenantId} fails: its breaker is open`
    case 'account_paused':
      return `Account ${named} of tenant ${tenantId} is paused: the vendor refused its credentials`
    case 'no_worker':
      return 'No worker is alive: nothing is sent'
    case 'recovery_failed':
      return `Operation ${subjectId} of tenant ${tenantId} failed`
    case 'site_silent':
      return `Site ${subjectId.slice(subjectId.indexOf('/') + 1)} of tenant ${tenantId} has not been heard of for ${Math.floor(value / 60_000)} min`
  }
}

/** What to do about it. */
export const ADVICE: Readonly<Record<AlertRule, string>> = {
  stuck:
    'GET /api/notifications?stuck=true shows which. See that workers run, and that the accounts they wait for can send.',
  oldest_pending:
    'GET /ops/outbox?status=pending and /api/notifications?stuck=true show what waits. Start more workers, or mend the accounts it waits for.',
  parked_rate:
    'GET /api/notifications/causes?status=parked says why. Mend that, then retry them: docs/guides/recovery.md.',
  breaker_open:
    'It is tried again by itself. GET /api/channel-accounts says what went wrong; a second account of the channel takes over where there is one.',
  account_paused: 'Correct the credentials with PATCH /api/channel-accounts/{id}; its notifications wait until then.',
  no_worker: 'Start one with "pillarbox start" or "pillarbox worker"; nothing is lost meanwhile.',
  recovery_failed: 'GET /api/operations/{id} says why. The notifications it had not moved are where they were.',
  site_silent:
    'What the site has to say waits in its buffer. See that "pillarbox site" runs there and reaches this server; if the site is gone for good, DELETE /api/sites/{site}.',
}

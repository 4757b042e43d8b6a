import type { SandboxMessage } from '../../packages/pillarbox/src/channels/sandbox/vendor.ts'
import type { Claim, Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import type { SuppressionBook } from '../../packages/pillarbox/src/dispatch/suppressions.ts'
import type { Account, StoredAccount } from '../../packages/pillarbox/src/model/account.ts'
import type { StoredEvent } from '../../packages/pillarbox/src/model/event.ts'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import type { Logger, Meters } from '../../packages/pillarbox/src/model/ports.ts'
import type { Template } from '../../packages/pillarbox/src/model/template.ts'
import { START } from './manual-clock.ts'

/** One ordinary specimen of each thing the loops handle; `changes` says what is special about it. */

export function sampleAccount(changes: Partial<Account> = {}): Account {
  return {
    id: 'account-1',
    tenantId: 'acme',
    channel: 'sms',
    provider: 'vendor',
    name: 'main',
    settings: {},
    secrets: {},
    pace: null,
    retry: { kind: 'fixed', maxAttempts: 3, delayMs: 1_000 },
    retryWarning: null,
    onUnknown: 'resend',
    breaker: { failures: 3, resetAfterMs: 30_000 },
    priority: 0,
    status: 'active',
    statusReason: null,
    createdAt: START,
    updatedAt: START,
    ...changes,
  }
}

export function storedAccount(changes: Partial<StoredAccount> = {}): StoredAccount {
  const { secrets: _secrets, retryWarning: _warning, ...account } = sampleAccount()
  return { ...account, sealedSecrets: null, secretNames: [], retry: { maxAttempts: 3, fixed: 'PT1S' }, ...changes }
}

export function sampleClaim(changes: Partial<Claim> = {}): Claim {
  return {
    notificationId: 'notification-1',
    accountId: 'account-1',
    token: 7,
    attempt: 1,
    spent: 0,
    possibleDuplicate: false,
    tenantId: 'acme',
    channel: 'sms',
    to: { phone: '+15550100' },
    content: { subject: null, body: 'Hello', data: {} },
    policy: null,
    eventType: null,
    entity: null,
    site: null,
    locale: null,
    correlationId: null,
    fallback: [],
    expiresAt: null,
    overridesSuppression: false,
    visibleAt: START,
    wantedAt: START,
    claimedAt: START,
    ...changes,
  }
}

export function sampleSandboxMessage(changes: Partial<SandboxMessage> = {}): SandboxMessage {
  return {
    id: 'sbx-1',
    tenantId: 'acme',
    accountId: 'a',
    channel: 'email',
    key: 'k',
    notificationId: 'n',
    attempt: 1,
    to: {},
    subject: null,
    body: 'x',
    data: {},
    providerTemplate: null,
    correlationId: null,
    acceptedAt: 0,
    duplicateOf: null,
    ...changes,
  }
}

export function sampleCompletion(changes: Partial<Completion> = {}): Completion {
  return {
    tenantId: 't',
    notificationId: 'notification-1',
    correlationId: null,
    accountId: 'account-1',
    counted: sampleClaim(),
    token: 7,
    attempt: 1,
    provider: 'vendor',
    outcome: 'accepted',
    code: null,
    error: null,
    providerMessageId: 'message-1',
    resolvedTargets: null,
    answer: null,
    refused: null,
    ageMs: 5,
    durationMs: 5,
    to: 'sent',
    reason: null,
    delayMs: 0,
    moveTo: null,
    spent: 1,
    possibleDuplicate: false,
    next: null,
    ...changes,
  }
}

export function sampleNotification(changes: Partial<NewNotification> = {}): NewNotification {
  return {
    id: 'notification-1',
    tenantId: 'acme',
    idempotencyKey: 'key-1',
    channel: 'sms',
    accountId: 'account-1',
    provider: 'vendor',
    to: { phone: '+15550100' },
    content: { subject: null, body: 'Hello', data: {} },
    contactId: null,
    conversationId: null,
    policy: null,
    eventId: null,
    eventType: null,
    scheduleId: null,
    entity: null,
    templateId: null,
    templateVersion: null,
    locale: null,
    correlationId: null,
    executionId: null,
    parentExecutionId: null,
    site: null,
    triggeredBy: 'system',
    fallback: [],
    fallbackOf: null,
    correctedFrom: null,
    warnings: [],
    dueAt: null,
    expiresAt: null,
    place: null,
    duplicateOf: null,
    stopped: null,
    ...changes,
  }
}

export function sampleEvent(changes: Partial<StoredEvent> = {}): StoredEvent {
  return {
    id: 'event-1',
    tenantId: 'acme',
    type: 'booking.confirmed',
    entity: { type: 'booking', id: 'B-42' },
    payload: { phone: '+15550100', email: 'ada@example.test', name: 'Ada' },
    occurredAt: null,
    dueAt: null,
    correlationId: changes.id ?? 'event-1',
    locale: null,
    recipients: null,
    channels: null,
    conversation: null,
    schemaVersion: 1,
    topic: null,
    publishedBy: null,
    derivedFrom: null,
    status: 'pending',
    attemptCount: 0,
    nextAttemptAt: START,
    lastError: null,
    createdAt: START,
    publishedAt: null,
    ...changes,
  }
}

export function sampleTemplate(changes: Partial<Template> = {}): Template {
  return {
    id: 'template-1',
    tenantId: 'acme',
    eventType: 'booking.confirmed',
    channel: 'sms',
    locale: 'en',
    scope: null,
    subject: null,
    body: 'Hello {{name}}',
    format: null,
    providerTemplate: null,
    version: 1,
    isActive: true,
    isEdited: false,
    createdAt: START,
    updatedAt: START,
    updatedBy: 'system',
    ...changes,
  }
}

/** Of a tenant that has none and learns of none. */
export const noSuppressions: SuppressionBook = {
  hasNone: () => true,
  sift: async (_claim, targets) => ({ targets: targets && [...targets] }),
  remember: async () => {},
}

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export interface LogLine {
  level: keyof Logger
  fields: Record<string, unknown>
  message: string
}

/** What was counted and measured: `name reason` with its number, and with how many seconds each took. */
export function recordingMeters(): Meters & { counts: Record<string, number>; took: Record<string, number[]> } {
  const counts: Record<string, number> = {}
  const took: Record<string, number[]> = {}
  const keyOf = (name: string, labels: Readonly<Record<string, string>>): string =>
    [name, ...Object.values(labels)].join(' ')
  return {
    counts,
    took,
    count(name, labels, by = 1) {
      const key = keyOf(name, labels)
      counts[key] = (counts[key] ?? 0) + by
    },
    observe(name, labels, seconds) {
      const key = keyOf(name, labels)
      took[key] = [...(took[key] ?? []), ...seconds]
    },
  }
}

/** A logger that keeps what it is told. */
export function recordingLogger(): Logger & { lines: LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: keyof Logger) => (fields: Record<string, unknown>, message: string) =>
    void lines.push({ level, fields, message })
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

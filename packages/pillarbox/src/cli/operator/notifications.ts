import type { NewNotification, NewPush, RetryRequest } from '@pillarbox/client'
import type { CommandEntry } from '../command.ts'
import { actCommand, givenTexts, groupOf, NOTE, readObject, showCommand } from './acts.ts'
import { type ListFilter, listCommand, PERIOD } from './listing.ts'
import { addressText, entityText, textOf } from './table.ts'
import { timelineText } from './timeline.ts'

/** The filters of the list of notifications, which bulk takes as well. */
export const NOTIFICATION_FILTERS: readonly ListFilter[] = [
  {
    flags: '--status <list>',
    description:
      'queued, sending, retrying, sent, delivered, read, parked, uncertain, failed, discarded, cancelled, skipped; several with commas',
    as: 'list',
  },
  { flags: '--channel <name>', description: 'only those on this channel' },
  { flags: '--event-id <id>', description: 'only those that this event led to' },
  { flags: '--event-type <name>', description: 'only those of this event type' },
  { flags: '--entity-type <name>', description: 'what they are about, such as booking' },
  { flags: '--entity-id <id>', description: 'which one of those' },
  { flags: '--contact-id <id>', description: 'only those to this contact' },
  { flags: '--conversation-id <id>', description: 'only those of this conversation' },
  { flags: '--site <name>', description: 'only those that this site handed off' },
  { flags: '--account-id <id>', description: 'only those that go through this account' },
  { flags: '--reason <code>', description: 'only those stopped for this reason, such as bounced' },
  { flags: '--fingerprint <text>', description: 'only those with this cause, of "pillarbox notifications causes"' },
  {
    flags: '--possible-duplicate',
    description: 'only those that may have arrived twice',
    query: ['possibleDuplicate', 'true'],
  },
  { flags: '--stuck', description: 'only those that are due for too long', query: ['stuck', 'true'] },
  { flags: '--stale', description: 'only those sent long ago without a receipt', query: ['stale', 'true'] },
  ...PERIOD,
  { flags: '--q <text>', description: 'an id, an idempotency key, a provider’s id or an address, exactly' },
]

const ACTS = [
  ['discard', 'Give a parked, uncertain or skipped notification up.'],
  ['cancel', 'Cancel a notification that still waits.'],
  ['park', 'Set a notification aside that still waits.'],
  ['restore', 'Take back that a notification was discarded.'],
] as const

const ONE: [string, string] = ['<id>', 'a notification']

export const NOTIFICATION_COMMANDS: readonly CommandEntry[] = [
  groupOf('notifications', 'List, show, send and move notifications.', [
    'notifications list --status parked',
    'notifications causes',
    'notifications retry 019b2c7e-… --note "the vendor is back"',
  ]),
  listCommand({
    name: 'notifications list',
    description: 'List notifications, newest first.',
    examples: [
      'notifications list --status parked,uncertain',
      'notifications list --entity-type booking --entity-id 42',
      'notifications list --status parked --all --json | jq -r .id',
    ],
    path: '/api/notifications',
    filters: NOTIFICATION_FILTERS,
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'tenant', of: 'tenantId', goes: 1 },
      { title: 'status', of: 'status', as: 'status' },
      { title: 'channel', of: 'channel' },
      { title: 'to', of: addressText },
      { title: 'event type', of: 'eventType', goes: 2 },
      { title: 'entity', of: entityText, goes: 3 },
      { title: 'reason', of: 'reason', goes: 5 },
      { title: 'made', of: 'createdAt', as: 'time', goes: 4 },
    ],
  }),
  showCommand({
    name: 'notifications show',
    description: 'Show a notification and, in words, all that happened to it.',
    argument: ONE,
    examples: ['notifications show 019b2c7e-…', 'notifications show 019b2c7e-… --utc'],
    fetch: (server, id) => server.client.notification(id),
    fields: [
      'id',
      'tenantId',
      'status',
      'reason',
      'lastError',
      'waitingFor',
      'channel',
      'provider',
      'accountId',
      'to',
      'resolvedTargets',
      'eventId',
      'eventType',
      'entity',
      'templateId',
      'templateVersion',
      'locale',
      'idempotencyKey',
      'correlationId',
      'site',
      'attemptCount',
      'nextAttemptAt',
      'possibleDuplicate',
      'stuck',
      'stale',
      'warnings',
      'providerMessageId',
      'fallbackOf',
      'fallbackTo',
      'correctedFrom',
      'correctedTo',
      'duplicateOf',
      'triggeredBy',
      'createdAt',
      'dueAt',
      'expiresAt',
    ],
    words: timelineText,
  }),
  showCommand({
    name: 'notifications status',
    description: 'Say where a notification stands, in short. A publisher’s key will do, for what it sent.',
    argument: ONE,
    examples: ['notifications status 019b2c7e-…'],
    fetch: (server, id) => server.client.status(id),
  }),
  listCommand({
    name: 'notifications causes',
    description: 'Group stopped notifications by what they have in common, the commonest cause first.',
    about: 'A cause’s fingerprint finds its notifications, for a list and for bulk: --fingerprint.',
    examples: ['notifications causes', 'notifications causes --channel sms --from P1D'],
    path: '/api/notifications/causes',
    isUnpaged: true,
    filters: NOTIFICATION_FILTERS,
    columns: [
      { title: 'count', of: 'count', as: 'number' },
      { title: 'fingerprint', of: 'fingerprint', as: 'id' },
      { title: 'reason', of: 'reason', goes: 2 },
      { title: 'channel', of: 'channel' },
      { title: 'what was said', of: 'text' },
      { title: 'last', of: 'lastAt', as: 'time', goes: 1 },
    ],
  }),
  actCommand({
    name: 'notifications retry',
    description: 'Send a parked, uncertain or skipped notification again.',
    argument: ONE,
    options: [
      NOTE,
      { flags: '--rerender', description: 'in the words its event would be told in now' },
      { flags: '--email <address>', description: 'to this corrected address, as a notification of its own' },
      { flags: '--phone <number>', description: 'the same, in E.164 form' },
      { flags: '--override-suppression', description: 'though its address is suppressed' },
    ],
    examples: [
      'notifications retry 019b2c7e-… --note "the vendor is back"',
      'notifications retry 019b2c7e-… --email ana@example.com',
    ],
    act(server, id, call) {
      const { rerender, overrideSuppression } = call.options
      const to = givenTexts(call, ['email', 'phone'])
      const request: RetryRequest = {
        ...givenTexts(call, ['note']),
        ...(rerender === true && { rerender: true }),
        ...(Object.keys(to).length > 0 && { to }),
        ...(overrideSuppression === true && { override: 'suppression' }),
      }
      return server.client.retry(id, request)
    },
    done: (row) => `notification ${textOf(row['id'])} is ${textOf(row['status'])}`,
  }),
  ...ACTS.map(([verb, description]) =>
    actCommand({
      name: `notifications ${verb}`,
      description,
      argument: ONE,
      options: [NOTE],
      examples: [`notifications ${verb} 019b2c7e-…`, `notifications ${verb} 019b2c7e-… --note "asked by the guest"`],
      act: (server, id, call) => server.client[verb](id, givenTexts(call, ['note'])),
      done: (row) => `notification ${textOf(row['id'])} is ${textOf(row['status'])}`,
    }),
  ),
  actCommand({
    name: 'notifications send',
    description: 'Send one notification that needs no event.',
    argument: ['<file>', 'JSON; - is the input'],
    about:
      'The body is that of POST /api/notifications. Needs a publisher’s key, an admin’s, or an ops key and --tenant.',
    examples: [
      'notifications send mail.json',
      `notifications send - <<< '{"channel": "email", "to": {"email": "ana@example.com"}, "subject": "Hi", "body": "Hello"}'`,
    ],
    async act(server, file, call) {
      return await server.client.send((await readObject(call, file)) as unknown as NewNotification | NewPush)
    },
    done: (row) =>
      `notification ${textOf(row['id'])} is ${textOf(row['status'])}: pillarbox notifications show ${textOf(row['id'])}`,
  }),
]

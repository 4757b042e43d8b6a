import type { CommandEntry } from '../command.ts'
import { actCommand, groupOf, pathOf, showCommand } from './acts.ts'
import { listCommand } from './listing.ts'
import { entityText, textOf } from './table.ts'

const REASON = { flags: '--note <text>', description: 'why; kept in the audit' }

const ACTS = [
  ['cancel', 'Cancel a schedule that is not planned yet.', 'cancelled'],
  ['approve', 'Let a schedule go ahead that awaits approval.', 'approved'],
  ['reject', 'Cancel a schedule that awaits approval.', 'rejected'],
  ['replay', 'Plan a failed schedule again.', 'replayed'],
  ['send-now', 'Plan a schedule now instead of when it is due.', 'sent now'],
] as const

export const SCHEDULE_COMMANDS: readonly CommandEntry[] = [
  groupOf('schedules', 'List schedules, and move them by hand.', [
    'schedules list --status awaiting_approval',
    'schedules approve 019b2c7e-…',
  ]),
  listCommand({
    name: 'schedules list',
    description: 'List schedules, newest first: when events are turned into notifications.',
    examples: ['schedules list --status pending --due future', 'schedules list --entity-type booking --entity-id 42'],
    path: '/api/automation-schedules',
    filters: [
      {
        flags: '--status <list>',
        description: 'awaiting_approval, pending, completed, failed, cancelled; several with commas',
        as: 'list',
      },
      { flags: '--event-type <name>', description: 'only those of this event type' },
      { flags: '--entity-type <name>', description: 'what they are about, such as booking' },
      { flags: '--entity-id <id>', description: 'which one of those' },
      { flags: '--due <when>', description: 'past or future' },
      { flags: '--due-from <time>', description: 'due at this time or later', as: 'time' },
      { flags: '--due-to <time>', description: 'due before this time', as: 'time' },
    ],
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'tenant', of: 'tenantId', goes: 1 },
      { title: 'event type', of: 'eventType', goes: 2 },
      { title: 'entity', of: entityText },
      { title: 'status', of: 'status', as: 'status' },
      { title: 'due', of: 'dueAt', as: 'time' },
      { title: 'error', of: 'lastError', goes: 3 },
    ],
  }),
  showCommand({
    name: 'schedules show',
    description: 'Show a schedule.',
    argument: ['<id>', 'a schedule'],
    examples: ['schedules show 019b2c7e-…'],
    fetch: (server, id) => server.client.schedules.get(id),
  }),
  ...ACTS.map(([verb, description, past]) =>
    actCommand({
      name: `schedules ${verb}`,
      description,
      argument: ['<id>', 'a schedule'],
      options: [REASON],
      examples: [`schedules ${verb} 019b2c7e-…`, `schedules ${verb} 019b2c7e-… --note "as agreed"`],
      act(server, id, { options: { note } }) {
        const reason = typeof note === 'string' ? { reason: note } : {}
        if (verb === 'send-now') return server.post<object>(pathOf`/api/automation-schedules/${id}/send-now`, reason)
        return server.client.schedules[verb](id, reason)
      },
      done: (row, id) => `${past}: schedule ${id} is ${textOf(row['status'])}`,
    }),
  ),
]

import type { CommandEntry } from '../command.ts'
import { groupOf, pathOf, showCommand } from './acts.ts'
import { listCommand, PERIOD } from './listing.ts'
import { textOf } from './table.ts'

/** What is under way, and what was done: operations, workers and the audit. */
export const OPERATION_COMMANDS: readonly CommandEntry[] = [
  groupOf('operations', 'List and show what is done to very many notifications; "pillarbox bulk" steers it.', [
    'operations list --status running,paused',
  ]),
  listCommand({
    name: 'operations list',
    description: 'List operations, newest first.',
    examples: ['operations list', 'operations list --status running,paused'],
    path: '/api/operations',
    filters: [
      {
        flags: '--status <list>',
        description: 'grace, canary, running, paused, cancelled, done, failed; several with commas',
        as: 'list',
      },
    ],
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'action', of: 'action' },
      { title: 'status', of: 'status', as: 'status' },
      { title: 'done', of: (row) => `${textOf(row['done'])} of ${textOf(row['total'])}` },
      { title: 'failed', of: 'failed', as: 'number' },
      { title: 'by', of: 'by', goes: 2 },
      { title: 'note', of: 'note', goes: 3 },
      { title: 'started', of: 'startedAt', as: 'time', goes: 1 },
    ],
  }),
  showCommand({
    name: 'operations show',
    description: 'Show an operation.',
    argument: ['<id>', 'an operation'],
    examples: ['operations show 019b2c7e-…'],
    fetch: (server, id) => server.get(pathOf`/api/operations/${id}`),
  }),
  listCommand({
    name: 'operations items',
    description: 'Show what became of each notification of an operation.',
    argument: ['<id>', 'an operation'],
    examples: ['operations items 019b2c7e-… --outcome failed'],
    path: (id) => pathOf`/api/operations/${id}/items`,
    filters: [{ flags: '--outcome <outcome>', description: 'only those that came to this: done, left_alone, failed' }],
    columns: [
      { title: 'place', of: 'place', as: 'number' },
      { title: 'notification', of: 'notificationId', as: 'id' },
      { title: 'outcome', of: 'outcome', as: 'status' },
      { title: 'why', of: 'why' },
    ],
  }),
  listCommand({
    name: 'workers',
    description: 'List workers: who they are, what they have under way, whether they live.',
    about: 'Needs an ops key.',
    examples: ['workers', 'workers --json'],
    path: '/ops/workers',
    isUnpaged: true,
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'host', of: 'host' },
      { title: 'pid', of: 'pid', as: 'number' },
      { title: 'status', of: (row) => (row['isAlive'] === true ? 'alive' : 'silent'), as: 'status' },
      { title: 'in flight', of: 'inFlight', as: 'number' },
      {
        title: 'channels',
        of: (row) => (Array.isArray(row['channels']) ? row['channels'].join(', ') : 'all'),
        goes: 2,
      },
      { title: 'version', of: 'version', goes: 1 },
      { title: 'last heard of', of: 'lastBeatAt', as: 'time', goes: 3 },
    ],
  }),
  listCommand({
    name: 'audit list',
    description: 'Show what was done, by whom and why, newest first; with an ops key, in all tenants.',
    examples: [
      'audit list --actor key:ada --from P1D',
      'audit list --notification-id 019b2c7e-…',
      'audit list --action park --all --json',
    ],
    path: '/api/audit',
    all: '/ops/audit',
    filters: [
      { flags: '--actor <name>', description: 'only what this actor did: system, cli or key:<name>' },
      { flags: '--action <verb>', description: 'only this, such as send, park, retry or create' },
      { flags: '--notification-id <id>', description: 'only what was done to this notification' },
      ...PERIOD,
    ],
    columns: [
      { title: 'at', of: 'at', as: 'time' },
      { title: 'tenant', of: 'tenantId', goes: 1 },
      { title: 'who', of: 'actor', goes: 4 },
      { title: 'what', of: 'action' },
      { title: 'to what', of: (row) => textOf(row['notificationId'] ?? row['subject']), as: 'id' },
      { title: 'from', of: 'from', goes: 2 },
      { title: 'to', of: 'to', as: 'status' },
      { title: 'why', of: (row) => textOf(row['note'] ?? row['reason']), goes: 3 },
    ],
  }),
]

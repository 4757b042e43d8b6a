import type { CommandEntry } from '../command.ts'
import { actCommand, givenTexts, groupOf, NOTE, pathOf } from './acts.ts'
import { listCommand } from './listing.ts'
import { textOf } from './table.ts'

/** What is wrong with the installation, and who has seen it. */
export const ALERT_COMMANDS: readonly CommandEntry[] = [
  groupOf('alerts', 'List what is wrong with the installation, and say that somebody has seen it.', [
    'alerts list --status open',
  ]),
  listCommand({
    name: 'alerts list',
    description: 'List alerts, newest first.',
    about: 'Those that are open, and those that were cleared within 90 days. Needs an ops key.',
    examples: ['alerts list --status open', 'alerts list --rule breaker_open --json'],
    path: '/ops/alerts',
    filters: [
      { flags: '--status <status>', description: 'only those that are open, or cleared' },
      { flags: '--rule <rule>', description: 'only those of this rule, such as stuck or account_paused' },
    ],
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'status', of: 'status', as: 'status' },
      { title: 'rule', of: 'rule' },
      { title: 'tenant', of: 'tenantId', goes: 2 },
      { title: 'what is wrong', of: 'summary' },
      { title: 'since', of: 'since', as: 'time', goes: 1 },
      { title: 'seen by', of: 'acknowledgedBy', goes: 3 },
    ],
  }),
  actCommand({
    name: 'alerts acknowledge',
    description: 'Say that somebody has seen an alert: it is told no more until it is cleared.',
    about: 'Needs an ops key.',
    argument: ['<id>', 'an alert'],
    options: [NOTE],
    examples: ['alerts acknowledge 019b2c7e-… --note "the vendor is down"'],
    act: (server, id, call) => server.post(pathOf`/ops/alerts/${id}/acknowledge`, givenTexts(call, ['note'])),
    done: (row, id) => `alert ${id} (${textOf(row['rule'])}) is acknowledged: ${textOf(row['advice'])}`,
  }),
]

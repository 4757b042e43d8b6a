import type { EventBody } from '@pillarbox/client'
import { SetupError } from '../../model/errors.ts'
import type { CommandEntry } from '../command.ts'
import { jsonLine, onOneLine } from '../words.ts'
import { actCommand, groupOf, pathOf, readJsonInput, serverCommand, showCommand } from './acts.ts'
import { listCommand, PERIOD } from './listing.ts'
import { printDone } from './print.ts'
import { entityText, type ServerRow, type Shown, shownTo, textOf } from './table.ts'

/** `2 sent, 1 skipped`. */
function countsText(row: ServerRow): string {
  const counts = Object.entries((row['counts'] ?? {}) as Record<string, number>).filter(([, count]) => count > 0)
  return counts.length === 0 ? '–' : counts.map(([status, count]) => `${count} ${status}`).join(', ')
}

function storyText(row: ServerRow, show: Shown): string {
  const lines = (row['explanation'] ?? []) as ServerRow[]
  const counted = `notifications: ${countsText(row)}\n`
  return lines.length === 0
    ? counted
    : `${counted}\nwhat became of it (${show.zone})\n${lines.map((line) => `  ${show.time(line['at'])}  ${textOf(line['text'])}\n`).join('')}`
}

const FIELDS = [
  'id',
  'tenantId',
  'type',
  'entity',
  'status',
  'attemptCount',
  'nextAttemptAt',
  'lastError',
  'correlationId',
  'topic',
  'occurredAt',
  'createdAt',
  'publishedAt',
  'payload',
]

export const EVENT_COMMANDS: readonly CommandEntry[] = [
  groupOf('events', 'List, show, publish and replay events.', [
    'events list --entity-type booking --entity-id 42',
    'events publish event.json',
  ]),
  listCommand({
    name: 'events list',
    description: 'List events, newest first, with how many notifications came of each.',
    examples: [
      'events list --entity-type booking --entity-id 42',
      'events list --status failed --from P1D',
      'events list --tenant acme --all --json',
    ],
    path: '/api/events',
    filters: [
      { flags: '--type <name>', description: 'only those of this event type' },
      { flags: '--entity-type <name>', description: 'what they are about, such as booking' },
      { flags: '--entity-id <id>', description: 'which one of those' },
      { flags: '--status <status>', description: 'pending, published or failed' },
      ...PERIOD,
    ],
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'type', of: 'type', goes: 2 },
      { title: 'entity', of: entityText },
      { title: 'status', of: 'status', as: 'status' },
      { title: 'notifications', of: countsText },
      { title: 'made', of: 'createdAt', as: 'time', goes: 1 },
      { title: 'error', of: 'lastError', goes: 3 },
    ],
  }),
  showCommand({
    name: 'events show',
    description: 'Show an event, and say in words what became of it: who was told, who was not, and why.',
    argument: ['<id>', 'an event'],
    examples: ['events show 019b2c7e-…', 'events show 019b2c7e-… --json'],
    fetch: (server, id) => server.get(pathOf`/api/events/${id}`),
    fields: FIELDS,
    words: storyText,
  }),
  serverCommand({
    name: 'events publish',
    description: 'Publish one event, or up to 1,000 in a list.',
    argument: ['<file>', 'JSON; - is the input'],
    about:
      'An event without an id is given one. Where an id is known already nothing is written, and that is said. Exit code 1 where\none of a list was refused; the others are taken all the same.',
    examples: [
      'events publish event.json',
      `events publish - <<< '{"type": "booking.confirmed", "entity": {"type": "booking", "id": "42"}, "payload": {}}'`,
    ],
    async work(call, server) {
      const read = await readJsonInput(call, call.argument ?? '')
      if (!Array.isArray(read)) {
        if (typeof read !== 'object' || read === null)
          throw new SetupError('that is no event', 'write a JSON object, or a list')
        const { id, duplicate } = await server.client.publish(read as EventBody)
        printDone(
          call,
          { id, duplicate },
          duplicate ? `event ${id} was known already: nothing was written` : `published event ${id}`,
        )
        return 0
      }
      const results = await server.client.publishMany(read as EventBody[])
      const { isJson } = shownTo(call)
      for (const result of results) {
        const { index, id, status, code, detail } = result
        const words =
          status === 202
            ? `published event ${id}`
            : status === 200
              ? `event ${id} was known already`
              : `refused: ${code}, ${detail}`
        call.stdout.write(isJson ? jsonLine(result) : `${onOneLine(`${index}: ${words}`)}\n`)
      }
      return results.every(({ status }) => status < 300) ? 0 : 1
    },
  }),
  actCommand({
    name: 'events replay',
    description: 'Plan a failed event again.',
    argument: ['<id>', 'an event that failed'],
    examples: ['events replay 019b2c7e-… --tenant acme'],
    act: (server, id) => server.post<object>(pathOf`/api/events/${id}/replay`),
    done: (_, id) => `event ${id} is planned again: pillarbox events show ${id}`,
  }),
]

import type { TemplatePreview } from '@pillarbox/client'
import type { CommandCall } from '../call.ts'
import type { CommandEntry, CommandOption } from '../command.ts'
import { onLines } from '../words.ts'
import { actCommand, groupOf, pathOf, readObject, serverCommand, showCommand } from './acts.ts'
import { listCommand } from './listing.ts'
import { printRecord } from './print.ts'
import { painted, type ServerRow, type Shown, textOf } from './table.ts'

const CONTEXT: CommandOption = {
  flags: '--context <path>',
  description: 'what a payload would be, as JSON in a file; - is the input. Default: {}',
}

async function contextOf(call: CommandCall): Promise<Record<string, unknown>> {
  const { context } = call.options
  return typeof context === 'string' ? await readObject(call, context) : {}
}

/** Subject and body as somebody would read them. */
export function contentText({ subject, body }: ServerRow, show: Shown): string {
  const head = typeof subject === 'string' ? `${painted(onLines(subject), 'bold', show)}\n\n` : ''
  return `\n${head}${typeof body === 'string' ? onLines(body) : ''}\n`
}

const WORDS = ['subject', 'body']

export const TEMPLATE_COMMANDS: readonly CommandEntry[] = [
  groupOf('templates', 'List, show, preview and try the words of notifications.', [
    'templates list --event-type booking.confirmed',
    'templates preview 019b2c7e-… --context booking.json',
  ]),
  listCommand({
    name: 'templates list',
    description: 'List templates, by event type, channel, locale and scope.',
    examples: ['templates list --channel email', 'templates list --event-type booking.confirmed --active'],
    path: '/api/message-templates',
    filters: [
      { flags: '--event-type <name>', description: 'only those of this event type' },
      { flags: '--channel <name>', description: 'only those of this channel' },
      { flags: '--locale <tag>', description: 'only those in this locale' },
      { flags: '--active', description: 'only those that are used', query: ['isActive', 'true'] },
      { flags: '--inactive', description: 'only the others', query: ['isActive', 'false'] },
    ],
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'event type', of: 'eventType' },
      { title: 'channel', of: 'channel' },
      { title: 'locale', of: 'locale' },
      { title: 'version', of: 'version', as: 'number', goes: 2 },
      { title: 'used', of: (row) => (row['isActive'] === true ? 'yes' : 'no') },
      { title: 'words', of: (row) => textOf(row['subject'] ?? row['body']), goes: 1 },
    ],
  }),
  showCommand({
    name: 'templates show',
    description: 'Show a template.',
    argument: ['<id>', 'a template'],
    examples: ['templates show 019b2c7e-…'],
    fetch: (server, id) => server.client.templates.get(id),
    words: contentText,
    fields: [
      'id',
      'tenantId',
      'eventType',
      'channel',
      'locale',
      'scopeType',
      'scopeId',
      'format',
      'providerTemplate',
      'version',
      'isActive',
      'isEdited',
      'warnings',
      'updatedAt',
      'updatedBy',
    ],
  }),
  listCommand({
    name: 'templates versions',
    description: 'Show what a template said, newest first, and who changed it.',
    argument: ['<id>', 'a template'],
    examples: ['templates versions 019b2c7e-…'],
    path: (id) => pathOf`/api/message-templates/${id}/versions`,
    columns: [
      { title: 'version', of: 'version', as: 'number' },
      { title: 'changed', of: 'changedAt', as: 'time' },
      { title: 'by', of: 'changedBy' },
      { title: 'used', of: (row) => (row['isActive'] === true ? 'yes' : 'no') },
      { title: 'subject', of: 'subject' },
      { title: 'body', of: 'body' },
    ],
  }),
  serverCommand({
    name: 'templates preview',
    description: 'Render a template as it would be sent, and name what is missing. Needs an admin’s key.',
    argument: ['<id>', 'a template'],
    options: [CONTEXT, { flags: '--locale <tag>', description: 'for dates and numbers' }],
    examples: [
      'templates preview 019b2c7e-… --context booking.json',
      `templates preview 019b2c7e-… --context - <<< '{"guestName": "Ana"}'`,
    ],
    async work(call, server) {
      const { locale } = call.options
      const filling = { context: await contextOf(call), ...(typeof locale === 'string' && { locale }) }
      const preview: TemplatePreview = await server.client.templates.previewOf(call.argument ?? '', filling)
      const row = { ...preview } as ServerRow
      const fields = Object.keys(row).filter((name) => !WORDS.includes(name))
      printRecord(call, row, { fields, words: (show) => contentText(row, show) })
      return 0
    },
  }),
  actCommand({
    name: 'templates test-send',
    description: 'Send a template to somebody, to see it arrive. Needs an admin’s key.',
    argument: ['<id>', 'a template'],
    options: [
      CONTEXT,
      { flags: '--email <address>', description: 'whom to send it to' },
      { flags: '--phone <number>', description: 'the same, in E.164 form' },
      { flags: '--user <id>', description: 'the same, for in_app' },
      { flags: '--device-token <token>', description: 'the same, for push' },
    ],
    examples: [
      'templates test-send 019b2c7e-… --email ana@example.com --context booking.json',
      'templates test-send 019b2c7e-… --phone +12025550100',
    ],
    async act(server, id, call) {
      const { email, phone, user: userId, deviceToken } = call.options
      const given = Object.entries({ email, phone, userId, deviceToken }).filter(
        ([, value]) => typeof value === 'string',
      )
      if (given.length === 0) call.refuse('say whom to send it to, such as --email ana@example.com')
      return server.client.templates.testSend(id, { to: Object.fromEntries(given), context: await contextOf(call) })
    },
    done: (row) => `sent as notification ${textOf(row['id'])}: pillarbox notifications show ${textOf(row['id'])}`,
  }),
]

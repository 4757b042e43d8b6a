import type { CommandCall } from '../call.ts'
import type { CommandEntry, CommandOption } from '../command.ts'
import { actCommand, FILE, givenTexts, groupOf, pathOf, readObject, serverCommand, showCommand } from './acts.ts'
import { listCommand } from './listing.ts'
import { printRecord } from './print.ts'
import type { ServerRow } from './table.ts'

const SETTINGS: readonly CommandOption[] = [
  { flags: '--name <text>', description: 'for people' },
  { flags: '--default-locale <tag>', description: 'such as en-IN' },
  { flags: '--time-zone <zone>', description: 'such as Asia/Kolkata' },
  { flags: '--region <country>', description: 'ISO 3166: whose telephone numbers have no country code' },
  { flags: '--date-format <format>', description: 'short, medium, long, full, iso, or a pattern' },
  { flags: '--currency <code>', description: 'ISO 4217' },
  { flags: '--retention <duration>', description: 'how long what is over is kept, such as P365D' },
  FILE,
]
const NAMES = ['name', 'defaultLocale', 'timeZone', 'region', 'dateFormat', 'currency', 'retention']

async function settingsOf(call: CommandCall): Promise<Record<string, unknown>> {
  const { file } = call.options
  const fromFile = typeof file === 'string' ? await readObject(call, file) : {}
  return { ...fromFile, ...givenTexts(call, NAMES) }
}

export const TENANT_COMMANDS: readonly CommandEntry[] = [
  groupOf('tenants', 'List, show, make and change tenants.', ['tenants list', 'tenants create acme --name Acme']),
  listCommand({
    name: 'tenants list',
    description: 'List tenants.',
    about: 'Needs an ops key.',
    examples: ['tenants list', 'tenants list --all --json'],
    path: '/ops/tenants',
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'name', of: 'name' },
      { title: 'locale', of: 'defaultLocale' },
      { title: 'time zone', of: 'timeZone' },
      { title: 'retention', of: 'retention' },
      { title: 'made', of: 'createdAt', as: 'time' },
    ],
  }),
  showCommand({
    name: 'tenants show',
    description: 'Show a tenant; without an id, the key’s own.',
    argument: ['[id]', 'a tenant; needs an ops key'],
    examples: ['tenants show', 'tenants show acme'],
    fetch: (server, id) => (id === '' ? server.get('/api/tenant') : server.get(pathOf`/ops/tenants/${id}`)),
  }),
  serverCommand({
    name: 'tenants create',
    description: 'Make a tenant. Its first admin key is shown this once.',
    argument: ['<id>', 'lower-case letters, digits and "-"'],
    options: [
      ...SETTINGS,
      { flags: '--catalogue <name>', description: 'a ready-made one: see "pillarbox catalogue list"' },
    ],
    about: 'Needs an ops key.',
    examples: [
      'tenants create acme --name Acme --time-zone Asia/Kolkata --catalogue atlas',
      'tenants create acme --file tenant.json',
    ],
    async work(call, server) {
      const id = call.argument ?? ''
      const body = { name: id, ...(await settingsOf(call)), ...givenTexts(call, ['catalogue']), id }
      const made = await server.post<ServerRow>('/ops/tenants', body)
      printRecord(call, made, {
        fields: Object.keys(made).filter((name) => name !== 'keys'),
        words: () =>
          `admin key  ${String((made['keys'] as { admin?: string }).admin)}   (keep it: it is shown only this once)\n`,
      })
      return 0
    },
  }),
  actCommand({
    name: 'tenants update',
    description: 'Change what is named; without an id, of the key’s own tenant.',
    argument: ['[id]', 'a tenant; needs an ops key'],
    options: SETTINGS,
    examples: [
      'tenants update acme --retention P90D',
      `tenants update --file changes.json    null in it removes a setting`,
    ],
    async act(server, id, call) {
      const body = await settingsOf(call)
      if (Object.keys(body).length === 0) call.refuse('name what to change, such as --retention P90D')
      return id === ''
        ? server.client.request<object>('PATCH', '/api/tenant', { body })
        : server.client.request<object>('PATCH', pathOf`/ops/tenants/${id}`, { body })
    },
    done: ({ id }) => `changed tenant ${String(id)}`,
  }),
]

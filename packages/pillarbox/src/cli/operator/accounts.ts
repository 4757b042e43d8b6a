import type { CommandCall } from '../call.ts'
import type { CommandEntry, CommandOption } from '../command.ts'
import { actCommand, FILE, givenTexts, groupOf, pathOf, readObject, serverCommand, showCommand } from './acts.ts'
import { listCommand } from './listing.ts'
import { printRecord } from './print.ts'
import { fieldOf, type ServerRow, textOf } from './table.ts'

const BODY_FLAGS: readonly CommandOption[] = [
  FILE,
  { flags: '--name <text>', description: 'for people; unique on its channel' },
  { flags: '--per-second <n>', description: 'how many are sent in a second at most' },
  { flags: '--priority <n>', description: 'lower goes first' },
]

async function bodyOf(call: CommandCall): Promise<Record<string, unknown>> {
  const { file, perSecond, priority } = call.options
  const fromFile = typeof file === 'string' ? await readObject(call, file) : {}
  return {
    ...fromFile,
    ...givenTexts(call, ['channel', 'provider', 'name']),
    ...(perSecond !== undefined && { pace: { perSecond: numberOf(call, '--per-second', perSecond) } }),
    ...(priority !== undefined && { priority: numberOf(call, '--priority', priority) }),
  }
}

function numberOf(call: CommandCall, flag: string, given: string | true): number {
  const value = Number(given)
  if (given === true || given.trim() === '' || !Number.isFinite(value))
    call.refuse(`${flag} must be a number, not "${given}"`)
  return value
}

/** What keeps an account from sending, in a word. */
function laneText(row: ServerRow): string {
  const breaker = textOf(fieldOf(row, 'lane.breaker'))
  const reason = fieldOf(row, 'lane.holdReason')
  return typeof reason === 'string' ? `${breaker}: ${reason}` : breaker
}

export const ACCOUNT_COMMANDS: readonly CommandEntry[] = [
  groupOf('accounts', 'List, show, make, change, suspend and verify the accounts that notifications go through.', [
    'accounts list',
    'accounts suspend 019b2c7e-…',
  ]),
  listCommand({
    name: 'accounts list',
    description: 'List accounts, newest first.',
    examples: ['accounts list', 'accounts list --channel sms --status paused'],
    path: '/api/channel-accounts',
    filters: [
      { flags: '--channel <name>', description: 'only those of this channel' },
      { flags: '--provider <name>', description: 'only those of this provider' },
      { flags: '--status <status>', description: 'active, suspended or paused' },
    ],
    columns: [
      { title: 'id', of: 'id', as: 'id' },
      { title: 'channel', of: 'channel' },
      { title: 'provider', of: 'provider', goes: 2 },
      { title: 'name', of: 'name' },
      { title: 'status', of: 'status', as: 'status' },
      { title: 'breaker', of: laneText },
      { title: 'why', of: 'statusReason', goes: 1 },
    ],
  }),
  showCommand({
    name: 'accounts show',
    description: 'Show an account, with how sending through it goes. Secrets are named, never shown.',
    argument: ['<id>', 'an account'],
    examples: ['accounts show 019b2c7e-…'],
    fetch: (server, id) => server.get(pathOf`/api/channel-accounts/${id}`),
  }),
  serverCommand({
    name: 'accounts create',
    description: 'Make an account.',
    options: [
      { flags: '--channel <name>', description: 'whatsapp, sms, email, push, in_app or webhook' },
      { flags: '--provider <name>', description: 'such as smtp; docs/reference/providers.md has them all' },
      ...BODY_FLAGS,
    ],
    about: 'Needs an admin’s key. Secrets and settings have no flags, which others could read: put them into the file.',
    examples: [
      'accounts create --channel sms --provider sandbox --name trial',
      'accounts create --file smtp.json',
      'accounts create --file - --name "Transactional mail" < smtp.json',
    ],
    async work(call, server) {
      const body = await bodyOf(call)
      if (Object.keys(body).length === 0)
        call.refuse('name --channel, --provider and --name, or a --file that has them')
      const made = await server.post<ServerRow>('/api/channel-accounts', body)
      printRecord(call, made)
      return 0
    },
  }),
  actCommand({
    name: 'accounts update',
    description: 'Change what is named. New secrets let an account send again that was paused over the old ones.',
    argument: ['<id>', 'an account'],
    options: BODY_FLAGS,
    examples: ['accounts update 019b2c7e-… --per-second 20', 'accounts update 019b2c7e-… --file new-password.json'],
    async act(server, id, call) {
      const body = await bodyOf(call)
      if (Object.keys(body).length === 0) call.refuse('name what to change, such as --per-second 20, or a --file')
      return server.client.request<object>('PATCH', pathOf`/api/channel-accounts/${id}`, { body })
    },
    done: (row, id) => `changed account ${id} (${textOf(row['status'])})`,
  }),
  actCommand({
    name: 'accounts suspend',
    description: 'Stop sending through an account. What waits for it is parked, or falls back.',
    argument: ['<id>', 'an account'],
    examples: ['accounts suspend 019b2c7e-…'],
    act: (server, id) => server.post<object>(pathOf`/api/channel-accounts/${id}/suspend`),
    done: (_, id) => `suspended account ${id}: nothing is sent through it`,
  }),
  actCommand({
    name: 'accounts activate',
    description: 'Let an account send again.',
    argument: ['<id>', 'an account'],
    examples: ['accounts activate 019b2c7e-…'],
    act: (server, id) => server.post<object>(pathOf`/api/channel-accounts/${id}/activate`),
    done: (_, id) => `activated account ${id}`,
  }),
  serverCommand({
    name: 'accounts verify',
    description: 'Ask the vendor whether an account’s credentials are good. Nothing is sent to anybody.',
    argument: ['<id>', 'an account'],
    about: 'Exit code 1 where they are not.',
    examples: ['accounts verify 019b2c7e-…'],
    async work(call, server) {
      const row = await server.post<ServerRow>(pathOf`/api/channel-accounts/${call.argument ?? ''}/verify`)
      printRecord(call, row)
      return row['isGood'] === true ? 0 : 1
    },
  }),
]

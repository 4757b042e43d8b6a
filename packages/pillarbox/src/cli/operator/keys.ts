import type { CommandCall } from '../call.ts'
import type { CommandEntry, CommandOption } from '../command.ts'
import { actCommand, givenTexts, pathOf, serverCommand } from './acts.ts'
import { listCommand, wholeNumber } from './listing.ts'
import { printRecord } from './print.ts'
import type { ServerRow, TableColumn } from './table.ts'

const OF_OPS: CommandOption = { flags: '--ops', description: 'the ops keys, which span tenants' }

function keysPath({ options }: CommandCall): string {
  return options['ops'] === true ? '/ops/keys' : '/api/keys'
}

function statusOf({ revokedAt, expiresAt }: Record<string, unknown>): string {
  if (revokedAt !== null) return 'revoked'
  return typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'active'
}

const COLUMNS: readonly TableColumn[] = [
  { title: 'id', of: 'id', as: 'id' },
  { title: 'name', of: 'name' },
  { title: 'role', of: 'role' },
  { title: 'status', of: statusOf, as: 'status' },
  { title: 'expires', of: 'expiresAt', as: 'time', goes: 2 },
  { title: 'made', of: 'createdAt', as: 'time', goes: 1 },
]

/** `keys list`, `create` and `revoke`: those that callers of the API have. Their group is among the keys of the installation. */
export const KEY_COMMANDS: readonly CommandEntry[] = [
  listCommand({
    name: 'keys list',
    description: 'List a tenant’s API keys, revoked ones too. The keys themselves are shown to nobody.',
    about: 'Needs an admin’s key, or an ops key and --tenant or --ops.',
    examples: ['keys list', 'keys list --tenant acme --json', 'keys list --ops'],
    options: [OF_OPS],
    path: (_, call) => keysPath(call),
    columns: COLUMNS,
  }),
  serverCommand({
    name: 'keys create',
    description: 'Issue an API key. It is shown this once.',
    argument: ['<name>', 'stands in the audit as key:<name>'],
    options: [
      { flags: '--role <role>', description: 'publisher, viewer, operator or admin' },
      { flags: '--site <name>', description: 'for handing off from this site alone' },
      { flags: '--expires-at <time>', description: 'such as 2027-01-01T00:00:00Z' },
      { flags: '--rate-per-second <n>', description: 'requests per second, per API process' },
      OF_OPS,
    ],
    about: 'Needs an admin’s key, or an ops key. An ops key has no role to choose: give --ops instead of --role.',
    examples: [
      'keys create shop --role publisher',
      'keys create ada --ops',
      'keys create desk --role operator --tenant acme',
    ],
    async work(call, server) {
      const isOps = call.options['ops'] === true
      if (isOps === (call.options['role'] !== undefined)) call.refuse('give either --role or --ops')
      const rate = call.options['ratePerSecond']
      const body = {
        name: call.argument,
        ...givenTexts(call, ['role', 'site', 'expiresAt']),
        ...(rate !== undefined && { ratePerSecond: wholeNumber(call, '--rate-per-second', String(rate)) }),
      }
      const { key, ...made } = await server.post<ServerRow>(keysPath(call), body)
      printRecord(
        call,
        { ...made, key },
        {
          fields: Object.keys(made),
          words: () => `key  ${String(key)}   (keep it: it is shown only this once)\n`,
        },
      )
      return 0
    },
  }),
  actCommand({
    name: 'keys revoke',
    description: 'Revoke an API key. It is refused everywhere within 5 seconds.',
    argument: ['<id>', 'of "pillarbox keys list"'],
    options: [OF_OPS],
    examples: ['keys revoke 019b2c7e-…', 'keys revoke 019b2c7e-… --ops'],
    act: (server, id, call) => server.client.request<object | null>('DELETE', `${keysPath(call)}${pathOf`/${id}`}`),
    done: (_, id) => `revoked key ${id}`,
  }),
]

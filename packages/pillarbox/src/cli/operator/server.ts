import { readdir, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PillarboxClient, RequestOptions } from '@pillarbox/client'
import { SetupError } from '../../model/errors.ts'
import type { CommandCall } from '../call.ts'
import { type CommandOption, slug } from '../command.ts'
import { describeRefusal } from './refusal.ts'

const HEADING = 'Server:'
const DEFAULT_URL = 'http://127.0.0.1:4400'

/** What every command takes that asks a server. */
export const SERVER_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--url <url>',
    description: `where the server is [PILLARBOX_URL, default ${DEFAULT_URL}]`,
    heading: HEADING,
  },
  {
    flags: '--key <key>',
    description: 'an API key; better in [PILLARBOX_KEY], or in the file that [PILLARBOX_KEY_FILE] names',
    heading: HEADING,
  },
  { flags: '--tenant <id>', description: 'which tenant’s, with an ops key', heading: HEADING, read: slug },
]

/** What every command takes that shows something. */
export const OUTPUT_OPTIONS: readonly CommandOption[] = [
  { flags: '--json', description: 'one JSON object a line, as by itself where the output is no terminal' },
  { flags: '--table', description: 'words and tables, also where the output is no terminal' },
  { flags: '--utc', description: 'times in UTC, not in the zone of this machine; JSON always has UTC' },
]

/** A server, and the key that was given for it. */
export interface ServerSession {
  url: string
  /** For an ops key: whom it is about. */
  tenantId: string | undefined
  /** Names the tenant with every request, where one was given. */
  client: PillarboxClient
  get<T>(path: string, query?: QueryTexts): Promise<T>
  post<T>(path: string, body?: unknown): Promise<T>
  /** From `/api/…` for the key's tenant; of all tenants, from `/ops/…`, for an ops key that names none. */
  getOwnOrAll<T>(own: string, all: string, query?: QueryTexts): Promise<T>
}

export type QueryTexts = NonNullable<RequestOptions['query']>

/** Does its work against the server that the command line names. What the server refuses is said, and is exit code 1. */
export async function withServer(call: CommandCall, work: (server: ServerSession) => Promise<number>): Promise<number> {
  const url = urlOf(call)
  try {
    return await work(await openSession(call, url))
  } catch (error) {
    const said = await describeRefusal(error, url)
    if (said === null) throw error
    call.stderr.write(said)
    return 1
  }
}

/** A server that the command line or the environment names; null where neither does. */
export function namedServer({ options, env }: CommandCall): string | null {
  const named = options['url'] ?? env['PILLARBOX_URL']
  return typeof named === 'string' && named !== '' ? named : null
}

function urlOf(call: CommandCall): string {
  const url = namedServer(call) ?? DEFAULT_URL
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol))
    call.refuse(`--url must be the http or https address of a Pillarbox server, such as ${DEFAULT_URL}`)
  if (parsed.username !== '' || parsed.password !== '')
    call.refuse('--url must not hold a user or a password: the key is all that is needed')
  return url
}

/** A list of very many rows may take a while. */
const TIMEOUT_MS = 60_000

async function openSession(call: CommandCall, url: string): Promise<ServerSession> {
  const { PillarboxClient } = await import('@pillarbox/client')
  const key = await keyOf(call)
  const tenant = call.options['tenant']
  const tenantId = typeof tenant === 'string' ? tenant : undefined
  const about = { url, key, timeoutMs: TIMEOUT_MS, retries: 2 }
  const client = new PillarboxClient({ ...about, ...(tenantId !== undefined && { tenantId }) })
  // Found out by asking, once.
  let spansTenants = false
  return {
    url,
    tenantId,
    client,
    get: (path, query = {}) => client.request('GET', path, { query }),
    post: (path, body) => client.request('POST', path, { body }),
    async getOwnOrAll<T>(own: string, all: string, query: QueryTexts = {}): Promise<T> {
      if (spansTenants) return await client.request<T>('GET', all, { query })
      try {
        return await client.request<T>('GET', own, { query })
      } catch (error) {
        const { code } = error as { code?: unknown }
        if (tenantId !== undefined || code !== 'invalid_query') throw error
        // An ops key that names no tenant is told so, or of a parameter that only the other one has.
        const answer = await client.request<T>('GET', all, { query }).catch((another: { code?: unknown }) => {
          throw another.code === 'forbidden' ? error : another
        })
        spansTenants = true
        return answer
      }
    },
  }
}

/** The key, which is never shown. */
async function keyOf(call: CommandCall): Promise<string> {
  const key = await givenKey(call)
  if (key === null) throw new SetupError('a key is needed', await adviceForKey(call))
  return key
}

/** The key that the command line, the environment or a file has; null where none of them does. */
export async function givenKey({ env, options, cwd }: CommandCall): Promise<string | null> {
  const file = env['PILLARBOX_KEY_FILE']
  const given =
    options['key'] ?? (env['PILLARBOX_KEY'] || null) ?? (file ? await readKeyFile(resolve(cwd, file)) : null)
  if (typeof given !== 'string') return null
  const key = given.trim()
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new SetupError('the key is none', 'a key has visible ASCII characters and no spaces, such as pbx_…')
  return key
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code = 'an error' } = error as NodeJS.ErrnoException
    throw new SetupError(`PILLARBOX_KEY_FILE cannot be read: ${code} on ${path}`, 'name a file that holds a key')
  }
}

/**
 * A key that lies in the data folder is named, and not used by itself: whatever listens on a port of this machine while the
 * server is down would be given a key that may do everything.
 */
async function adviceForKey({ env, cwd }: CommandCall): Promise<string> {
  const folder = resolve(cwd, env['PILLARBOX_DATA_DIR'] || '.pillarbox')
  const names = await readdir(folder).catch((): string[] => [])
  const found = names.filter((name) => /^ops-.*\.key$/.test(name)).toSorted()
  const own = found.at(-1)
  if (own !== undefined) return `there is one in the data folder: PILLARBOX_KEY_FILE=${resolve(folder, own)}`
  return 'set PILLARBOX_KEY, or PILLARBOX_KEY_FILE to a file that holds it; "pillarbox keys ops" makes an ops key'
}

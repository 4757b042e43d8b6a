import { mkdir } from 'node:fs/promises'
import { errorText, SetupError } from './model/errors.ts'
import { ensurePrivateFile } from './runtime/private-file.ts'
import type { Seal } from './security/seal.ts'
import type { Store } from './store/store.ts'

/** What a start looks at before it begins. Each of these says what to change where it finds something wrong. */

export async function ensureDataDir(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new SetupError(
      `The data folder ${path} cannot be made: ${errorText(error)}`,
      'let this user make it, or choose another with --data-dir or PILLARBOX_DATA_DIR',
      error,
    )
  }
}

/** Opens a SQLite file that only its owner may read; `what` is its name for people. */
export async function openPrivately<T>(what: string, path: string, open: () => T | Promise<T>): Promise<T> {
  try {
    if (path !== ':memory:') ensurePrivateFile(path)
    return await open()
  } catch (error) {
    if (error instanceof SetupError) throw error
    throw new SetupError(`${what} ${path} cannot be opened: ${errorText(error)}`, adviceFor(error, path), error)
  }
}

function adviceFor(error: unknown, path: string): string {
  if (!(error instanceof Error)) return adviceFor(new Error(String(error)), path)
  const { code, errcode } = error as { code?: string; errcode?: number }
  if (code === 'EISDIR') return 'name a file, not a folder'
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'let this user write to it'
  if (errcode === 26) return `${path} is no SQLite database: name another file, or move this one away`
  return error.cause === undefined ? 'run "pillarbox doctor" to see what is wrong' : adviceFor(error.cause, path)
}

/**
 * Refuses to start with another master key than the one that this database's secrets are sealed under: nothing could be
 * opened, and what is sealed from now on could not be opened with the old one.
 */
export async function checkMasterKey(store: Pick<Store, 'instance'>, seal: Pick<Seal, 'keyId'>): Promise<void> {
  const known = await store.instance.settle(MASTER_KEY, seal.keyId)
  if (known === seal.keyId) return
  throw new SetupError(
    `The secrets in this database are sealed under master key ${known}, and this process has ${seal.keyId}.`,
    'set PILLARBOX_MASTER_KEY to that key, or copy master.key from the data folder of the installation it belongs to',
  )
}

/** The name under which the store remembers which master key is in use. */
export const MASTER_KEY = 'master_key'

/** Answers of PostgreSQL that waiting does not mend. */
const REFUSALS: Record<string, string> = {
  '3D000': 'create the database, or name another in DATABASE_URL',
  '28P01': 'check the password in DATABASE_URL',
  '28000': 'check the user in DATABASE_URL, and that pg_hba.conf lets it in',
  '42501':
    'give the user in DATABASE_URL the right to create the schema "pillarbox", or run "pillarbox migrate" as its owner',
}

/** The error to stop a start with, where the database answered and will not have us; null: it is worth trying again. */
export function refusalOf(error: unknown): SetupError | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const advice = REFUSALS[(at as { code?: string }).code ?? '']
    if (advice !== undefined) return new SetupError(`PostgreSQL refuses us: ${at.message}`, advice, error)
  }
  return null
}

import { errorText, SetupError } from '../model/errors.ts'
import { type KeyState, MASTER_KEY, missingKey, readKeyState } from '../security/key-state.ts'
import { createKeyring, type Keyring } from '../security/keyring.ts'
import type { Store } from '../store/store.ts'
import type { Config } from './config.ts'
import { readOtherKeys } from './key-files.ts'
import { loadMasterKey, type MasterKeyDeps } from './master-key.ts'
import { ensurePrivateFile, ensurePrivateFolder } from './private-file.ts'

/** What a start looks at before it begins. Each of these says what to change where it finds something wrong. */

export function ensureDataDir(path: string): void {
  try {
    ensurePrivateFolder(path)
  } catch (error) {
    throw new SetupError(
      `The data folder ${path} cannot be made: ${errorText(error)}`,
      'expected in PILLARBOX_DATA_DIR or --data-dir: a folder on a disk, there already or one that this user may make',
      error,
    )
  }
}

/** The master keys of this process: those of the settings, and those in the data folder, where the first start makes one. */
export async function loadKeyring(
  config: Pick<Config, 'masterKey' | 'formerMasterKeys' | 'dataDir'>,
  deps: MasterKeyDeps,
): Promise<Keyring> {
  try {
    const { key } = await loadMasterKey(config, deps)
    return createKeyring(key, await readOtherKeys(config))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A key that is not there is made: ENOENT is the answer of a folder that takes no files, such as one of /proc.
    const isForbidden = code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOENT'
    throw new SetupError(
      `The master keys in ${config.dataDir} cannot be used: ${errorText(error)}`,
      isForbidden
        ? 'let this user write to the data folder, and read the .key files in it, or choose another with --data-dir or PILLARBOX_DATA_DIR'
        : 'restore the .key files of the data folder from your backup; another key cannot open what is sealed',
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
  // The folder is made where it is not there, unless something else is in its place or the file system takes none.
  if (code === 'ENOENT' || code === 'EEXIST' || code === 'ENOTDIR')
    return 'its folder cannot be made: choose another with --data-dir or PILLARBOX_DATA_DIR, or for the database alone with --database-url or DATABASE_URL'
  if (errcode === 26) return `${path} is no SQLite database: name another file, or move this one away`
  return error.cause === undefined ? 'run "pillarbox doctor" to see what is wrong' : adviceFor(error.cause, path)
}

/**
 * Settles which master key this process seals under: the one that the database names, whichever of this process's keys
 * that is. Refuses to go on without a key that is needed: nothing could be opened, and what is sealed from now on could
 * not be opened by others.
 */
export async function checkMasterKey(store: Pick<Store, 'instance'>, ring: Keyring): Promise<KeyState> {
  const state = readKeyState(await store.instance.settle(MASTER_KEY, ring.currentId))
  const refusal = missingKey(state, ring.ids())
  if (refusal) throw refusal
  ring.use(state.current)
  return state
}

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
    if (at instanceof SetupError) return at
    const advice = REFUSALS[(at as { code?: string }).code ?? '']
    if (advice !== undefined) return new SetupError(`PostgreSQL refuses us: ${at.message}`, advice, error)
  }
  return null
}

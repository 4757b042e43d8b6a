import { link, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keyBytes } from './check.ts'
import type { Config } from './config.ts'
import { ensurePrivateFolder } from './private-file.ts'

export interface MasterKey {
  key: Buffer
  /** Made by this call: there was none yet. */
  isNew: boolean
  /** The file it is kept in; null where it was configured. */
  path: string | null
}

export interface MasterKeyDeps {
  randomBytes(count: number): Buffer
  /** Something unique to name the temporary file by. */
  newId(): string
}

const KEY_BYTES = 32

/**
 * The configured master key, or the one in the data folder, which is made on first use with mode 0600. Of several
 * processes that start at once, all get the same one. Throws when the file holds anything but a key: a new one in its
 * place would make every sealed secret unreadable.
 */
export async function loadMasterKey(
  config: Pick<Config, 'masterKey' | 'dataDir'>,
  deps: MasterKeyDeps,
): Promise<MasterKey> {
  if (config.masterKey !== null) return { key: config.masterKey, isNew: false, path: null }
  const path = masterKeyPath(config.dataDir)
  const found = await readMasterKey(path)
  if (found) return { key: found, isNew: false, path }
  ensurePrivateFolder(config.dataDir)
  // Written whole under another name and then linked, so that nobody ever reads half a key, and the first one wins.
  const temporary = `${path}.${deps.newId()}`
  await writeFile(temporary, `${deps.randomBytes(KEY_BYTES).toString('base64')}\n`, {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  })
  let isNew = true
  try {
    await link(temporary, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    isNew = false
  } finally {
    await rm(temporary, { force: true })
  }
  const key = await readMasterKey(path)
  if (!key) throw new Error(`the master key ${path} vanished while it was being made`)
  return { key, isNew, path }
}

export function masterKeyPath(dataDir: string): string {
  return join(dataDir, 'master.key')
}

/** The key in the file; null when there is no file. */
export async function readMasterKey(path: string): Promise<Buffer | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const key = keyBytes(KEY_BYTES).read(text.trim())
  if (!key)
    throw new Error(`${path} does not hold a master key (${KEY_BYTES} bytes in base64); restore it from your backup`)
  return key
}

/** Whether others than its owner may read the file. */
export async function isMasterKeyExposed(path: string): Promise<boolean> {
  return ((await stat(path)).mode & 0o077) !== 0
}

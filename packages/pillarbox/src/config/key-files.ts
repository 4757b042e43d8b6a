import { link, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keyIdOf } from '../security/keyring.ts'
import type { Config } from './config.ts'
import { type MasterKeyDeps, masterKeyPath, readMasterKey } from './master-key.ts'

/**
 * The master keys in a data folder, and how one takes another's place:
 *
 *   next-<id>.key ──promote──▶ master.key ──keepMaster──▶ former-<id>.key ──removeFormer──▶ gone
 *
 * A key is written whole and flushed before it has its name, has a name at every moment until it is removed, and every
 * step can be repeated, also by several processes at once: whoever is killed in between has lost nothing.
 */
export interface KeyFiles {
  /** Null: there is none yet. */
  master(): Promise<Buffer | null>
  /** Those that wait to become the master key, and those that were it. */
  others(): Promise<KeyFile[]>
  /** A key to become the master key: one that waits already, or a new one. */
  propose(): Promise<Buffer>
  /** Gives the master key its name as a former one, beside the name it has. */
  keepMaster(): Promise<void>
  /** Puts a waiting key in the master key's place. What stands there must have been kept. */
  promote(id: string): Promise<void>
  removeFormer(ids: readonly string[]): Promise<string[]>
}

export interface KeyFile {
  path: string
  role: 'next' | 'former'
  id: string
  key: Buffer
}

const OTHER_KEY = /^(?<role>next|former)-.+\.key$/

export function createKeyFiles(dataDir: string, deps: MasterKeyDeps): KeyFiles {
  const masterPath = masterKeyPath(dataDir)

  const others = (): Promise<KeyFile[]> => readKeyFiles(dataDir)

  return {
    master: () => readMasterKey(masterPath),
    others,

    async propose() {
      const waiting = (await others()).find(({ role }) => role === 'next')
      if (waiting) return waiting.key
      const key = deps.randomBytes(32)
      const temporary = join(dataDir, `.${deps.newId()}.key`)
      await writeFile(temporary, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
      await rename(temporary, join(dataDir, `next-${keyIdOf(key)}.key`))
      await flushFolder(dataDir)
      return key
    },

    async keepMaster() {
      const key = await readMasterKey(masterPath)
      if (key === null) return
      const kept = join(dataDir, `former-${keyIdOf(key)}.key`)
      try {
        await link(masterPath, kept)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      await flushFolder(dataDir)
    },

    async promote(id) {
      const waiting = (await others()).find((file) => file.role === 'next' && file.id === id)
      if (!waiting) return
      await rename(waiting.path, masterPath).catch((error: NodeJS.ErrnoException) => {
        // Another process was quicker.
        if (error.code !== 'ENOENT') throw error
      })
      await flushFolder(dataDir)
    },

    async removeFormer(ids) {
      const gone = (await others()).filter(({ role, id }) => role === 'former' && ids.includes(id))
      for (const { path } of gone) await rm(path, { force: true })
      return gone.map(({ path }) => path)
    },
  }
}

/** Every key in a data folder beside the master key. */
export async function readKeyFiles(dataDir: string): Promise<KeyFile[]> {
  const names = await readdir(dataDir).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  const files = await Promise.all(
    names.sort().map(async (name): Promise<KeyFile[]> => {
      const role = OTHER_KEY.exec(name)?.groups?.['role'] as KeyFile['role'] | undefined
      if (role === undefined) return []
      const path = join(dataDir, name)
      const key = await readMasterKey(path)
      return key === null ? [] : [{ path, role, id: keyIdOf(key), key }]
    }),
  )
  return files.flat()
}

/** Every master key that is given beside the one to seal under: in the settings and in the data folder. */
export async function readOtherKeys(config: Pick<Config, 'formerMasterKeys' | 'dataDir'>): Promise<Buffer[]> {
  return [...config.formerMasterKeys, ...(await readKeyFiles(config.dataDir)).map(({ key }) => key)]
}

/** A name is on the disk only once its folder is. Some systems cannot flush a folder, and need not. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null)
  await folder?.sync().catch(() => {})
  await folder?.close()
}

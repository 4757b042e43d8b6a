import { createHash } from 'node:crypto'
import { PillarboxError } from '../model/errors.ts'

/**
 * The master keys that a process has. It seals under one of them and opens what was sealed under any, so that a rotation
 * takes nobody by surprise: which one is sealed under is decided for all processes at once, by the database.
 */
export interface Keyring {
  /** Names the key that this process seals under at present. */
  readonly currentId: string
  ids(): string[]
  find(id: string): Buffer | null
  /** From now on this one is sealed under. False, and nothing changed, where it is not here. */
  use(id: string): boolean
  /** Keys that turned up while the process runs. */
  add(keys: readonly Buffer[]): void
}

/** Seals under `masterKey` until it is told otherwise. */
export function createKeyring(masterKey: Buffer, others: readonly Buffer[] = []): Keyring {
  const keys = new Map<string, Buffer>()
  const add = (added: readonly Buffer[]): void => {
    for (const key of added) keys.set(keyIdOf(key), key)
  }
  add([masterKey, ...others])
  let currentId = keyIdOf(masterKey)

  return {
    get currentId() {
      return currentId
    },
    ids: () => [...keys.keys()],
    find: (id) => keys.get(id) ?? null,
    use(id) {
      if (!keys.has(id)) return false
      currentId = id
      return true
    },
    add,
  }
}

/** A ring as it is, or one with this key alone. */
export function keyringOf(keys: Keyring | Buffer): Keyring {
  return Buffer.isBuffer(keys) ? createKeyring(keys) : keys
}

/** Tells a master key from others without giving it away. */
export function keyIdOf(masterKey: Buffer): string {
  if (masterKey.length !== 32)
    throw new PillarboxError('internal', `The master key must be 32 bytes; it is ${masterKey.length}.`)
  return createHash('sha256').update('pillarbox master key id').update(masterKey).digest('hex').slice(0, 8)
}

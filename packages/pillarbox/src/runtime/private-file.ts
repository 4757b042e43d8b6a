import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes the file, and the folders above it, readable by their owner alone. One that is there stays as it is: its mode is
 * its owner's choice. SQLite gives the files beside a database the database's own mode.
 */
export function ensurePrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
}

import { closeSync, mkdirSync, openSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes the folder, and those above it, for their owner alone; what is there stays as it is. Not by `recursive` of `mkdir`:
 * that goes on for ever where a file system has no room for folders of ours, as below /proc.
 */
export function ensurePrivateFolder(path: string): void {
  if (isFolder(path)) return
  const above = dirname(path)
  if (above !== path) ensurePrivateFolder(above)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(path)) throw error
  }
}

/**
 * Makes the file, and the folders above it, readable by their owner alone. One that is there stays as it is: its mode is
 * its owner's choice. SQLite gives the files beside a database the database's own mode.
 */
export function ensurePrivateFile(path: string): void {
  ensurePrivateFolder(dirname(path))
  closeSync(openSync(path, 'a', 0o600))
}

/** Writes a new file that only its owner may read. Throws where it is there already. */
export function writePrivateFile(path: string, text: string): void {
  ensurePrivateFolder(dirname(path))
  writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true })
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

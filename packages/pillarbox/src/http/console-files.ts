import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConsoleFiles } from './console-pages.ts'

/** The built console out of the first of these folders that has one; null: none has. */
export async function readConsoleFiles(folders: readonly string[]): Promise<ConsoleFiles | null> {
  for (const folder of folders) {
    const page = await readFile(join(folder, 'index.html'), 'utf8').catch(() => null)
    if (page === null) continue
    const names = await readdir(join(folder, 'assets'))
    const read = names.map(async (name) => [name, await readFile(join(folder, 'assets', name))] as const)
    return { page, assets: new Map(await Promise.all(read)) }
  }
  return null
}

import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Builds the console where it has not been built from these sources yet, and says so. `npm start` does it before the server
 * starts, so that a fresh clone needs no step of its own; docs/decisions/0025-the-console-is-built-at-start.md has the reasons.
 */
const HERE = import.meta.dirname
const MARK = join(HERE, 'dist', 'built-from.txt')
const SOURCES = ['src/**/*', 'index.html', 'vite.config.ts', 'package.json']

export async function ensureBuilt(say: (line: string) => void): Promise<void> {
  const wanted = sourcesHash()
  if (builtFrom() === wanted) return
  const startedAt = performance.now()
  try {
    const { build } = await import('vite')
    await build({ configFile: join(HERE, 'vite.config.ts'), logLevel: 'error' })
    writeFileSync(MARK, wanted)
    say(`The console was built in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.`)
  } catch (error) {
    say(`The console could not be built, and the server goes without it: ${String(error)}`)
  }
}

function sourcesHash(): string {
  const hash = createHash('sha256')
  const files = globSync(SOURCES, { cwd: HERE, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const path of files.map((entry) => join(entry.parentPath, entry.name)).sort())
    hash.update(path.slice(HERE.length)).update('\0').update(readFileSync(path)).update('\0')
  return hash.digest('hex')
}

function builtFrom(): string | null {
  try {
    return readFileSync(MARK, 'utf8')
  } catch {
    return null
  }
}

if (import.meta.main) await ensureBuilt((line) => void process.stderr.write(`${line}\n`))

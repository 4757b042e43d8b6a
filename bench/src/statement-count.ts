import { createRequire } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'

type Method = (this: unknown, ...given: unknown[]) => unknown

/** Counts every statement this process runs from now on, over either copy of `pg` or over `node:sqlite`. */
export async function countStatements(): Promise<() => number> {
  let count = 0
  const wrap = (owner: object, names: readonly string[]): void => {
    const methods = owner as Record<string, Method>
    for (const name of names) {
      const original = methods[name]
      if (original === undefined) continue
      methods[name] = function (...given) {
        count++
        return original.apply(this, given)
      }
    }
  }
  // The engine resolves its own copy, this package's peers another.
  for (const from of [import.meta.url, new URL('../../packages/pillarbox/package.json', import.meta.url)]) {
    const { Client } = createRequire(from)('pg') as { Client: { prototype: object } }
    wrap(Client.prototype, ['query'])
  }
  wrap(StatementSync.prototype, ['run', 'get', 'all', 'iterate'])
  wrap(DatabaseSync.prototype, ['exec'])
  return () => count
}

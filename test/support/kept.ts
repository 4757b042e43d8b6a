import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import type { World } from './world.ts'

/** Everything that is kept: every file of the data folder, SQLite's log included, and every row of PostgreSQL. */
async function everything({ engine, dataDir, databaseUrl }: World): Promise<Map<string, string>> {
  const kept = new Map<string, string>()
  for (const name of await readdir(dataDir)) kept.set(name, await readFile(path.join(dataDir, name), 'latin1'))
  if (engine !== 'postgres') return kept
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'pillarbox'`,
  )
  for (const { name } of rows) {
    const table = await client.query<{ text: string }>(`select t::text as text from pillarbox.${name} t`)
    kept.set(name, table.rows.map(({ text }) => text).join('\n'))
  }
  await client.end()
  return kept
}

/** Where a text is kept: files of the data folder, and tables of PostgreSQL. */
export async function placesOf(world: World, text: string): Promise<string[]> {
  return [...(await everything(world))].flatMap(([name, content]) => (content.includes(text) ? [name] : []))
}

import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fromNodeSqlite, fromPg, publish, publishSync } from '@pillarbox/client'
import pg from 'pg'
import type { Rig } from '../chaos/rig.ts'

/** Publishes as an application does, in a transaction of its own. */
export async function inTransaction({ engine, databaseUrl }: Rig, event: Parameters<typeof publish>[1]): Promise<void> {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { timeout: 5_000 })
    db.exec('begin immediate')
    publishSync(fromNodeSqlite(db), event)
    db.exec('commit')
    db.close()
    return
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin')
  await publish(fromPg(client), event)
  await client.query('commit')
  await client.end()
}

/** The words of everything that the sandbox was given to send. */
export function inbox({ dataDir }: Rig): string[] {
  const db = new DatabaseSync(path.join(dataDir, 'sandbox.db'), { readOnly: true, timeout: 5_000 })
  const rows = db.prepare('select body from message').all()
  db.close()
  return rows.map(({ body }) => String(body))
}

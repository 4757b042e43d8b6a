// Only on SQLite: PostgreSQL has indexes of the ledger in their place (migration 0020 says why).

import type { NewNotification } from '../../model/notification.ts'
import type { RollupMove } from '../../model/rollup.ts'
import type { Connection } from './connection.ts'
import { insertMoves } from './rollup-deltas.ts'
import { insertText } from './scripts.ts'

/** What new notifications add to other tables: few rows for all of them together, written when the last one is. */
export interface Gathered {
  moves: RollupMove[]
  /** By their own text, so that each is written once. */
  marks: Map<string, readonly string[]>
}

export function gather(): Gathered {
  return { moves: [], marks: new Map() }
}

/** So many characters of an id name sixteen milliseconds. */
const SLOT_LENGTH = 12

export function gatherMarks({ marks }: Gathered, n: NewNotification): void {
  const slot = n.id.slice(0, SLOT_LENGTH)
  const mark = (kind: string, value: string | null): void => {
    if (value === null) return
    const row = [n.tenantId, kind, value, slot]
    const key = row.join('\n')
    if (!marks.has(key)) marks.set(key, row)
  }
  mark('site', n.site)
  mark('event_type', n.eventType)
  mark('account', n.accountId)
  mark('channel', n.channel)
}

const MARK = `${insertText('notification_marks', ['tenant_id', 'kind', 'value', 'slot'])} on conflict do nothing`

/** In the transaction that writes the notifications. */
export function insertGathered(connection: Connection, { moves, marks }: Gathered): void {
  insertMoves(connection, moves)
  const statement = connection.prepare(MARK)
  for (const row of marks.values()) statement.run(...row)
}

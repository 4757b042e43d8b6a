import { type AuditRow, writeAudit } from '../shared/audit.ts'
import type { Connection } from './connection.ts'
import { dialect, runScript } from './scripts.ts'

/** The audit row of a transition that a hand-tuned statement makes, inside its transaction. */
export function insertAudit(connection: Connection, row: AuditRow): void {
  runScript(connection, writeAudit(dialect, row))
}

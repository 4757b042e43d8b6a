// Only on SQLite: PostgreSQL's hand-tuned statements write their audit rows themselves.

import { type AuditRow, writeAudit } from '../shared/audit.ts'
import type { Connection } from './connection.ts'
import { dialect, runScript } from './scripts.ts'

/** The audit rows of transitions that hand-tuned statements make, inside their transaction. */
export function insertAudit(connection: Connection, ...audits: AuditRow[]): void {
  runScript(connection, writeAudit(dialect, ...audits))
}

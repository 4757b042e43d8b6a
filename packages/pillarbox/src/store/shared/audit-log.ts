import type { AuditedAct } from '../../model/audit.ts'
import { digestOf } from '../../model/audit.ts'
import type { AuditStore, RecordedAct } from '../../operate/audit-store.ts'
import { type AuditRow, writeAudit } from './audit.ts'
import { sharedAuditLinks } from './audit-links.ts'
import { listAudit } from './audit-list.ts'
import { ACT_ROWS } from './audit-rows.ts'
import { sharedAuditSink } from './audit-sink.ts'
import { uuidOrNull } from './fields.ts'
import { type Dialect, givenIds, givenRows, type Row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedAudit(scripts: ScriptRunner): AuditStore {
  const { dialect, report, write } = scripts
  return {
    record: (act) => write(() => writeAudit(dialect, rowOf(act))),
    list: (filter, page) => report(() => listAudit(dialect, filter, page)),
    eraseWords: (tenantId, ids) => write(() => eraseWords(dialect, tenantId, ids)),
    ...sharedAuditLinks(scripts),
    ...sharedAuditSink(scripts),
  }
}

function rowOf({ subject, ...act }: RecordedAct): AuditRow {
  return { ...act, ...(subject !== null && { subject }) }
}

export function* eraseWords(dialect: Dialect, tenantId: string, notificationIds: readonly string[]): Script<number> {
  const ids = notificationIds.map(uuidOrNull).filter((id) => id !== null)
  const found = yield* rows(
    `select ${ACT_ROWS.columns} from :g cross join pillarbox.audit r
      where r.notification_id = g.id and r.tenant_id = :tenantId and r.salt is not null`,
    { tenantId, g: givenIds(ids) },
  )
  return yield* eraseWordsOf(dialect, found)
}

/** Words and salt go, their digest stays. `found`: rows with the columns of `ACT_ROWS`. */
export function* eraseWordsOf(dialect: Dialect, found: readonly Row[]): Script<number> {
  if (found.length === 0) return 0
  yield* dialect.allowAuditUpkeep()
  const given = found.map((each) => {
    const act = ACT_ROWS.of(each) as AuditedAct
    return { id: act.id, digest: digestOf(act) }
  })
  yield* rows(
    `update pillarbox.audit as r set note = null, before = null, after = null, salt = null, digest = g.digest
      from :g where r.id = g.id`,
    { g: givenRows({ id: 'bigint', digest: 'text' }, given) },
  )
  return found.length
}

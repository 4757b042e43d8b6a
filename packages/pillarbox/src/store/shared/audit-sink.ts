import type { AuditStore, DeliverableLink, SinkStore } from '../../operate/audit-store.ts'
import { chainedRows, LINKS } from './audit-links.ts'
import { entriesOf, withOrigins } from './audit-rows.ts'
import { type Dialect, instantOf, row, rows, type Script, type ScriptRunner } from './script.ts'

/** After so long without a try, what went wrong the last time says nothing any more. */
const TROUBLE_SHOWN_MS = 600_000

/** How far an external sink has come, and who feeds it. */
export function sharedAuditSink({ dialect, read, write, change }: ScriptRunner): Pick<AuditStore, 'sink'> {
  const sink: SinkStore = {
    take: (holder, leaseMs) => write(() => take(dialect, holder, leaseMs)),
    next: (position, limit) => read(() => nextLinks(position, limit)),
    advance: async (holder, position) => {
      const moved = await change(
        `update pillarbox.audit_marks set position = :position, failing_since = null, last_error = null
          where name = 'sink' and holder = :holder and position < :position returning name`,
        { holder, position },
      )
      return moved.length === 1
    },
    fail: async (holder, error) => {
      await change(
        `update pillarbox.audit_marks set last_error = :error, failing_since = coalesce(failing_since, ${dialect.now})
          where name = 'sink' and holder = :holder`,
        { holder, error },
      )
    },
    trouble: () => read(() => trouble(dialect)),
  }
  return { sink }
}

function* take(dialect: Dialect, holder: string, leaseMs: number): Script<{ position: number } | null> {
  const taken = yield* row(
    `insert into pillarbox.audit_marks as m (name, position, holder, tried_at, leased_until)
      values ('sink', 0, :holder, ${dialect.now}, ${dialect.plus(dialect.now, ':leaseMs')})
      on conflict (name) do update
        set holder = excluded.holder, tried_at = excluded.tried_at, leased_until = excluded.leased_until
        where m.holder is null or m.holder = excluded.holder or m.leased_until < excluded.tried_at
      returning position`,
    { holder, leaseMs },
  )
  return taken && { position: Number(taken['position']) }
}

function* nextLinks(position: number, limit: number): Script<DeliverableLink[]> {
  const found = yield* rows(
    `select id, ${LINKS.columns} from pillarbox.audit_links where id > :position order by id limit :limit`,
    { position, limit },
  )
  const links: DeliverableLink[] = []
  for (const each of found) {
    const link = LINKS.of(each)
    const chained = yield* chainedRows(link.tenantId, { after: link.fromId, upTo: link.toId })
    links.push({ id: Number(each['id']), ...link, entries: yield* withOrigins(chained.flatMap(entriesOf)) })
  }
  return links
}

function* trouble({ now, plus }: Dialect): Script<{ sinceMs: number; error: string } | null> {
  const found = yield* row(
    `select ${now} as now, failing_since, last_error from pillarbox.audit_marks
      where name = 'sink' and failing_since is not null and tried_at > ${plus(now, `-${TROUBLE_SHOWN_MS}`)}`,
  )
  if (!found) return null
  return {
    sinceMs: instantOf(found['now']) - instantOf(found['failing_since']),
    error: String(found['last_error']),
  }
}

import type { HandedOff, HandOffResult, SiteContact, SiteStore } from '../../intake/site-store.ts'
import { PillarboxError } from '../../model/errors.ts'
import { gapsIn, hasSequence, type SequenceRanges, type Site, siteActor, withSequences } from '../../model/site.ts'
import { type AuditRow, writeAudit } from './audit.ts'
import { booleanOf, textOrNull } from './fields.ts'
import {
  type Dialect,
  instantOf,
  instantOrNull,
  jsonOf,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/** Everything about sites but what writes notifications, which is each engine's own. */
export function sharedSites({ dialect, read, write }: ScriptRunner): Omit<SiteStore, 'handOff'> {
  return {
    find: (tenantId, site, notificationId) =>
      read(function* () {
        const found = yield* row(
          `select id from pillarbox.notifications
            where tenant_id = :tenantId and idempotency_key = :notificationId and site = :site`,
          { tenantId, site, notificationId },
        )
        return found && String(found['id'])
      }),
    list: (tenantId) =>
      read(function* () {
        const found = yield* rows(
          `select ${COLUMNS}, ${dialect.now} as now from pillarbox.sites
            ${tenantId === null ? '' : 'where tenant_id = :tenantId'} order by tenant_id, site`,
          { tenantId },
        )
        return found.map((each) => {
          const site = siteOf(each)
          return { ...site, silentForMs: Math.max(0, instantOf(each['now']) - site.lastContactAt) }
        })
      }),
    forget: (tenantId, site, actor) =>
      write(function* () {
        const gone = yield* row(
          `delete from pillarbox.sites where tenant_id = :tenantId and site = :site returning ${COLUMNS}`,
          { tenantId, site },
        )
        if (!gone) return false
        const { incarnation, sequence, backlog } = siteOf(gone)
        const before = { incarnation, sequence, backlog }
        yield* writeAudit(dialect, { tenantId, actor, action: 'forget', subject: `site:${site}`, before })
        return true
      }),
  }
}

const COLUMNS =
  'tenant_id, site, incarnation, sequence, missing, backlog, first_contact_at, last_contact_at, rewound_at, clock_ahead_ms'

function siteOf(found: Row): Site {
  return {
    tenantId: String(found['tenant_id']),
    site: String(found['site']),
    incarnation: textOrNull(found['incarnation']),
    sequence: Number(found['sequence']),
    missing: Number(found['missing']),
    backlog: Number(found['backlog']),
    firstContactAt: instantOf(found['first_contact_at']),
    lastContactAt: instantOf(found['last_contact_at']),
    rewoundAt: instantOrNull(found['rewound_at']),
    clockAheadMs: found['clock_ahead_ms'] === null ? null : Number(found['clock_ahead_ms']),
  }
}

/**
 * A site's row, which nobody else changes until the transaction ends: what one buffer sends twice at the same time is judged
 * one after the other. Taken before any notification is written, so that two hand-offs wait for each other in one order.
 */
export function* takeSite(dialect: Dialect, { tenantId, site }: SiteContact): Script<Row> {
  yield* refuseTooMany(tenantId, site)
  yield* rows(
    `insert into pillarbox.sites (tenant_id, site, received, backlog, first_contact_at, last_contact_at)
      values (:tenantId, :site, '[]', 0, ${dialect.now}, ${dialect.now}) on conflict (tenant_id, site) do nothing`,
    { tenantId, site },
  )
  const taken = yield* row(
    `select ${COLUMNS}, received from pillarbox.sites s where s.tenant_id = :tenantId and s.site = :site ${dialect.lock('s')}`,
    { tenantId, site },
  )
  return taken ?? {}
}

/** Far more than anybody has. A key that is bound to no site may name any, and must not fill the table with names. */
const MOST_SITES = 10_000

function* refuseTooMany(tenantId: string, site: string): Script<void> {
  const found = yield* row(
    `select exists (select 1 from pillarbox.sites where tenant_id = :tenantId and site = :site) as is_known,
      (select count(*) from (select 1 from pillarbox.sites where tenant_id = :tenantId limit ${MOST_SITES}) s) as count`,
    { tenantId, site },
  )
  if (booleanOf(found?.['is_known']) || Number(found?.['count']) < MOST_SITES) return
  const detail = `The tenant has ${MOST_SITES} sites already: forget those that are gone with DELETE /api/sites/{site}.`
  throw new PillarboxError('forbidden', detail)
}

/** That the site was heard of, what its numbers say, and the audit rows of what it sent. */
export function* noteContact(
  dialect: Dialect,
  taken: Row,
  contact: SiteContact,
  items: readonly HandedOff[],
  written: HandOffResult['written'],
): Script<HandOffResult> {
  const { tenantId, site, incarnation, backlog, clockAheadMs, refused } = contact
  const former = siteOf(taken)
  const isSameBuffer = incarnation === null || incarnation === former.incarnation
  const before = isSameBuffer ? jsonOf<SequenceRanges>(taken['received']) : []
  const isNew = (i: number): boolean => written[i]?.duplicate === false
  const isRewound = items.some(
    ({ sequence }, i) => incarnation !== null && sequence !== null && isNew(i) && hasSequence(before, sequence),
  )
  const came = [...items.flatMap(({ sequence }) => sequence ?? []), ...refused]
  const received = incarnation === null ? before : withSequences(before, came)
  const { sequence: upTo, missing } = gapsIn(received)
  yield* rows(
    `update pillarbox.sites set incarnation = :incarnation, received = :received, sequence = :upTo,
        missing = :missing, backlog = :backlog,
        last_contact_at = ${dialect.now}, clock_ahead_ms = :clockAheadMs
        ${isRewound ? `, rewound_at = ${dialect.now}` : ''}
      where tenant_id = :tenantId and site = :site returning site`,
    {
      tenantId,
      site,
      incarnation: incarnation ?? former.incarnation,
      received: JSON.stringify(received),
      upTo,
      missing,
      backlog,
      clockAheadMs: clockAheadMs === null ? null : Math.round(clockAheadMs),
    },
  )
  const audits: AuditRow[] = items.flatMap(({ notification, sequence, sentAt }, i) =>
    isNew(i)
      ? {
          tenantId,
          actor: siteActor(site),
          action: 'notify_send',
          notificationId: notification.id,
          after: { at: sentAt === null ? null : new Date(sentAt).toISOString(), sequence, incarnation },
        }
      : [],
  )
  const about = { tenantId, actor: siteActor(site), subject: `site:${site}` }
  const was = { incarnation: former.incarnation, sequence: former.sequence, backlog: former.backlog }
  if (!isSameBuffer && former.incarnation !== null)
    audits.push({ ...about, action: 'replace_buffer', before: was, after: { incarnation } })
  if (isRewound) audits.push({ ...about, action: 'rewind_buffer', before: was, after: { sequence: upTo, missing } })
  yield* writeAudit(dialect, ...audits)
  return { written, isRewound }
}

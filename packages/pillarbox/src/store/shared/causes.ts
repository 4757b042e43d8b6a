import type { StoppedCause } from '../../model/cause.ts'
import type { Channel } from '../../model/channel.ts'
import type { Address } from '../../model/recipient.ts'
import type { OperationStore } from '../../operate/operation-store.ts'
import type { NotificationFilter } from '../../plan/notification-store.ts'
import { textOrNull } from './fields.ts'
import { selectionOf } from './notification-list.ts'
import { type Dialect, givenIds, givenRows, instantOf, jsonOf, type Row, rows, type Script } from './script.ts'
import { PRINTED, printOf } from './transitions.ts'

/**
 * What stopped notifications have in common, the commonest first. Only the newest are looked at, so that the answer costs
 * no more however much has stopped; whether that was all is said.
 */
export function* listCauses(
  dialect: Dialect,
  filter: NotificationFilter,
  { mostRows, limit }: { mostRows: number; limit: number },
): Script<Awaited<ReturnType<OperationStore['causes']>>> {
  const status = filter.status?.length ? PRINTED.filter((each) => filter.status?.includes(each)) : [...PRINTED]
  if (status.length === 0) return { causes: [], isWhole: true }
  const selection = yield* selectionOf(dialect, { ...filter, status }, { limit: mostRows })
  if (!selection) return { causes: [], isWhole: true }
  const found = yield* rows(
    `select fingerprint, channel, count(*) as count, min(settled_at) as first_at, max(settled_at) as last_at,
        max(cast(id as text)) as sample_id, sum(count(*)) over () as looked_at
      from (
        select page.id, s.fingerprint, s.settled_at, n.channel from ${selection.from}
        cross join pillarbox.settled s cross join pillarbox.notifications n
        where s.notification_id = page.id and n.id = page.id and s.fingerprint is not null order by page.id desc limit :mostRows
      ) stopped
      group by fingerprint, channel order by count(*) desc, fingerprint, channel limit :most`,
    { ...selection.values, mostRows, most: limit + 1 },
  )
  const shown = found.slice(0, limit)
  const samples = yield* samplesOf(shown.map((each) => String(each['sample_id'])))
  return {
    causes: shown.flatMap((each) => {
      const sample = samples.get(String(each['sample_id']))
      return sample ? [causeOf(each, sample)] : []
    }),
    isWhole: found.length <= limit && Number(found[0]?.['looked_at'] ?? 0) < mostRows,
  }
}

function causeOf(found: Row, sample: Row): StoppedCause {
  return {
    fingerprint: String(found['fingerprint']),
    channel: String(found['channel']) as Channel,
    count: Number(found['count']),
    firstAt: instantOf(found['first_at']),
    lastAt: instantOf(found['last_at']),
    sampleId: String(found['sample_id']),
    sampleName: jsonOf<Address>(sample['recipient']).name ?? null,
    reason: String(sample['reason']) as StoppedCause['reason'],
    code: textOrNull(sample['code']),
    error: textOrNull(sample['last_error']),
    accountId: textOrNull(sample['account_id']),
  }
}

function* samplesOf(ids: readonly string[]): Script<Map<string, Row>> {
  if (ids.length === 0) return new Map()
  const found = yield* rows(
    `select n.id, n.account_id, n.recipient, s.reason, s.code, s.last_error from :g cross join pillarbox.settled s
      join pillarbox.notifications n on n.id = s.notification_id where s.notification_id = g.id`,
    { g: givenIds(ids) },
  )
  return new Map(found.map((each) => [String(each['id']), each]))
}

/** Gives a fingerprint to what stopped before there were any. */
export function* printStopped(dialect: Dialect, limit: number): Script<number> {
  const found = yield* rows(
    `select s.notification_id, s.status, s.reason, s.last_error, n.account_id,
        (select x.code from pillarbox.attempts x where x.notification_id = s.notification_id and not x.late
          order by x.number desc limit 1) as code
      from pillarbox.settled s join pillarbox.notifications n on n.id = s.notification_id
      where s.fingerprint is null and s.status in ('parked', 'uncertain', 'failed', 'discarded', 'skipped')
      order by s.notification_id limit :limit ${dialect.skipLocked('s')}`,
    { limit },
  )
  if (found.length === 0) return 0
  const given = found.map((each) => {
    const cause = {
      reason: String(each['reason']),
      code: textOrNull(each['code']),
      error: textOrNull(each['last_error']),
      accountId: textOrNull(each['account_id']),
    }
    const status = String(each['status']) as Parameters<typeof printOf>[0]
    return { id: String(each['notification_id']), new_code: cause.code, print: printOf(status, cause) }
  })
  yield* rows(
    `update pillarbox.settled as s set code = g.new_code, fingerprint = g.print from :g where s.notification_id = g.id`,
    { g: givenRows({ id: 'uuid', new_code: 'text', print: 'text' }, given) },
  )
  return found.length
}

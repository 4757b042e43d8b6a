import type { Alert, AlertNews } from '../../model/alert.ts'
import type { BulkAction } from '../../model/operation.ts'
import type {
  AlertMessage,
  AlertStep,
  AlertStore,
  AlertWay,
  FailedOperation,
  ToldAlert,
} from '../../operate/alert-store.ts'
import { writeAudit } from './audit.ts'
import { booleanOf, uuidOrNull } from './fields.ts'
import { conditionsOf, findBy, listBy, newestFirst, nounOf } from './noun.ts'
import { type Dialect, givenIds, givenRows, instantOf, row, rows, type Script, type ScriptRunner } from './script.ts'

const ALERTS = nounOf<Alert>('alerts', {
  id: 'uuid',
  rule: 'text',
  subject: 'text',
  subjectId: 'text',
  tenantId: 'text',
  status: 'text',
  since: 'instant',
  raisedAt: 'instant',
  goodSince: 'instant',
  clearedAt: 'instant',
  value: 'number',
  summary: 'text',
  acknowledgedAt: 'instant',
  acknowledgedBy: 'text',
  note: 'text',
  repeats: 'number',
  toldAt: 'instant',
})

const SEEN = `status <> 'pending'`

export function sharedAlerts({ dialect, read, write, change }: ScriptRunner): AlertStore {
  return {
    standing: () => read(() => listBy(ALERTS, {}, 'id', { and: `status <> 'cleared'` })),
    apply: (steps, telling) => write(() => apply(dialect, steps, telling)),
    list: (filter, page) =>
      read(() => {
        const where = conditionsOf(filter, {
          status: 'status = :status',
          rule: 'rule = :rule',
          tenantId: 'tenant_id = :tenantId',
        })
        return newestFirst(ALERTS, [SEEN, ...where], filter, page)
      }),
    acknowledge: (request) => write(() => acknowledge(dialect, request)),
    messages: (way, limit) => read(() => messages(dialect, way, limit)),
    told: async (sequence) => {
      await change('delete from pillarbox.alert_messages where sequence = :sequence returning sequence', { sequence })
    },
    notTold: async (sequence, waitMs) => {
      await change(
        `update pillarbox.alert_messages set tries = tries + 1, next_at = ${dialect.plus(dialect.now, ':waitMs')}
          where sequence = :sequence returning sequence`,
        { sequence, waitMs: Math.round(waitMs) },
      )
    },
    prune: (keepMs, limit) => write(() => prune(dialect, keepMs, limit)),
    failedOperations: (withinMs, limit) => read(() => failedOperations(dialect, withinMs, limit)),
  }
}

const NEWS: Partial<Record<AlertStep['step'], AlertNews>> = { raise: 'raised', repeat: 'repeated', clear: 'cleared' }

function* apply(
  dialect: Dialect,
  steps: readonly AlertStep[],
  { ways, notByEvent }: Parameters<AlertStore['apply']>[1],
): Script<ToldAlert[]> {
  const told: ToldAlert[] = []
  for (const step of steps) {
    const found = yield* take(dialect, step)
    const news = NEWS[step.step]
    if (found && news) told.push({ alert: ALERTS.of(found), news })
  }
  const messages = told.flatMap(({ alert, news }) =>
    ways
      .filter((way) => way !== 'event' || alert.tenantId !== notByEvent)
      .map((way) => ({ alert_id: alert.id, way, news, number: news === 'repeated' ? alert.repeats : 0 })),
  )
  if (messages.length > 0)
    yield* rows(
      `insert into pillarbox.alert_messages (alert_id, way, news, number, since, next_at)
        select g.alert_id, g.way, g.news, g.number, ${dialect.now}, ${dialect.now} from :g where true
        on conflict do nothing`,
      { g: givenRows({ alert_id: 'uuid', way: 'text', news: 'text', number: 'bigint' }, messages) },
    )
  return told
}

/** The row as it stands after the step; null: it did not stand where the step begins. */
function* take(dialect: Dialect, step: AlertStep): Script<Record<string, unknown> | null> {
  const now = dialect.instant(':now')
  const changed = (set: string, from: string) =>
    row(`update pillarbox.alerts set ${set} where id = :id and status = '${from}' returning ${ALERTS.columns}`, step)
  switch (step.step) {
    case 'notice':
      return yield* insert(dialect, step)
    case 'raise':
      if (step.isNew) return yield* insert(dialect, step)
      return yield* row(
        `update pillarbox.alerts set status = 'open', raised_at = ${now}, told_at = ${now}, value = :value, summary = :summary
          where id = :id and status = 'pending' returning ${ALERTS.columns}`,
        { ...step, value: step.reading.value },
      )
    case 'forget':
      return yield* row(`delete from pillarbox.alerts where id = :id and status = 'pending' returning id`, step)
    case 'recover':
      return yield* changed(`good_since = ${now}`, 'open')
    case 'relapse':
      return yield* changed('good_since = null', 'open')
    case 'repeat':
      return yield* changed(`repeats = repeats + 1, told_at = ${now}`, 'open')
    case 'clear':
      return yield* changed(`status = 'cleared', cleared_at = ${now}`, 'open')
  }
}

function insert(
  dialect: Dialect,
  step: Extract<AlertStep, { step: 'notice' | 'raise' }>,
): Script<Record<string, unknown> | null> {
  const now = dialect.instant(':now')
  const isOpen = step.step === 'raise'
  return row(
    `insert into pillarbox.alerts (id, rule, subject, subject_id, tenant_id, status, since, raised_at, told_at, value, summary)
      values (:id, :rule, :subject, :subjectId, :tenantId, :status, ${now}, ${isOpen ? `${now}, ${now}` : 'null, null'},
        :value, :summary)
      on conflict do nothing returning ${ALERTS.columns}`,
    { ...step.reading, ...step, status: isOpen ? 'open' : 'pending', summary: isOpen ? step.summary : '' },
  )
}

function* acknowledge(
  dialect: Dialect,
  { id, actor, note }: Parameters<AlertStore['acknowledge']>[0],
): Script<Alert | null> {
  const alertId = uuidOrNull(id)
  if (alertId === null) return null
  const changed = yield* row(
    `update pillarbox.alerts set acknowledged_at = ${dialect.now}, acknowledged_by = :actor, note = :note
      where id = :alertId and ${SEEN} and acknowledged_at is null returning ${ALERTS.columns}`,
    { alertId, actor, note },
  )
  if (!changed) return yield* findBy(ALERTS, { id: alertId }, { and: SEEN })
  const alert = ALERTS.of(changed)
  // The tenant's own people do not run the installation: it is on record where what belongs to no tenant is.
  const audit = { tenantId: null, actor, action: 'acknowledge', subject: `alert:${alertId}`, note }
  yield* writeAudit(dialect, { ...audit, after: { rule: alert.rule, [alert.subject]: alert.subjectId } })
  return alert
}

function* messages(dialect: Dialect, way: AlertWay, limit: number): Script<AlertMessage[]> {
  const found = yield* rows(
    `select m.sequence, m.news, m.number, m.since as message_since, m.tries, m.next_at > ${dialect.now} as is_early,
        ${ALERTS.columnsOf('a')}
      from pillarbox.alert_messages m join pillarbox.alerts a on a.id = m.alert_id
      where m.way = :way order by m.sequence limit :limit`,
    { way, limit },
  )
  if (booleanOf(found[0]?.['is_early'])) return []
  return found.map((message) => ({
    alert: ALERTS.of(message),
    news: message['news'] as AlertNews,
    sequence: Number(message['sequence']),
    number: Number(message['number']),
    since: instantOf(message['message_since']),
    tries: Number(message['tries']),
  }))
}

/** With what was never told of them: a way that was switched off. */
function* prune(dialect: Dialect, keepMs: number, limit: number): Script<number> {
  const gone = yield* rows(
    `delete from pillarbox.alerts where id in (select id from pillarbox.alerts
        where status = 'cleared' and cleared_at < ${dialect.plus(dialect.now, ':agoMs')} limit :limit)
      returning id`,
    { agoMs: -keepMs, limit },
  )
  if (gone.length > 0)
    yield* rows('delete from pillarbox.alert_messages where alert_id in (select g.id from :g)', {
      g: givenIds(gone.map(({ id }) => String(id))),
    })
  return gone.length
}

function* failedOperations(dialect: Dialect, withinMs: number, limit: number): Script<FailedOperation[]> {
  const found = yield* rows(
    `select id, tenant_id, action from pillarbox.operations
      where status = 'failed' and ended_at > ${dialect.plus(dialect.now, ':agoMs')} order by ended_at desc limit :limit`,
    { agoMs: -withinMs, limit },
  )
  return found.map((operation) => ({
    id: String(operation['id']),
    tenantId: String(operation['tenant_id']),
    action: operation['action'] as BulkAction,
  }))
}

import type { Channel } from '../../model/channel.ts'
import type { Operation, OperationItem } from '../../model/operation.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type {
  Candidate,
  ChosenItem,
  NewPreview,
  OperationStore,
  StartRequest,
  SteerAction,
  SteerRequest,
} from '../../operate/operation-store.ts'
import { writeAudit } from './audit.ts'
import { listCauses, printStopped } from './causes.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { booleanOf, textOrNull, uuidOrNull } from './fields.ts'
import { selectionOf } from './notification-list.ts'
import { conditionsOf, findBy, newestFirst, whereAll } from './noun.ts'
import { STAND_COLUMNS, settleItem, standOf } from './operation-items.ts'
import { canaryItems, checkpoint, nextItems, OPERATIONS, takeOperation } from './operation-work.ts'
import {
  type Dialect,
  givenIds,
  givenList,
  givenRows,
  instantOf,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/** Previews are nobody's operations yet. */
const STARTED = `status <> 'preview'`

export function sharedOperations({ dialect, read, report, write }: ScriptRunner): OperationStore {
  return {
    causes: (filter, limits) => report(() => listCauses(dialect, filter, limits)),
    printStopped: (limit) => write(() => printStopped(dialect, limit)),
    candidates: (filter, page) => report(() => candidates(dialect, filter, page)),
    candidatesById: (tenantId, ids) => read(() => candidatesById(tenantId, ids)),
    beginPreview: (preview, limits) => write(() => beginPreview(dialect, preview, limits)),
    addItems: (operationId, items) => write(() => addItems(dialect, operationId, items)),
    endPreview: (id, total) =>
      write(function* () {
        const change = total === null ? `expires_at = ${dialect.now}` : 'total = :total'
        yield* rows(`update pillarbox.operations set ${change} where id = :id`, { id, total })
      }),
    dropPreviews: (limits) => write(() => dropPreviews(dialect, limits)),
    start: (request) => write(() => start(dialect, request)),
    find: (tenantId, id) => read(() => findBy(OPERATIONS, { tenantId, id }, { and: STARTED })),
    list: (tenantId, { status }, page) =>
      read(() => {
        const where = ['tenant_id = :tenantId', STARTED, ...(status?.length ? ['status in (:status)'] : [])]
        return newestFirst(OPERATIONS, where, { tenantId, status: givenList(status ?? []) }, page)
      }),
    items: (operationId, filter, page) => read(() => listItems(operationId, filter, page)),
    steer: (request) => write(() => steer(dialect, request)),
    take: (leaseMs) => write(() => takeOperation(dialect, leaseMs)),
    nextItems: (operationId, afterPlace, limit) => read(() => nextItems(operationId, afterPlace, limit)),
    settleItem: (ref, settled) =>
      write(function* () {
        yield* settleItem(ref, settled)
      }),
    canary: (operationId) => read(() => canaryItems(operationId)),
    checkpoint: (request) => write(() => checkpoint(dialect, request)),
  }
}

const CANDIDATE_COLUMNS = `n.id, n.channel, n.account_id, n.address, n.is_scrubbed, s.fingerprint, ${STAND_COLUMNS},
  coalesce(d.possible_duplicate, s.possible_duplicate, false) as possible_duplicate`
const CANDIDATE_JOINS = `left join pillarbox.dispatch d on d.notification_id = n.id
  left join pillarbox.settled s on s.notification_id = n.id`

function candidateOf(found: Row): Candidate {
  return {
    ...standOf(found),
    id: String(found['id']),
    channel: String(found['channel']) as Channel,
    accountId: textOrNull(found['account_id']),
    fingerprint: textOrNull(found['fingerprint']),
    address: textOrNull(found['address']),
    possibleDuplicate: booleanOf(found['possible_duplicate']),
    isScrubbed: booleanOf(found['is_scrubbed']),
  }
}

function* candidates(
  dialect: Dialect,
  filter: Parameters<OperationStore['candidates']>[0],
  page: Page,
): Script<PageOf<Candidate>> {
  const selection = yield* selectionOf(dialect, filter, page)
  if (!selection) return { items: [], nextCursor: null }
  const found = yield* rows(
    `select ${CANDIDATE_COLUMNS} from ${selection.from} cross join pillarbox.notifications n ${CANDIDATE_JOINS}
      where n.id = page.id order by n.id desc limit :limit`,
    selection.values,
  )
  return pageOf(found.map(candidateOf), page.limit, ({ id }) => [id])
}

function* candidatesById(tenantId: string, ids: readonly string[]): Script<Candidate[]> {
  const found = yield* rows(
    `select ${CANDIDATE_COLUMNS} from :g cross join pillarbox.notifications n ${CANDIDATE_JOINS}
      where n.id = g.id and n.tenant_id = :tenantId order by n.id desc`,
    { tenantId, g: givenIds(ids.flatMap((id) => uuidOrNull(id) ?? [])) },
  )
  return found.map(candidateOf)
}

function* beginPreview(
  dialect: Dialect,
  { actor, ...preview }: NewPreview,
  { most, lifeMs }: { most: number; lifeMs: number },
): Script<{ expiresAt: number } | null> {
  const { tenantId } = preview
  const open = yield* row(
    `select count(*) as count from pillarbox.operations
      where tenant_id = :tenantId and status = 'preview' and expires_at > ${dialect.now}`,
    { tenantId },
  )
  if (Number(open?.['count']) >= most) return null
  const written = yield* row(
    `insert into pillarbox.operations (id, tenant_id, action, options, previewed_by, canary, created_at, expires_at)
      select :id, :tenantId, :action, :options, :actor, :canary, ${dialect.now}, ${dialect.plus(dialect.now, ':lifeMs')}
      returning expires_at`,
    { ...preview, actor, lifeMs },
  )
  return { expiresAt: instantOf(written?.['expires_at']) }
}

const ITEM = { place: 'bigint', notification_id: 'uuid', status: 'text', attempt: 'bigint', settled: 'bigint' } as const

function* addItems(dialect: Dialect, operationId: string, items: readonly ChosenItem[]): Script<void> {
  if (items.length === 0) return
  const given = items.map(({ place, notificationId, status, attempt, settledAt }) => {
    return { place, notification_id: notificationId, status, attempt, settled: settledAt }
  })
  yield* rows(
    `insert into pillarbox.operation_items (operation_id, place, notification_id, status, attempt, settled_at)
      select :operationId, g.place, g.notification_id, g.status, g.attempt, ${dialect.instant('g.settled')} from :g
      order by g.place`,
    { operationId, g: givenRows(ITEM, given) },
  )
}

/** What was chosen goes at once; that there was a preview is known for longer, to whoever still has its token. */
function* dropPreviews(
  dialect: Dialect,
  { rows: limit, rememberMs }: { rows: number; rememberMs: number },
): Script<number> {
  const expired = `o.status = 'preview' and o.expires_at <= ${dialect.now}`
  const items = yield* rows(
    `delete from pillarbox.operation_items where (operation_id, place) in (
        select i.operation_id, i.place from pillarbox.operations o cross join pillarbox.operation_items i
        where ${expired} and i.operation_id = o.id order by i.operation_id, i.place limit :limit
      ) returning place`,
    { limit },
  )
  const previews = yield* rows(
    `delete from pillarbox.operations where id in (
        select o.id from pillarbox.operations o
        where o.status = 'preview' and o.expires_at <= ${dialect.plus(dialect.now, ':beforeMs')}
          and not exists (select 1 from pillarbox.operation_items i where i.operation_id = o.id) limit :limit
      ) returning id`,
    { limit, beforeMs: -rememberMs },
  )
  return items.length + previews.length
}

function* start(
  dialect: Dialect,
  { tenantId, id: given, actor, note, perSecond, canary, graceMs }: StartRequest,
): Script<Awaited<ReturnType<OperationStore['start']>>> {
  const id = uuidOrNull(given)
  if (id === null) return null
  const found = yield* row(
    `select ${OPERATIONS.columnsOf('o')}, o.expires_at <= ${dialect.now} as is_expired from pillarbox.operations o
      where o.id = :id and o.tenant_id = :tenantId and o.total is not null ${dialect.lock('o')}`,
    { id, tenantId },
  )
  if (!found) return null
  if (String(found['status']) !== 'preview') return { operation: OPERATIONS.of(found) }
  if (booleanOf(found['is_expired'])) return { expired: true }
  const started = yield* row(
    `update pillarbox.operations set status = 'grace', started_by = :actor, started_at = ${dialect.now}, note = :note,
        per_second = :perSecond, canary = coalesce(:canary, canary), grace_until = ${dialect.plus(dialect.now, ':graceMs')},
        worked_at = ${dialect.now}
      where id = :id returning ${OPERATIONS.columns}`,
    { id, actor, note, perSecond, canary, graceMs },
  )
  const audit = { subject: `operation:${id}`, action: 'start', from: 'preview', to: 'grace', operationId: id }
  yield* writeAudit(dialect, { tenantId, actor, note, ...audit })
  return started && { operation: OPERATIONS.of(started) }
}

function* listItems(
  operationId: string,
  filter: Parameters<OperationStore['items']>[1],
  page: Page,
): Script<PageOf<OperationItem>> {
  const after = page.cursor === undefined ? 0 : Number(decodeCursor(page.cursor, 1)[0])
  if (!Number.isSafeInteger(after)) throw invalidCursor()
  const where = [
    'operation_id = :operationId',
    'place > :after',
    ...conditionsOf(filter, { outcome: 'outcome = :outcome' }),
  ]
  const found = yield* rows(
    `select place, notification_id, outcome, why, result_id from pillarbox.operation_items ${whereAll(where)}
      order by place limit :limit`,
    { operationId, after, ...filter, limit: page.limit + 1 },
  )
  const items = found.map((each): OperationItem => {
    return {
      place: Number(each['place']),
      notificationId: String(each['notification_id']),
      outcome: textOrNull(each['outcome']) as OperationItem['outcome'],
      why: textOrNull(each['why']),
      resultId: textOrNull(each['result_id']),
    }
  })
  return pageOf(items, page.limit, ({ place }) => [String(place)])
}

/** Where each may be asked for, and what it then writes. Null: back to where it was paused. */
const STEERING = {
  pause: { from: ['grace', 'canary', 'running'], to: 'paused' },
  resume: { from: ['paused'], to: null },
  cancel: { from: ['grace', 'canary', 'running', 'paused'], to: 'cancelled' },
  undo: { from: ['grace', 'paused'], to: 'cancelled' },
} as const satisfies Record<SteerAction, { from: readonly Operation['status'][]; to: Operation['status'] | null }>

/**
 * Whoever works on the operation holds its row while an item is moved, so that once this has it nothing moves. What was
 * moved and not counted yet is counted where nobody will come back to do so.
 */
function* steer(
  dialect: Dialect,
  { tenantId, id: given, action, actor }: SteerRequest,
): Script<Awaited<ReturnType<OperationStore['steer']>>> {
  const id = uuidOrNull(given)
  const found =
    id &&
    (yield* row(
      `select ${OPERATIONS.columnsOf('o')}, o.position, o.begun_at, o.paused_from from pillarbox.operations o
        where o.id = :id and o.tenant_id = :tenantId and o.${STARTED} ${dialect.lock('o')}`,
      { id, tenantId },
    ))
  if (!found) return null
  const operation = OPERATIONS.of(found)
  const { status: from } = operation
  const isTooLate = action === 'undo' && found['begun_at'] !== null
  if (isTooLate || !(STEERING[action].from as readonly string[]).includes(from)) return { moved: false, operation }
  const to = STEERING[action].to ?? (String(found['paused_from']) as Operation['status'])
  const changed = yield* row(
    `update pillarbox.operations set status = :to, paused_from = ${action === 'pause' ? ':from' : 'null'},
        ${to === 'cancelled' ? `ended_at = ${dialect.now}, problem = :problem,` : ''}
        canary_until = null, leased_until = null, worked_at = ${dialect.now}
      where id = :id returning ${OPERATIONS.columns}`,
    { id, to, from, problem: action === 'undo' ? 'It was undone before anything was done.' : 'Somebody cancelled it.' },
  )
  if (to === 'cancelled') yield* countRest(String(id), Number(found['position']))
  yield* writeAudit(dialect, { tenantId, actor, action, subject: `operation:${id}`, from, to, operationId: String(id) })
  const now = changed && (yield* findBy(OPERATIONS, { id: String(id) }))
  return now && { moved: true, operation: now }
}

/** What has its outcome behind what is counted. */
function* countRest(id: string, position: number): Script<void> {
  yield* rows(
    `update pillarbox.operations set position = total, ${['done', 'left_alone', 'failed']
      .map(
        (outcome) => `${outcome} = ${outcome} + (select count(*) from pillarbox.operation_items i
          where i.operation_id = :id and i.place > :position and i.outcome = '${outcome}')`,
      )
      .join(', ')}
      where id = :id`,
    { id, position },
  )
}

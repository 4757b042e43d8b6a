import { createEraser, type Eraser, needlesOf } from '../../model/personal-data.ts'
import type { Address } from '../../model/recipient.ts'
import type { ErasedStretch, Person, PersonalItem, PersonalStretch } from '../../operate/personal-store.ts'
import { eraseWords } from './audit-log.ts'
import { booleanOf, textOrNull } from './fields.ts'
import {
  erasedRow,
  mentionsOf,
  naming,
  rowsByKey,
  searchOf,
  shownRow,
  type TextTable,
  writeChanges,
} from './personal-text.ts'
import { NO_ID } from './purge-rules.ts'
import { type Dialect, givenIds, givenList, jsonOf, type Row, rows, type Script, type ScriptRunner } from './script.ts'
import { stopWaiting, WAITING_COLUMNS } from './settle.ts'

type KeyedTable = Omit<TextTable, 'where'>

const LEDGER: KeyedTable = { table: 'notifications', key: { id: 'uuid' } }
const EVENTS: KeyedTable = { table: 'events', key: { tenant_id: 'text', id: 'text' } }

/** The tables with rows of a notification, by the column that names it. */
const CHILDREN: readonly (KeyedTable & { of: string })[] = [
  { table: 'attempts', key: { notification_id: 'uuid', number: 'bigint', late: 'boolean' }, of: 'notification_id' },
  { table: 'settled', key: { notification_id: 'uuid' }, of: 'notification_id' },
  { table: 'dispatch', key: { notification_id: 'uuid' }, of: 'notification_id' },
  { table: 'receipts', key: { id: 'bigint' }, of: 'notification_id' },
]
const AUDIT = { table: 'audit', key: { id: 'bigint' }, of: 'notification_id' } as const

/** What an erased notification says of itself. */
const ERASED_WARNING = JSON.stringify([{ code: 'erased', message: 'What was known of its recipient was erased.' }])

/** The next notifications of the tenant, with whether the person may be theirs, or named in a row of theirs. */
function* candidates({
  person,
  after,
  limit,
}: PersonalStretch): Script<{ ids: string[]; all: string[]; next: string | null }> {
  const { condition, values } = naming('notifications', person)
  const known = person.contactIds.length > 0 ? 'contact_id in (:contactIds)' : '1 = 0'
  const users = person.userIds.map((id, i) => {
    values[`user${i}`] = `%"userid":${JSON.stringify(id).toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`
    return `or lower(cast(recipient as text)) like :user${i} escape '!'`
  })
  const found = yield* rows(
    `select id, case when ${condition} or ${known} ${users.join(' ')} then 1 else 0 end as is_hit
      from (select * from pillarbox.notifications where tenant_id = :tenantId and id > :after order by id limit :limit) t
      order by id`,
    { tenantId: person.tenantId, after: after ?? NO_ID, limit, contactIds: givenList(person.contactIds), ...values },
  )
  const all = found.map(({ id }) => String(id))
  return {
    ids: found.filter((each) => booleanOf(each['is_hit'])).map(({ id }) => String(id)),
    all,
    next: found.length === limit ? (all.at(-1) ?? null) : null,
  }
}

/** Whether a notification went, or was to go, to the person. */
function isTheirs(row: Row, person: Person): boolean {
  if (person.contactIds.includes(textOrNull(row['contact_id']) ?? '')) return true
  const to = jsonOf<Address>(row['recipient'])
  return (
    person.phones.includes(to.phone ?? '') ||
    person.emails.includes(to.email?.toLowerCase() ?? '') ||
    person.tokens.includes(to.deviceToken ?? '') ||
    person.userIds.includes(to.userId ?? '') ||
    person.contactIds.includes(to.contactId ?? '')
  )
}

function isErased(row: Row): boolean {
  return Object.keys(jsonOf<object>(row['recipient'])).length === 0
}

/** Shorter ones stand in too many texts by chance. */
const LEAST_CHARACTERS = 4

/** In the person's own rows a name or an id is theirs, also within a text. */
function ownEraser({ needles, values, region }: Person): Eraser {
  const named = [...values].flatMap(([text, mark]) => (text.length < LEAST_CHARACTERS ? [] : needlesOf(text, mark)))
  return createEraser({ needles: [...needles, ...named], values, region })
}

export async function findNotifications(
  { read }: ScriptRunner,
  stretch: PersonalStretch,
): Promise<{ items: PersonalItem[]; next: string | null }> {
  const { person } = stretch
  return await read(function* () {
    const { ids, all, next } = yield* candidates(stretch)
    const found = yield* rowsByKey(
      LEDGER,
      ids.map((id) => ({ id })),
    )
    const own = found.filter((row) => isTheirs(row, person))
    const eraser = createEraser(searchOf(person))
    const items: PersonalItem[] = own.map((row) => ({ table: 'notifications', row: shownRow('notifications', row) }))
    for (const row of found)
      if (!own.includes(row))
        items.push(...[mentionsOf('notifications', ['id', 'created_at'], row, eraser) ?? []].flat())
    const ownIds = new Set(own.map(({ id }) => String(id)))
    for (const child of [...CHILDREN, AUDIT])
      for (const row of yield* childRows(child, [...ownIds], all, person))
        if (ownIds.has(String(row[child.of]))) items.push({ table: child.table, row: shownRow(child.table, row) })
        else items.push(...[mentionsOf(child.table, Object.keys(child.key), row, eraser) ?? []].flat())
    for (const { event, isAlone } of yield* eventsOf(own, person))
      if (isAlone) items.push({ table: 'events', row: shownRow('events', event) })
    return { items, next }
  })
}

/** All rows of the person's own notifications, and those of others that name the person. */
function* childRows(
  { table, of }: KeyedTable & { of: string },
  own: readonly string[],
  all: readonly string[],
  person: Person,
): Script<Row[]> {
  if (all.length === 0) return []
  const { condition, values } = naming(table, person)
  return yield* rows(
    `select * from pillarbox.${table} where ${of} in (select g.id from :g)
      and (${condition} or ${of} in (select o.id from :o)) order by ${of}`,
    { g: givenIds(all), o: givenIds(own), ...values },
  )
}

/** An event with more notifications than this is not one person's. */
const MOST_OF_ONE = 200

interface OwnEvent {
  event: Row
  /** Nobody else was told of it, and nothing more will come of it. */
  isAlone: boolean
}

/**
 * The events that the person's notifications were made from. Events are gone through before notifications are: one whose id
 * names the person has its new one already.
 */
function* eventsOf(own: readonly Row[], person: Person): Script<OwnEvent[]> {
  const eraser = createEraser(searchOf(person))
  const both = (id: unknown): object => givenList([...new Set([String(id), eraser.id(String(id))])])
  const answers: OwnEvent[] = []
  const firsts = new Map(own.flatMap((row) => (row['event_id'] === null ? [] : [[row['event_id'], row] as const])))
  for (const { event_id: id, entity_type: entityType, entity_id: entityId } of firsts.values()) {
    const of = { tenantId: person.tenantId, ids: both(id), entityType, entityIds: both(entityId) }
    const [event] = yield* rows('select * from pillarbox.events where tenant_id = :tenantId and id in (:ids)', of)
    if (!event) continue
    const made = yield* rows(
      `select contact_id, recipient from pillarbox.notifications where tenant_id = :tenantId
          and entity_type = :entityType and entity_id in (:entityIds) and event_id in (:ids) limit ${MOST_OF_ONE + 1}`,
      of,
    )
    const open = yield* rows(
      `select 1 as one from pillarbox.schedules where tenant_id = :tenantId and event_id in (:ids)
        and status in ('pending', 'awaiting_approval') limit 1`,
      of,
    )
    const isOver = event['status'] !== 'pending' && open.length === 0 && made.length <= MOST_OF_ONE
    answers.push({ event, isAlone: isOver && made.every((row) => isTheirs(row, person) || isErased(row)) })
  }
  return answers
}

export async function eraseNotifications(
  { dialect, read, write }: ScriptRunner,
  stretch: PersonalStretch & { actor: string },
): Promise<ErasedStretch> {
  const { ids, all, next } = await read(() => candidates(stretch))
  if (all.length === 0) return { erased: {}, remains: {}, next }
  const { erased, remains } = await write(() => eraseAll(dialect, ids, all, stretch))
  return { erased, remains, next }
}

function* eraseAll(
  dialect: Dialect,
  ids: readonly string[],
  all: readonly string[],
  { person, actor }: PersonalStretch & { actor: string },
): Script<Omit<ErasedStretch, 'next'>> {
  const found = yield* rowsByKey(
    LEDGER,
    ids.map((id) => ({ id })),
    dialect,
  )
  const theirs = found.filter((row) => isTheirs(row, person))
  const sending = yield* stopOrLeave(dialect, theirs, actor)
  const own = theirs.filter(({ id }) => !sending.has(String(id)))
  const [ours, others] = [ownEraser(person), createEraser(searchOf(person))]
  const erased: Record<string, number> = {}
  const count = (table: string, many: number): void => {
    if (many > 0) erased[table] = (erased[table] ?? 0) + many
  }

  const ownIds = new Set(own.map(({ id }) => String(id)))
  for (const child of CHILDREN) {
    const rowsOfChild = yield* childRows(child, [...ownIds], all, person)
    const changes = rowsOfChild.flatMap((row) => {
      if (sending.has(String(row[child.of]))) return []
      const isOwn = ownIds.has(String(row[child.of]))
      const changed = isOwn ? erasedChild(child.table, row, ours, others) : erasedRow(child.table, row, others)
      return changed ? [{ row, changed }] : []
    })
    yield* writeChanges(child, changes)
    count(child.table, changes.length)
  }
  count('audit', yield* eraseWords(dialect, person.tenantId, [...ownIds]))
  count('events', yield* eraseEvents(yield* eventsOf(own, person), ours, others))
  const changes = found.flatMap((row) => {
    if (sending.has(String(row['id']))) return []
    const changed = ownIds.has(String(row['id']))
      ? erasedOwn(row, ours, others)
      : erasedRow('notifications', row, others)
    return changed ? [{ row, changed }] : []
  })
  yield* writeChanges(LEDGER, changes)
  count('notifications', changes.length)
  const gone = { g: givenIds([...ownIds]) }
  yield* rows('delete from pillarbox.sealed_contents where notification_id in (select g.id from :g)', gone)
  const messages = yield* rows(
    'delete from pillarbox.inbox_messages where id in (select g.id from :g) returning id',
    gone,
  )
  count('inbox_messages', messages.length)
  return { erased, remains: sending.size > 0 ? { being_sent: sending.size } : {} }
}

/** What waits is called off. What is being sent is left to its worker: the ids of those are answered. */
function* stopOrLeave(dialect: Dialect, theirs: readonly Row[], actor: string): Script<Set<string>> {
  const live = yield* rows(
    `select ${WAITING_COLUMNS}, d.token from :g join pillarbox.dispatch d on d.notification_id = g.id
      join pillarbox.notifications n on n.id = d.notification_id order by d.notification_id ${dialect.lock('d')}`,
    { g: givenIds(theirs.map(({ id }) => String(id))) },
  )
  const error = 'what was known of its recipient was erased'
  const stop = { to: 'cancelled', action: 'cancel', reason: 'erased', error, actor } as const
  yield* stopWaiting(
    dialect,
    live.filter(({ token }) => token === null),
    stop,
  )
  return new Set(live.filter(({ token }) => token !== null).map((row) => String(row['notification_id'])))
}

/** A vendor's answer about the person is theirs altogether. */
function erasedChild(table: string, row: Row, eraser: Eraser, ids: Eraser): Row | null {
  const changed: Row = { ...erasedRow(table, row, eraser, ids) }
  if (table === 'attempts')
    for (const name of ['answer', 'resolved_targets', 'refused']) if (row[name] !== null) changed[name] = null
  return Object.keys(changed).length > 0 ? changed : null
}

/** The row stays, with where it stands. Without content it is never sent again. Nothing else names its key. */
function erasedOwn(row: Row, eraser: Eraser, ids: Eraser): Row {
  const { recipient: _to, content: _content, ...changed } = erasedRow('notifications', row, eraser, ids) ?? {}
  return {
    ...changed,
    idempotency_key: eraser.id(String(row['idempotency_key'])),
    recipient: '{}',
    address: null,
    content: null,
    warnings: ERASED_WARNING,
    is_scrubbed: true,
    contact_id: null,
    conversation_id: null,
  }
}

/** Of an event that others were told of too, only what names the person goes. */
function* eraseEvents(found: readonly OwnEvent[], eraser: Eraser, ids: Eraser): Script<number> {
  const changes = found.flatMap(({ event, isAlone }) => {
    const changed = erasedRow('events', event, eraser, ids)
    if (!isAlone) return changed ? [{ row: event, changed }] : []
    return [{ row: event, changed: { ...changed, payload: '{"$erased":true}', recipients: null, conversation: null } }]
  })
  yield* writeChanges(EVENTS, changes)
  for (const { row, changed } of changes)
    if (changed['payload'] !== undefined)
      yield* rows('delete from pillarbox.sealed_payloads where tenant_id = :tenantId and event_id = :id', {
        tenantId: row['tenant_id'],
        id: row['id'],
      })
  return changes.length
}

import { createHash } from 'node:crypto'
import type { SuppressionStore } from '../../dispatch/suppression-store.ts'
import { addressIdentity } from '../../model/address.ts'
import { CHANNELS, type Channel } from '../../model/channel.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { Suppression, SuppressionCause } from '../../model/suppression.ts'
import { writeAudit } from './audit.ts'
import { decodeCursor, invalidCursor, pageOf } from './cursor.ts'
import { storableText, textOrNull, uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { type Dialect, instantOf, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

/** `dispatching` runs what provider calls wait for, so that nothing people do by hand gets in their way. */
export function sharedSuppressions(
  { dialect, read, write }: ScriptRunner,
  { dispatching }: { dispatching: ScriptRunner },
): SuppressionStore {
  return {
    insert: (suppression) => dispatching.write(() => insertSuppression(dialect, suppression)),
    any: (tenantId, channel) => dispatching.read(() => hasAny(tenantId, channel)),
    among: (tenantId, channel, addresses) =>
      addresses.length === 0
        ? Promise.resolve([])
        : dispatching.read(() => findAmong(dialect, { tenantId, channel, addresses })),
    find: (tenantId, id) => read(() => findSuppression(tenantId, id)),
    list: (tenantId, filter, page) => read(() => listSuppressions(tenantId, filter, page)),
    remove: (tenantId, id, actor) => write(() => removeSuppression(dialect, tenantId, id, actor)),
  }
}

const COLUMNS = 'id, tenant_id, channel, address, cause, error, notification_id, created_by, created_at'

function suppressionOf(found: Row): Suppression {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    channel: String(found['channel']) as Channel,
    address: String(found['address']),
    cause: String(found['cause']) as SuppressionCause,
    error: textOrNull(found['error']),
    notificationId: textOrNull(found['notification_id']),
    createdBy: String(found['created_by']),
    createdAt: instantOf(found['created_at']),
  }
}

/** What addresses are compared by: a device token or a URL may be longer than an index takes. */
function digestOf(identity: string): string {
  return createHash('sha256').update(storableText(identity)).digest('base64url')
}

function* insertSuppression(dialect: Dialect, given: Omit<Suppression, 'createdAt'>): Script<boolean> {
  const { id, tenantId, channel, cause, error, notificationId, createdBy } = given
  const address = storableText(addressIdentity(channel, given.address))
  const written = yield* row(
    `insert into pillarbox.suppressions (id, tenant_id, channel, address, digest, cause, error, notification_id,
        created_by, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${dialect.now})
      on conflict (tenant_id, channel, digest) do nothing returning id`,
    [
      id,
      tenantId,
      channel,
      address,
      digestOf(address),
      cause,
      error === null ? null : storableText(error),
      notificationId,
      createdBy,
    ],
  )
  if (!written) return false
  yield* writeAudit(dialect, {
    tenantId,
    actor: createdBy,
    action: 'suppress',
    subject: `suppression:${id}`,
    reason: cause,
  })
  return true
}

function* hasAny(tenantId: string, channel: Channel): Script<boolean> {
  const found = yield* row(
    'select 1 as found from pillarbox.suppressions where tenant_id = $1 and channel = $2 limit 1',
    [tenantId, channel],
  )
  return found !== null
}

function* findAmong(
  dialect: Dialect,
  { tenantId, channel, addresses }: { tenantId: string; channel: Channel; addresses: readonly string[] },
): Script<Suppression[]> {
  const { add, values } = parameters()
  const digests = new Set(addresses.map((address) => digestOf(addressIdentity(channel, address))))
  const given = dialect.table(
    'g',
    { given_digest: 'text' },
    [...digests].map((digest) => ({ given_digest: digest })),
    add,
  )
  const found = yield* rows(
    `select ${COLUMNS} from ${given} cross join pillarbox.suppressions s
      where s.tenant_id = ${add(tenantId)} and s.channel = ${add(channel)} and s.digest = g.given_digest`,
    values,
  )
  return found.map(suppressionOf)
}

function* findSuppression(tenantId: string, id: string): Script<Suppression | null> {
  const suppressionId = uuidOrNull(id)
  if (suppressionId === null) return null
  const found = yield* row(`select ${COLUMNS} from pillarbox.suppressions where tenant_id = $1 and id = $2`, [
    tenantId,
    suppressionId,
  ])
  return found && suppressionOf(found)
}

function* listSuppressions(
  tenantId: string,
  { channel, address }: { channel?: Channel; address?: string },
  page: Page,
): Script<PageOf<Suppression>> {
  const { add, values } = parameters()
  const where = [`tenant_id = ${add(tenantId)}`]
  if (address !== undefined) {
    // By each channel's own rule, and each channel by name: so that the index is of use.
    const isIt = (channel === undefined ? CHANNELS : [channel]).map(
      (each) => `channel = ${add(each)} and digest = ${add(digestOf(addressIdentity(each, address)))}`,
    )
    where.push(`(${isIt.join(' or ')})`)
  } else if (channel !== undefined) where.push(`channel = ${add(channel)}`)
  if (page.cursor !== undefined) {
    const after = uuidOrNull(decodeCursor(page.cursor, 1)[0] ?? '')
    if (after === null) throw invalidCursor()
    where.push(`id < ${add(after)}`)
  }
  const found = yield* rows(
    `select ${COLUMNS} from pillarbox.suppressions where ${where.join(' and ')}
      order by id desc limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(suppressionOf), page.limit, ({ id }) => [id])
}

function* removeSuppression(dialect: Dialect, tenantId: string, id: string, actor: string): Script<boolean> {
  const suppressionId = uuidOrNull(id)
  if (suppressionId === null) return false
  const removed = yield* row(
    'delete from pillarbox.suppressions where tenant_id = $1 and id = $2 returning id, cause',
    [tenantId, suppressionId],
  )
  if (!removed) return false
  const subject = `suppression:${suppressionId}`
  yield* writeAudit(dialect, { tenantId, actor, action: 'lift', subject, reason: String(removed['cause']) })
  return true
}

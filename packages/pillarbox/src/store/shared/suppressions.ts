import { createHash } from 'node:crypto'
import type { SuppressionFilter, SuppressionStore } from '../../dispatch/suppression-store.ts'
import { addressIdentity } from '../../model/address.ts'
import { CHANNELS, type Channel } from '../../model/channel.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { Suppression } from '../../model/suppression.ts'
import { writeAudit } from './audit.ts'
import { pictureOfSuppression } from './audit-pictures.ts'
import { storableText } from './fields.ts'
import { findBy, newestFirst, nounOf, removeBy } from './noun.ts'
import { type Dialect, givenRows, row, rows, type Script, type ScriptRunner } from './script.ts'

const SUPPRESSIONS = nounOf<Suppression>('suppressions', {
  id: 'uuid',
  tenantId: 'text',
  channel: 'text',
  address: 'text',
  cause: 'text',
  error: 'text',
  notificationId: 'uuid',
  createdBy: 'text',
  createdAt: 'instant',
})

/** `dispatching` runs what provider calls wait for, so that nothing people do by hand gets in their way. */
export function sharedSuppressions(
  { dialect, read, write }: ScriptRunner,
  { dispatching }: { dispatching: ScriptRunner },
): SuppressionStore {
  return {
    insert: (suppression) => dispatching.write(() => insertSuppression(dialect, suppression)),
    any: (tenantId, channel) => dispatching.read(() => hasAny(tenantId, channel)),
    among: async (tenantId, channel, addresses) =>
      addresses.length === 0 ? [] : dispatching.read(() => findAmong({ tenantId, channel, addresses })),
    find: (tenantId, id) => read(() => findBy(SUPPRESSIONS, { tenantId, id })),
    list: (tenantId, filter, page) => read(() => listSuppressions(tenantId, filter, page)),
    remove: (tenantId, id, actor, note = null) =>
      write(() => removeSuppression(dialect, { tenantId, id }, { actor, note })),
  }
}

/** What addresses are compared by: a device token or a URL may be longer than an index takes. */
export function digestOf(channel: Channel, address: string): string {
  return createHash('sha256')
    .update(storableText(addressIdentity(channel, address)))
    .digest('base64url')
}

function* insertSuppression(dialect: Dialect, given: Omit<Suppression, 'createdAt'>): Script<boolean> {
  const { id, tenantId, channel, cause, error, createdBy } = given
  const written = yield* row(
    `insert into pillarbox.suppressions (id, tenant_id, channel, address, digest, cause, error, notification_id,
        created_by, created_at)
      values (:id, :tenantId, :channel, :address, :digest, :cause, :error, :notificationId, :createdBy, ${dialect.now})
      on conflict (tenant_id, channel, digest) do nothing returning id`,
    {
      ...given,
      address: storableText(addressIdentity(channel, given.address)),
      digest: digestOf(channel, given.address),
      error: error === null ? null : storableText(error),
    },
  )
  if (!written) return false
  const subject = `suppression:${id}`
  const after = pictureOfSuppression(given)
  yield* writeAudit(dialect, { tenantId, actor: createdBy, action: 'suppress', subject, reason: cause, after })
  return true
}

function* hasAny(tenantId: string, channel: Channel): Script<boolean> {
  const found = yield* row(
    'select 1 as found from pillarbox.suppressions where tenant_id = :tenantId and channel = :channel limit 1',
    { tenantId, channel },
  )
  return found !== null
}

function* findAmong(wanted: {
  tenantId: string
  channel: Channel
  addresses: readonly string[]
}): Script<Suppression[]> {
  const digests = new Set(wanted.addresses.map((address) => digestOf(wanted.channel, address)))
  const g = givenRows(
    { digest: 'text' },
    [...digests].map((digest) => ({ digest })),
  )
  const found = yield* rows(
    `select ${SUPPRESSIONS.columnsOf('s')} from :g cross join pillarbox.suppressions s
      where s.tenant_id = :tenantId and s.channel = :channel and s.digest = g.digest`,
    { ...wanted, g },
  )
  return found.map(SUPPRESSIONS.of)
}

function* listSuppressions(
  tenantId: string,
  { channel, address, sealedToken }: SuppressionFilter,
  page: Page,
): Script<PageOf<Suppression>> {
  const where = ['tenant_id = :tenantId']
  const values: Record<string, string> = { tenantId }
  if (address !== undefined) {
    // By each channel's own rule, and each channel by name: so that the index is of use.
    const channels = channel === undefined ? CHANNELS : [channel]
    where.push(`(${channels.map((each) => `channel = :${each}Name and digest = :${each}`).join(' or ')})`)
    for (const each of channels) {
      const kept = each === 'push' ? (sealedToken ?? address) : address
      Object.assign(values, { [`${each}Name`]: each, [each]: digestOf(each, kept) })
    }
  } else if (channel !== undefined) {
    where.push('channel = :channel')
    values['channel'] = channel
  }
  return yield* newestFirst(SUPPRESSIONS, where, values, page)
}

function* removeSuppression(
  dialect: Dialect,
  { tenantId, id }: { tenantId: string; id: string },
  by: { actor: string; note: string | null },
): Script<boolean> {
  const removed = yield* removeBy(SUPPRESSIONS, { tenantId, id })
  if (!removed) return false
  const subject = `suppression:${removed.id}`
  const before = pictureOfSuppression(removed)
  yield* writeAudit(dialect, { tenantId, ...by, action: 'lift', subject, reason: removed.cause, before })
  return true
}

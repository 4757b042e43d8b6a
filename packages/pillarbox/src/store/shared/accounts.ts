import type { AccountStatus, Pace, StoredAccount } from '../../model/account.ts'
import { DEFAULT_BREAKER } from '../../model/account.ts'
import type { Channel } from '../../model/channel.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { AccountStore } from '../../tenant/account-store.ts'
import { writeAudit } from './audit.ts'
import { isUniqueViolation, jsonText, textOrNull, uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import {
  type Dialect,
  instantOf,
  jsonOf,
  jsonOrNull,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

export function sharedAccounts({ dialect, read, write }: ScriptRunner): AccountStore {
  return {
    insert: (account) => write(() => insertAccount(dialect, account)),
    find: (tenantId, id) => read(() => findAccount(tenantId, id)),
    list: (tenantId, channel) => read(() => listAccounts(tenantId, channel)),
    listOfProviders: (providers) => read(() => listOfProviders(providers)),
    update: (tenantId, id, changes, from) =>
      write(() => updateAccount(dialect, { tenantId, id, changes, from })).catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw new PillarboxError('already_exists', 'Another account of this channel has that name', { cause: error })
      }),
    setStatus: (id, status, reason, actor, from) =>
      write(() => setStatus(dialect, { id, status, reason, actor }, from)),
    remove: (tenantId, id) => write(() => removeAccount(dialect, tenantId, id)),
  }
}

/** The retry policy is whatever JSON was given, perhaps a mere string: as text, it is parsed exactly once. */
const COLUMNS = `id, tenant_id, channel, provider, name, settings, sealed_secrets, secret_names, pace,
  cast(retry as text) as retry, on_unknown, breaker, priority, status, status_reason, created_at, updated_at`

function accountOf(found: Row): StoredAccount {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    channel: String(found['channel']) as Channel,
    provider: String(found['provider']),
    name: String(found['name']),
    settings: jsonOf<Record<string, unknown>>(found['settings']),
    sealedSecrets: textOrNull(found['sealed_secrets']),
    secretNames: jsonOf<string[]>(found['secret_names']),
    pace: jsonOrNull<Pace>(found['pace']),
    retry: jsonOrNull<unknown>(found['retry']),
    onUnknown: String(found['on_unknown']) as StoredAccount['onUnknown'],
    breaker: jsonOrNull<StoredAccount['breaker']>(found['breaker']) ?? { ...DEFAULT_BREAKER },
    priority: Number(found['priority']),
    status: String(found['status']) as AccountStatus,
    statusReason: textOrNull(found['status_reason']),
    createdAt: instantOf(found['created_at']),
    updatedAt: instantOf(found['updated_at']),
  }
}

/** The account and its lane. False when the id, or the name on that channel, is taken. */
function* insertAccount(dialect: Dialect, account: Omit<StoredAccount, 'createdAt' | 'updatedAt'>): Script<boolean> {
  const written = yield* row(
    `insert into pillarbox.accounts (id, tenant_id, channel, provider, name, settings, sealed_secrets, secret_names, pace,
        retry, on_unknown, breaker, priority, status, status_reason, created_at, updated_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, ${dialect.now}, ${dialect.now})
      on conflict do nothing returning id`,
    [
      account.id,
      account.tenantId,
      account.channel,
      account.provider,
      account.name,
      JSON.stringify(account.settings),
      account.sealedSecrets,
      JSON.stringify(account.secretNames),
      jsonText(account.pace),
      jsonText(account.retry),
      account.onUnknown,
      JSON.stringify(account.breaker),
      account.priority,
      account.status,
      account.statusReason,
    ],
  )
  if (!written) return false
  yield { text: 'insert into pillarbox.lanes (account_id) values ($1)', values: [account.id] }
  return true
}

function* findAccount(tenantId: string | null, id: string): Script<StoredAccount | null> {
  const accountId = uuidOrNull(id)
  if (accountId === null) return null
  const found = yield* row(
    `select ${COLUMNS} from pillarbox.accounts where id = $1 and removed_at is null ${tenantId === null ? '' : 'and tenant_id = $2'}`,
    tenantId === null ? [accountId] : [accountId, tenantId],
  )
  return found && accountOf(found)
}

function* listAccounts(tenantId: string, channel: Channel | undefined): Script<StoredAccount[]> {
  const found = yield* rows(
    `select ${COLUMNS} from pillarbox.accounts where tenant_id = $1 and removed_at is null ${channel === undefined ? '' : 'and channel = $2'}
      order by priority, created_at, id`,
    channel === undefined ? [tenantId] : [tenantId, channel],
  )
  return found.map(accountOf)
}

function* listOfProviders(providers: readonly string[]): Script<StoredAccount[]> {
  const { add, values } = parameters()
  const found = yield* rows(
    `select ${COLUMNS} from pillarbox.accounts where provider in (${providers.map(add).join(', ')}) and removed_at is null
      order by created_at, id`,
    values,
  )
  return found.map(accountOf)
}

type AccountChanges = Parameters<AccountStore['update']>[2]

interface AccountUpdate {
  tenantId: string
  id: string
  changes: AccountChanges
  from: Pick<StoredAccount, 'sealedSecrets'> | undefined
}

/** A new status goes the way of `setStatus`, by `system`, so that it is audited like every other. */
function* updateAccount(
  dialect: Dialect,
  { tenantId, id, changes, from }: AccountUpdate,
): Script<StoredAccount | null> {
  const accountId = uuidOrNull(id)
  if (accountId === null) return null
  const { add, values } = parameters()
  const set = [`updated_at = ${dialect.now}`]
  if (changes.channel !== undefined) set.push(`channel = ${add(changes.channel)}`)
  if (changes.provider !== undefined) set.push(`provider = ${add(changes.provider)}`)
  if (changes.name !== undefined) set.push(`name = ${add(changes.name)}`)
  if (changes.settings !== undefined) set.push(`settings = ${add(JSON.stringify(changes.settings))}`)
  if (changes.sealedSecrets !== undefined) set.push(`sealed_secrets = ${add(changes.sealedSecrets)}`)
  if (changes.secretNames !== undefined) set.push(`secret_names = ${add(JSON.stringify(changes.secretNames))}`)
  if (changes.pace !== undefined) set.push(`pace = ${add(jsonText(changes.pace))}`)
  if (changes.retry !== undefined) set.push(`retry = ${add(jsonText(changes.retry))}`)
  if (changes.onUnknown !== undefined) set.push(`on_unknown = ${add(changes.onUnknown)}`)
  if (changes.breaker !== undefined) set.push(`breaker = ${add(JSON.stringify(changes.breaker))}`)
  if (changes.priority !== undefined) set.push(`priority = ${add(changes.priority)}`)
  if (changes.statusReason !== undefined) set.push(`status_reason = ${add(changes.statusReason)}`)
  const changed = yield* row(
    `update pillarbox.accounts set ${set.join(', ')} where id = ${add(accountId)} and tenant_id = ${add(tenantId)}
      and removed_at is null ${from === undefined ? '' : `and coalesce(sealed_secrets, '') = ${add(from.sealedSecrets ?? '')}`}
      returning status_reason`,
    values,
  )
  if (!changed) return null
  if (changes.status !== undefined) {
    const reason = textOrNull(changed['status_reason'])
    yield* setStatus(dialect, { id: accountId, status: changes.status, reason, actor: 'system' }, undefined)
  }
  return yield* findAccount(tenantId, accountId)
}

const STATUS_VERBS = { active: 'activate', suspended: 'suspend', paused: 'pause' } as const satisfies Record<
  AccountStatus,
  string
>

function* setStatus(
  dialect: Dialect,
  change: { id: string; status: AccountStatus; reason: string | null; actor: string },
  from: readonly AccountStatus[] | undefined,
): Script<boolean> {
  const id = uuidOrNull(change.id)
  if (id === null) return false
  // Changes nothing, but locks the row, so that the status read here is the one that is moved from.
  const account = yield* row(
    'update pillarbox.accounts set status = status where id = $1 and removed_at is null returning tenant_id, status',
    [id],
  )
  if (!account) return false
  const current = String(account['status']) as AccountStatus
  if (current === change.status || (from && !from.includes(current))) return false
  yield {
    text: `update pillarbox.accounts set status = $2, status_reason = $3, updated_at = ${dialect.now} where id = $1`,
    values: [id, change.status, change.reason],
  }
  if (change.status === 'active')
    // Mended by hand: whoever held the lane knew less. A breaker stays open, so the first call is a probe.
    yield {
      text: `update pillarbox.lanes set hold_until = null, hold_reason = null,
        breaker = case when breaker = 'half_open' then 'open' else breaker end where account_id = $1`,
      values: [id],
    }
  yield* writeAudit(dialect, {
    tenantId: String(account['tenant_id']),
    actor: change.actor,
    action: STATUS_VERBS[change.status],
    subject: `account:${id}`,
    from: current,
    to: change.status,
    reason: change.reason,
  })
  return true
}

/**
 * The row stays, nameless and out of sight: a notification queued on it at the same moment must still be found by
 * dispatch, which then parks it because its account is gone.
 */
function* removeAccount(dialect: Dialect, tenantId: string, id: string): Script<boolean> {
  const accountId = uuidOrNull(id)
  if (accountId === null) return false
  const removed = yield* row(
    `update pillarbox.accounts set removed_at = ${dialect.now}, name = cast(id as text), sealed_secrets = null,
        secret_names = '[]'
      where id = $1 and tenant_id = $2 and removed_at is null returning id`,
    [accountId, tenantId],
  )
  if (!removed) return false
  // Looked at last, so that it sees all that was committed before the row was locked; thrown, so that the removal is
  // undone with the rest of the transaction.
  const waiting = yield* row('select notification_id from pillarbox.dispatch where lane_id = $1 limit 1', [accountId])
  if (waiting)
    throw new PillarboxError('already_exists', 'Notifications still wait on this account: let them finish or stop them')
  return true
}

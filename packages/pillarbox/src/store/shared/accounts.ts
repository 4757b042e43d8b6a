import type { AccountStatus, StoredAccount } from '../../model/account.ts'
import { DEFAULT_BREAKER } from '../../model/account.ts'
import { SYSTEM } from '../../model/audit.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { AccountStore } from '../../tenant/account-store.ts'
import { writeAudit } from './audit.ts'
import { changeOfAccount, pictureOfAccount } from './audit-pictures.ts'
import { isUniqueViolation, jsonText } from './fields.ts'
import { findBy, listBy, nounOf } from './noun.ts'
import { type Dialect, givenList, row, rows, type Script, type ScriptRunner } from './script.ts'

const COLUMNS_OF_ACCOUNTS = nounOf<StoredAccount>('accounts', {
  id: 'uuid',
  tenantId: 'text',
  channel: 'text',
  provider: 'text',
  name: 'text',
  settings: 'json',
  sealedSecrets: 'text',
  secretNames: 'json',
  pace: 'json',
  retry: 'json',
  parkedRetryAfterMs: 'number',
  onUnknown: 'text',
  breaker: 'json',
  priority: 'number',
  status: 'text',
  statusReason: 'text',
  createdAt: 'instant',
  updatedAt: 'instant',
})

const ACCOUNTS: typeof COLUMNS_OF_ACCOUNTS = {
  ...COLUMNS_OF_ACCOUNTS,
  of: (found) => {
    const account = COLUMNS_OF_ACCOUNTS.of(found)
    return { ...account, breaker: account.breaker ?? { ...DEFAULT_BREAKER } }
  },
}

/**
 * The row of an account that was removed stays, nameless and out of sight: a notification queued on it at the same moment
 * must still be found by dispatch, which then parks it because its account is gone.
 */
const IS_THERE = { and: 'removed_at is null' }

export function sharedAccounts({ dialect, read, write }: ScriptRunner): AccountStore {
  return {
    insert: (account, actor = SYSTEM) => write(() => insertAccount(dialect, account, actor)),
    find: (tenantId, id) => read(() => findAccount(tenantId, id)),
    list: (tenantId, channel) =>
      read(() => listBy(ACCOUNTS, { tenantId, channel }, 'priority, created_at, id', IS_THERE)),
    listOfProviders: (providers) => read(() => listOfProviders(providers)),
    update: (tenantId, id, changes, { from, actor = SYSTEM } = {}) =>
      write(() => updateAccount(dialect, { tenantId, id, changes, from, actor })).catch((error: unknown) => {
        if (!isUniqueViolation(error)) throw error
        throw new PillarboxError('already_exists', 'Another account of this channel has that name', { cause: error })
      }),
    setStatus: (id, status, reason, actor, from) =>
      write(() => setStatus(dialect, { id, status, reason, actor }, from)),
    remove: (tenantId, id, actor = SYSTEM) => write(() => removeAccount(dialect, tenantId, id, actor)),
  }
}

/** The account and its lane. False when the id, or the name on that channel, is taken. */
function* insertAccount(
  dialect: Dialect,
  account: Omit<StoredAccount, 'createdAt' | 'updatedAt'>,
  actor: string,
): Script<boolean> {
  const written = yield* row(
    `insert into pillarbox.accounts (id, tenant_id, channel, provider, name, settings, sealed_secrets, secret_names, pace,
        retry, parked_retry_after_ms, on_unknown, breaker, priority, status, status_reason, created_at, updated_at)
      values (:id, :tenantId, :channel, :provider, :name, :settings, :sealedSecrets, :secretNames, :pace, :retry,
        :parkedRetryAfterMs, :onUnknown, :breaker, :priority, :status, :statusReason, ${dialect.now}, ${dialect.now})
      on conflict do nothing returning id`,
    { ...valuesOf(account), parkedRetryAfterMs: account.parkedRetryAfterMs ?? null },
  )
  if (!written) return false
  yield* rows('insert into pillarbox.lanes (account_id) values (:id)', account)
  const { tenantId, id } = account
  const after = pictureOfAccount(account)
  yield* writeAudit(dialect, { tenantId, actor, action: 'create', subject: `account:${id}`, after })
  return true
}

/** The retry policy is whatever JSON was given, perhaps a mere string. */
function valuesOf<T extends { retry?: unknown }>(account: T): T {
  return account.retry === undefined ? account : { ...account, retry: jsonText(account.retry) }
}

function findAccount(tenantId: string | null, id: string): Script<StoredAccount | null> {
  return findBy(ACCOUNTS, tenantId === null ? { id } : { tenantId, id }, IS_THERE)
}

function* listOfProviders(providers: readonly string[]): Script<StoredAccount[]> {
  const found = yield* rows(
    `select ${ACCOUNTS.columns} from pillarbox.accounts where provider in (:providers) and removed_at is null
      order by created_at, id`,
    { providers: givenList(providers) },
  )
  return found.map(ACCOUNTS.of)
}

interface AccountUpdate {
  tenantId: string
  id: string
  changes: Parameters<AccountStore['update']>[2]
  from: Pick<StoredAccount, 'sealedSecrets'> | undefined
  actor: string
}

/** A new status goes the way of `setStatus`, so that it is audited like every other. */
function* updateAccount(
  dialect: Dialect,
  { tenantId, id, changes, from, actor }: AccountUpdate,
): Script<StoredAccount | null> {
  const current = yield* findBy(ACCOUNTS, { tenantId, id }, { ...IS_THERE, lockedBy: dialect })
  if (!current || (from && current.sealedSecrets !== from.sealedSecrets)) return null
  const { status, ...others } = changes
  const changed = yield* row(
    `update pillarbox.accounts set ${[...ACCOUNTS.assignments(others), `updated_at = ${dialect.now}`].join(', ')}
      where id = :id returning ${ACCOUNTS.columns}`,
    { ...valuesOf(others), id: current.id },
  )
  if (!changed) return null
  const account = ACCOUNTS.of(changed)
  const change = changeOfAccount(current, account)
  if (Object.keys(change.after ?? {}).length > 0)
    yield* writeAudit(dialect, { tenantId, actor, action: 'update', subject: `account:${account.id}`, ...change })
  if (status === undefined) return account
  const { statusReason: reason } = account
  yield* setStatus(dialect, { id: account.id, status, reason, actor }, undefined)
  return yield* findAccount(tenantId, account.id)
}

const STATUS_VERBS = { active: 'activate', suspended: 'suspend', paused: 'pause' } as const satisfies Record<
  AccountStatus,
  string
>

function* setStatus(
  dialect: Dialect,
  { id, status, reason, actor }: { id: string; status: AccountStatus; reason: string | null; actor: string },
  from: readonly AccountStatus[] | undefined,
): Script<boolean> {
  const account = yield* findBy(ACCOUNTS, { id }, { ...IS_THERE, lockedBy: dialect })
  if (!account || account.status === status || (from && !from.includes(account.status))) return false
  yield* rows(
    `update pillarbox.accounts set status = :status, status_reason = :reason, updated_at = ${dialect.now} where id = :id`,
    { id: account.id, status, reason },
  )
  // An operator has mended the account, so the hold that a worker put on its lane ends. An open breaker stays open: the
  // first call is a probe.
  if (status === 'active')
    yield* rows(
      `update pillarbox.lanes set hold_until = null, hold_reason = null,
        breaker = case when breaker = 'half_open' then 'open' else breaker end where account_id = :id`,
      account,
    )
  yield* writeAudit(dialect, {
    tenantId: account.tenantId,
    actor,
    action: STATUS_VERBS[status],
    subject: `account:${account.id}`,
    from: account.status,
    to: status,
    reason,
  })
  return true
}

function* removeAccount(dialect: Dialect, tenantId: string, id: string, actor: string): Script<boolean> {
  const account = yield* findBy(ACCOUNTS, { tenantId, id }, { ...IS_THERE, lockedBy: dialect })
  if (!account) return false
  yield* rows(
    `update pillarbox.accounts set removed_at = ${dialect.now}, name = cast(id as text), sealed_secrets = null,
        secret_names = '[]' where id = :id`,
    account,
  )
  // Looked at last, so that it sees all that was committed before the row was locked; thrown, so that the removal is
  // undone with the rest of the transaction.
  const waiting = yield* row('select notification_id from pillarbox.dispatch where lane_id = :id limit 1', account)
  if (waiting)
    throw new PillarboxError('already_exists', 'Notifications still wait on this account: let them finish or stop them')
  const before = pictureOfAccount(account)
  yield* writeAudit(dialect, { tenantId, actor, action: 'remove', subject: `account:${account.id}`, before })
  return true
}

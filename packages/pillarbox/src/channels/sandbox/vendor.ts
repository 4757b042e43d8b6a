import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { ProviderTemplate } from '../../model/catalogue.ts'
import type { Channel } from '../../model/channel.ts'
import type { Clock } from '../../model/ports.ts'
import { addressOf } from '../../model/recipient.ts'
import type { ProviderContent, SendRequest, Target } from '../channel.ts'

/** What a provider hands to the pretend vendor. */
export interface Submission
  extends Pick<SendRequest, 'channel' | 'key' | 'notificationId' | 'attempt' | 'to' | 'correlationId'>,
    Pick<ProviderContent, 'subject' | 'body' | 'data'> {
  tenantId: string
  accountId: string
  providerTemplate: ProviderTemplate | null
}

/** A message the vendor accepted, as its recipient sees it. */
export interface SandboxMessage extends Submission {
  /** The vendor's name for it: `sbx-` and its row number. */
  id: string
  acceptedAt: number
  /** The first message with this account and key, where the account does not honour keys. */
  duplicateOf: string | null
}

export type Reply =
  /** `isRepeat`: the key was known and honoured; nothing new was recorded. */
  { kind: 'accepted'; id: string; isRepeat: boolean } | { kind: 'limited'; retryAfterMs: number }

export interface Terms {
  honoursKeys: boolean
  /** At most so many accepted in any second; null: no limit. */
  perSecond: number | null
}

export interface MessageFilter {
  /** Null: every tenant's. */
  tenantId: string | null
  channel?: Channel
  /** The address, in whatever letter case: of the recipient, of one among those a list stood for, or the list's name. */
  to?: string
  /** What `to` is sealed to, should it be a device token. */
  sealedToken?: string
  key?: string
  notificationId?: string
}

/**
 * A pretend vendor with a memory of its own. It stands in one SQLite file that any number of processes on a machine may
 * share and that does not depend on the engine's database, so that what it accepted can be held against what the engine
 * believes.
 */
export interface SandboxVendor {
  /**
   * Takes a message. Whatever it answers is already durable against the end of the process. Rejects with
   * `VendorUnavailable` when the file cannot be written.
   */
  accept(submission: Submission, terms: Terms): Promise<Reply>
  /** The id of the first message accepted with this key, or null. */
  lookup(accountId: string, key: string): string | null
  /** Counts one use of a fault; false once it was used `times` times. */
  takeFault(accountId: string, rule: string, times: number): boolean
  /** All faults of the account count from zero again. */
  resetFaults(accountId: string): void
  /** Newest first; `before` is the last id of the previous page. */
  list(filter: MessageFilter & { limit: number; before?: string }): SandboxMessage[]
  count(filter: MessageFilter): number
  get(tenantId: string | null, id: string): SandboxMessage | null
  /**
   * Empties a tenant's inbox and answers how many messages went. Their words and addresses are erased; their keys stay
   * known, so that a retry of a cleared message is still a repeat.
   */
  clear(tenantId: string): number
  /** Seals the device tokens of a file that was written before they were sealed, once. Answers how many it found. */
  sealTokens(seal: (tenantId: string, token: string) => string): number
  /**
   * Removes at most `limit` messages that were accepted before an instant, with their keys, and answers how many; with
   * `isDryRun`, how many it would.
   */
  purge(request: { tenantId: string; before: number; limit: number; isDryRun: boolean }): number
  /** The next messages of a tenant behind `after`, oldest first, cleared ones left out; device tokens as they are kept. */
  walk(tenantId: string, after: number, limit: number): { row: number; message: SandboxMessage }[]
  /** Puts other words and another recipient into a message; null: clears it, as `clear` does. */
  replace(
    row: number,
    message: Pick<SandboxMessage, 'to' | 'subject' | 'body' | 'data' | 'correlationId' | 'key'> | null,
  ): void
  /** Leaves nothing of what was replaced in the file's free space. */
  compact(): void
  close(): void
}

/** `mayBeRecorded` is false when the messages are known not to have been taken. */
export class VendorUnavailable extends Error {
  override readonly name = 'VendorUnavailable'
  readonly mayBeRecorded: boolean

  constructor(mayBeRecorded: boolean, cause: unknown) {
    super(`the sandbox file cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.mayBeRecorded = mayBeRecorded
  }
}

/** The version of the file's tables, in its `user_version`. */
export const SANDBOX_SCHEMA_VERSION = 3
/** A file that may hold device tokens in clear; it is the latest version once they are sealed. */
const UNSEALED_VERSION = 2
const WINDOW_MS = 1_000

// `accepted` holds only the last second of accounts with a limit, so that counting stays cheap and clearing the inbox
// does not reset a limit.
const SCHEMA = `
  create table message (
    id integer primary key autoincrement,
    tenant_id text not null,
    account_id text not null,
    channel text not null,
    key text not null,
    notification_id text not null,
    attempt integer not null,
    address text not null collate nocase,
    recipient text not null,
    subject text,
    body text not null,
    data text not null,
    correlation_id text,
    accepted_at integer not null,
    duplicate_of integer,
    cleared integer not null default 0,
    provider_template text
  ) strict;
  create index message_by_key on message (account_id, key, id);
  create index message_by_tenant on message (tenant_id, id) where cleared = 0;
  create table accepted (account_id text not null, at integer not null) strict;
  create index accepted_by_account on accepted (account_id, at);
  create table fault (account_id text not null, rule text not null, used integer not null, primary key (account_id, rule)) strict, without rowid;
  pragma user_version = ${SANDBOX_SCHEMA_VERSION};`

/** From each earlier version to the next. */
const UPGRADES: Record<number, string> = {
  1: `alter table message add column provider_template text; pragma user_version = ${UNSEALED_VERSION}`,
}

export interface VendorDeps {
  path: string
  clock: Clock
  /** How long to wait, holding the process up, while another process writes. Default: 2000. */
  busyTimeoutMs?: number
}

/** Opens the vendor's file, making it if need be; `:memory:` gives one that is gone when it is closed. */
export function createSandboxVendor({ path, clock, busyTimeoutMs = 2_000 }: VendorDeps): SandboxVendor {
  const db = open(path, busyTimeoutMs)
  const sql = {
    begin: db.prepare('begin immediate'),
    commit: db.prepare('commit'),
    rollback: db.prepare('rollback'),
    first: db.prepare('select id from message where account_id = ? and key = ? order by id limit 1'),
    insert: db.prepare(
      `insert into message (tenant_id, account_id, channel, key, notification_id, attempt, address, recipient, subject,
         body, data, correlation_id, accepted_at, duplicate_of, provider_template)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    // A time far ahead was written before the clock was set back; counting it would block the account until then.
    forget: db.prepare('delete from accepted where account_id = ? and (at <= ? or at > ?)'),
    window: db.prepare('select count(*) as count, min(at) as oldest from accepted where account_id = ?'),
    remember: db.prepare('insert into accepted (account_id, at) values (?, ?)'),
    useFault: db.prepare(
      `insert into fault (account_id, rule, used) values (?, ?, 1)
       on conflict do update set used = used + 1 where used < ? returning used`,
    ),
    resetFaults: db.prepare('delete from fault where account_id = ?'),
    clear: db.prepare(
      `update message set cleared = 1, address = '', recipient = '{}', subject = null, body = '', data = '{}',
         provider_template = null
       where tenant_id = ? and cleared = 0`,
    ),
    clearOne: db.prepare(
      `update message set cleared = 1, address = '', recipient = '{}', subject = null, body = '', data = '{}',
         provider_template = null, correlation_id = null where id = ?`,
    ),
    walk: db.prepare('select * from message where tenant_id = ? and id > ? and cleared = 0 order by id limit ?'),
    replace: db.prepare(
      `update message set address = ?, recipient = ?, subject = ?, body = ?, data = ?, correlation_id = ?, key = ?,
         provider_template = null where id = ?`,
    ),
    countOld: db.prepare('select count(*) as count from message where tenant_id = ? and accepted_at < ?'),
    removeOld: db.prepare(
      'delete from message where id in (select id from message where tenant_id = ? and accepted_at < ? order by id limit ?)',
    ),
  }
  let waiting: PendingSubmission[] = []

  /** Everything that came in during one turn shares a transaction: the file is locked once for all of it. */
  function flush(): void {
    const jobs = waiting
    waiting = []
    let isCommitting = false
    try {
      sql.begin.run()
      const now = Math.round(clock.now())
      const replies = jobs.map((job) => take(job, now))
      isCommitting = true
      sql.commit.run()
      for (const [index, job] of jobs.entries()) job.resolve(replies[index] as Reply)
    } catch (cause) {
      if (db.isOpen && db.isTransaction) sql.rollback.run()
      const error = new VendorUnavailable(isCommitting, cause)
      for (const job of jobs) job.reject(error)
    }
  }

  function take({ submission: s, terms, recipient, data, providerTemplate }: PendingSubmission, now: number): Reply {
    const first = sql.first.get(s.accountId, s.key)?.['id'] ?? null
    if (first !== null && terms.honoursKeys) return { kind: 'accepted', id: messageId(first), isRepeat: true }
    if (terms.perSecond !== null) {
      sql.forget.run(s.accountId, now - WINDOW_MS, now + WINDOW_MS)
      // Whoever wrote last saw every row of the window, however the processes' clocks were read: the count is exact.
      const { count, oldest } = sql.window.get(s.accountId) ?? {}
      if (Number(count) >= terms.perSecond)
        return { kind: 'limited', retryAfterMs: Math.max(1, Number(oldest) + WINDOW_MS - now) }
      sql.remember.run(s.accountId, now)
    }
    const address = addressOf(s.channel, s.to) ?? s.to.list ?? ''
    const { tenantId, accountId, channel, key, notificationId, attempt, subject, body, correlationId } = s
    const named = [tenantId, accountId, channel, key, notificationId, attempt, address, recipient]
    const { lastInsertRowid } = sql.insert.run(
      ...named,
      subject,
      body,
      data,
      correlationId,
      now,
      first,
      providerTemplate,
    )
    return { kind: 'accepted', id: messageId(lastInsertRowid), isRepeat: false }
  }

  return {
    accept(submission, terms) {
      return new Promise((resolve, reject) => {
        // Turned into text here, so that one message that cannot be does not take the others of its turn with it.
        const recipient = JSON.stringify(submission.to)
        const data = JSON.stringify(submission.data)
        const providerTemplate = submission.providerTemplate && JSON.stringify(submission.providerTemplate)
        waiting.push({ submission, terms, recipient, data, providerTemplate, resolve, reject })
        if (waiting.length === 1) queueMicrotask(flush)
      })
    },
    lookup(accountId, key) {
      const id = sql.first.get(accountId, key)?.['id']
      return id === undefined ? null : messageId(id)
    },
    takeFault: (accountId, rule, times) => sql.useFault.get(accountId, rule, times) !== undefined,
    resetFaults: (accountId) => void sql.resetFaults.run(accountId),
    list({ limit, before, ...filter }) {
      const { where, values } = conditions(filter)
      const until = before === undefined ? Number.MAX_SAFE_INTEGER : (rowNumber(before) ?? 0)
      return db
        .prepare(`select * from message where ${where} and id < ? order by id desc limit ?`)
        .all(...values, until, limit)
        .map(messageOf)
    },
    count(filter) {
      const { where, values } = conditions(filter)
      return Number(db.prepare(`select count(*) as count from message where ${where}`).get(...values)?.['count'])
    },
    get(tenantId, id) {
      const row = rowNumber(id)
      if (row === null) return null
      const { where, values } = conditions({ tenantId })
      const found = db.prepare(`select * from message where ${where} and id = ?`).get(...values, row)
      return found ? messageOf(found) : null
    },
    clear: (tenantId) => Number(sql.clear.run(tenantId).changes),
    sealTokens(seal) {
      let sealed = 0
      let after = 0
      while (versionOf(db) === UNSEALED_VERSION) {
        sql.begin.run()
        try {
          const ids = sealMessages(db, after, seal)
          sealed += ids.length
          after = ids.at(-1) ?? after
          if (ids.length === 0) db.exec(`pragma user_version = ${SANDBOX_SCHEMA_VERSION}`)
          sql.commit.run()
        } catch (error) {
          if (db.isTransaction) sql.rollback.run()
          throw error
        }
      }
      return sealed
    },
    purge: ({ tenantId, before, limit, isDryRun }) =>
      isDryRun
        ? Math.min(limit, Number(sql.countOld.get(tenantId, before)?.['count']))
        : Number(sql.removeOld.run(tenantId, before, limit).changes),
    walk: (tenantId, after, limit) =>
      sql.walk.all(tenantId, after, limit).map((row) => ({ row: Number(row['id']), message: messageOf(row) })),
    replace(row, message) {
      if (message === null) return void sql.clearOne.run(row)
      const { to, subject, body, data, correlationId, key } = message
      const texts = [JSON.stringify(to), subject, body, JSON.stringify(data), correlationId, key]
      sql.replace.run(to.list ?? '', ...texts, row)
    },
    compact() {
      db.exec('vacuum')
      db.exec('pragma wal_checkpoint(truncate)')
    },
    close() {
      if (waiting.length) flush()
      db.close()
    },
  }
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('pragma user_version').get()?.['user_version'])
}

/** Seals the tokens of the next messages that hold one in clear; answers which they were. */
function sealMessages(db: DatabaseSync, after: number, seal: (tenantId: string, token: string) => string): number[] {
  const found = db
    .prepare(
      `select id, tenant_id, channel, recipient from message
       where id > ? and recipient ->> 'deviceToken' not like 't1.%' order by id limit 500`,
    )
    .all(after)
  const update = db.prepare('update message set recipient = ?, address = coalesce(?, address) where id = ?')
  for (const row of found) {
    const to = JSON.parse(String(row['recipient'])) as Target
    const sealed = { ...to, deviceToken: seal(String(row['tenant_id']), to.deviceToken ?? '') }
    update.run(JSON.stringify(sealed), addressOf(row['channel'] as Channel, sealed), Number(row['id']))
  }
  return found.map(({ id }) => Number(id))
}

interface PendingSubmission {
  submission: Submission
  terms: Terms
  recipient: string
  data: string
  providerTemplate: string | null
  resolve: (reply: Reply) => void
  reject: (error: Error) => void
}

function open(path: string, busyTimeoutMs: number): DatabaseSync {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const db = new DatabaseSync(path, { timeout: busyTimeoutMs })
  try {
    // What is cleared or sealed is not left in the free space of its page.
    patiently(() => db.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on'))
    patiently(() => db.exec('begin immediate'))
    const version = versionOf(db)
    if (version > SANDBOX_SCHEMA_VERSION)
      throw new Error(`${path} was written by a newer version (${version}; this one knows ${SANDBOX_SCHEMA_VERSION})`)
    if (version === 0) db.exec(SCHEMA)
    else for (let from = version; from < UNSEALED_VERSION; from += 1) db.exec(UPGRADES[from] ?? '')
    db.exec('commit')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Changing the journal mode of a file that others are opening fails without waiting, whatever the busy timeout. */
function patiently(step: () => void): void {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (let left = 100; ; left -= 1) {
    try {
      step()
      return
    } catch (error) {
      const isBusy = (error as { errcode?: number }).errcode === 5
      if (!isBusy || left <= 0) throw error
      Atomics.wait(pause, 0, 0, 20)
    }
  }
}

function conditions(filter: MessageFilter): { where: string; values: SQLInputValue[] } {
  const where = ['cleared = 0']
  const values: SQLInputValue[] = []
  const equal = (column: string, value: string | null | undefined): void => {
    if (value === null || value === undefined) return
    where.push(`${column} = ?`)
    values.push(value)
  }
  equal('tenant_id', filter.tenantId)
  equal('channel', filter.channel)
  if (filter.to !== undefined) {
    where.push(
      `(address in (?, ?) or exists (select 1 from json_each(recipient, '$.bcc') where value = ? collate nocase))`,
    )
    values.push(filter.to, filter.sealedToken ?? filter.to, filter.to)
  }
  equal('key', filter.key)
  equal('notification_id', filter.notificationId)
  return { where: where.join(' and '), values }
}

function messageOf(row: Record<string, unknown>): SandboxMessage {
  const { duplicate_of: duplicateOf, provider_template: template } = row
  return {
    id: messageId(row['id']),
    tenantId: String(row['tenant_id']),
    accountId: String(row['account_id']),
    channel: row['channel'] as Channel,
    key: String(row['key']),
    notificationId: String(row['notification_id']),
    attempt: Number(row['attempt']),
    to: JSON.parse(String(row['recipient'])) as Target,
    subject: row['subject'] as string | null,
    body: String(row['body']),
    data: JSON.parse(String(row['data'])) as Record<string, unknown>,
    providerTemplate: typeof template === 'string' ? (JSON.parse(template) as ProviderTemplate) : null,
    correlationId: row['correlation_id'] as string | null,
    acceptedAt: Number(row['accepted_at']),
    duplicateOf: duplicateOf === null ? null : messageId(duplicateOf),
  }
}

function messageId(row: unknown): string {
  return `sbx-${String(row).padStart(6, '0')}`
}

function rowNumber(id: string): number | null {
  const digits = /^sbx-(\d{6,15})$/.exec(id)?.[1]
  return digits === undefined ? null : Number(digits)
}

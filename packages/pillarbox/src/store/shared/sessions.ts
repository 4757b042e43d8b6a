import type { ApiKey } from '../../model/api-key.ts'
import { type ConsoleSession, consoleActor } from '../../model/session.ts'
import type { NewSession, OpenSession, SessionStore } from '../../operate/session-store.ts'
import { writeAudit } from './audit.ts'
import { uuidOrNull } from './fields.ts'
import { KEYS } from './keys.ts'
import { findBy, nounOf } from './noun.ts'
import { type Dialect, row, rows, type Script, type ScriptRunner } from './script.ts'

const SESSIONS = nounOf<ConsoleSession>('sessions', {
  id: 'uuid',
  keyId: 'uuid',
  changedAt: 'instant',
  createdAt: 'instant',
  expiresAt: 'instant',
})

/** Whoever signs in takes away so many that are over: nobody else has to. */
const SWEEP = 100
/** A key that many people share may have so many; then the oldest ends. Nobody fills the table by signing in. */
const MOST_OF_ONE_KEY = 100

export function sharedSessions({ dialect, read, write, change }: ScriptRunner): SessionStore {
  return {
    offer: (link, keyId) =>
      write(function* () {
        const key = yield* validKey(dialect, keyId)
        if (!key) return false
        yield* insert(dialect, 'link', link, key)
        return true
      }),
    begin: (session, keyId) =>
      write(function* () {
        const key = yield* validKey(dialect, keyId)
        return key && (yield* begin(dialect, session, key))
      }),
    redeem: (session, linkHash) =>
      write(function* () {
        const link = yield* row(
          `delete from pillarbox.sessions where hash = :linkHash and kind = 'link' and expires_at > ${dialect.now}
            returning key_id`,
          { linkHash },
        )
        const key = link && (yield* validKey(dialect, String(link['key_id'])))
        return key && (yield* begin(dialect, session, key))
      }),
    find: (hash) => read(() => find(dialect, hash)),
    change: async (id, { from, to }, graceMs) => {
      const changed = await change(
        `update pillarbox.sessions set hash = :to, former_hash = :from, changed_at = ${dialect.now},
            former_until = ${dialect.plus(dialect.now, ':graceMs')}
          where id = :id and hash = :from and kind = 'session' returning id`,
        { id, from, to, graceMs },
      )
      return changed.length === 1
    },
    end: (hash) =>
      write(function* () {
        const open = yield* find(dialect, hash)
        if (!open) return 0
        yield* rows(`delete from pillarbox.sessions where id = :id returning id`, { id: open.session.id })
        yield* audit(dialect, open.key, 'sign_out')
        return 1
      }),
    endAll: (keyId, actor) =>
      write(function* () {
        const key = yield* findBy(KEYS, { id: keyId })
        if (!key) return 0
        const ended = yield* rows('delete from pillarbox.sessions where key_id = :keyId returning kind', { keyId })
        if (ended.length > 0) yield* audit(dialect, key, 'sign_out_everywhere', actor)
        return ended.filter(({ kind }) => kind === 'session').length
      }),
  }
}

function* begin(dialect: Dialect, session: NewSession, key: ApiKey): Script<OpenSession> {
  yield* rows(
    `delete from pillarbox.sessions where id in (select id from pillarbox.sessions where expires_at <= ${dialect.now}
      order by expires_at limit ${SWEEP}) returning id`,
    {},
  )
  yield* rows(
    `delete from pillarbox.sessions where id in (select id from pillarbox.sessions where key_id = :keyId
      order by created_at desc, id desc limit 1000 offset ${MOST_OF_ONE_KEY - 1}) returning id`,
    { keyId: key.id },
  )
  const begun = yield* insert(dialect, 'session', session, key)
  yield* audit(dialect, key, 'sign_in')
  return { session: begun, key }
}

function* insert(dialect: Dialect, kind: 'link' | 'session', made: NewSession, key: ApiKey): Script<ConsoleSession> {
  const written = yield* row(
    `insert into pillarbox.sessions (id, kind, key_id, hash, changed_at, created_at, expires_at)
      values (:id, :kind, :keyId, :hash, ${dialect.now}, ${dialect.now}, ${dialect.plus(dialect.now, ':lifeMs')})
      returning ${SESSIONS.columns}`,
    { ...made, kind, keyId: key.id },
  )
  return SESSIONS.of(written ?? {})
}

function* find(dialect: Dialect, hash: string): Script<OpenSession | null> {
  const found = yield* row(
    `select ${SESSIONS.columns} from pillarbox.sessions where kind = 'session' and expires_at > ${dialect.now}
      and (hash = :hash or (former_hash = :hash and former_until > ${dialect.now}))`,
    { hash },
  )
  if (!found) return null
  const session = SESSIONS.of(found)
  const key = yield* validKey(dialect, session.keyId)
  return key && { session, key }
}

function* validKey(dialect: Dialect, keyId: string): Script<ApiKey | null> {
  const id = uuidOrNull(keyId)
  if (id === null) return null
  const and = `revoked_at is null and (expires_at is null or expires_at > ${dialect.now})`
  return yield* findBy(KEYS, { id }, { and })
}

function* audit(dialect: Dialect, key: ApiKey, action: string, actor = consoleActor(key.name)): Script<void> {
  yield* writeAudit(dialect, { tenantId: key.tenantId, actor, action, subject: `key:${key.id}` })
}

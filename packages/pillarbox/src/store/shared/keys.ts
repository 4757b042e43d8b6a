import type { ApiKey } from '../../model/api-key.ts'
import { SYSTEM } from '../../model/audit.ts'
import type { KeyStore, NewKeyRecord } from '../../operate/key-store.ts'
import { writeAudit } from './audit.ts'
import { pictureOfKey } from './audit-pictures.ts'
import { uuidOrNull } from './fields.ts'
import { nounOf } from './noun.ts'
import { type Dialect, row, rows, type Script, type ScriptRunner } from './script.ts'

export const KEYS = nounOf<ApiKey>('api_keys', {
  id: 'uuid',
  tenantId: 'text',
  name: 'text',
  role: 'text',
  site: 'text',
  ratePerSecond: 'number',
  expiresAt: 'instant',
  revokedAt: 'instant',
  createdAt: 'instant',
  lastUsedAt: 'instant',
})

/** API keys. Where a method takes a tenant, null means the keys that belong to none: those of `ops`. */
export function sharedKeys({ dialect, read, write }: ScriptRunner): KeyStore {
  return {
    insert: (key, hash, actor = SYSTEM) => write(() => insertKey(dialect, key, hash, actor)),
    findByHash: (hash) =>
      read(function* () {
        const found = yield* row(`select ${KEYS.columns} from pillarbox.api_keys where hash = :hash`, { hash })
        return found && KEYS.of(found)
      }),
    list: (tenantId) =>
      read(function* () {
        const found = yield* rows(
          `select ${KEYS.columns} from pillarbox.api_keys where tenant_id is not distinct from :tenantId order by id desc`,
          { tenantId },
        )
        return found.map(KEYS.of)
      }),
    replace: (tenantId, keyId, { at, ...next }, actor) =>
      write(function* () {
        const id = uuidOrNull(keyId)
        if (id === null) return null
        const time = dialect.instant(':at')
        const found = yield* row(
          `update pillarbox.api_keys set expires_at = case when expires_at < ${time} then expires_at else ${time} end
            where id = :id and tenant_id is not distinct from :tenantId and revoked_at is null
              and (expires_at is null or expires_at > ${dialect.now}) returning ${KEYS.columns}`,
          { id, tenantId, at },
        )
        if (!found) return null
        const former = KEYS.of(found)
        const after = pictureOfKey(former)
        yield* writeAudit(dialect, { tenantId, actor, action: 'expire', subject: `key:${id}`, after })
        const { name, role, site, ratePerSecond } = former
        const made = { id: next.id, tenantId, name, role, site, ratePerSecond, expiresAt: null }
        yield* insertKey(dialect, made, next.hash, actor)
        return { former, made }
      }),
    noteUse: (keyId) =>
      write(function* () {
        const id = uuidOrNull(keyId)
        yield* rows(`update pillarbox.api_keys set last_used_at = ${dialect.now} where id = :id`, { id })
      }),
    // False when there is no such key, or it was revoked before.
    revoke: (tenantId, keyId, actor = SYSTEM) =>
      write(function* () {
        const id = uuidOrNull(keyId)
        if (id === null) return false
        const found = yield* row(
          `update pillarbox.api_keys set revoked_at = ${dialect.now}
            where id = :id and tenant_id is not distinct from :tenantId and revoked_at is null returning ${KEYS.columns}`,
          { id, tenantId },
        )
        if (!found) return false
        const before = pictureOfKey(KEYS.of(found))
        yield* writeAudit(dialect, { tenantId, actor, action: 'revoke', subject: `key:${id}`, before })
        return true
      }),
  }
}

function* insertKey(dialect: Dialect, key: NewKeyRecord, hash: string, actor: string): Script<boolean> {
  const written = yield* row(
    `insert into pillarbox.api_keys (id, tenant_id, name, role, hash, site, rate_per_second, expires_at, created_at)
      values (:id, :tenantId, :name, :role, :hash, :site, :ratePerSecond, ${dialect.instant(':expiresAt')},
        ${dialect.now})
      on conflict (hash) do nothing returning id`,
    { ...key, hash },
  )
  if (!written) return false
  const { tenantId, id } = key
  yield* writeAudit(dialect, { tenantId, actor, action: 'issue', subject: `key:${id}`, after: pictureOfKey(key) })
  return true
}

import type { ApiKey, Role } from '../../model/api-key.ts'
import type { KeyStore } from '../../operate/key-store.ts'
import { numberOrNull, textOrNull, uuidOrNull } from './fields.ts'
import {
  type Dialect,
  instantOf,
  instantOrNull,
  type Row,
  row,
  rows,
  type Script,
  type ScriptRunner,
} from './script.ts'

/** API keys. Where a method takes a tenant, null means the keys that belong to none: those of `ops`. */
export function sharedKeys({ dialect, read, write }: ScriptRunner): KeyStore {
  return {
    insert: (key, hash) => write(() => insertKey(dialect, key, hash)),
    findByHash: (hash) => read(() => findByHash(hash)),
    list: (tenantId) => read(() => listKeys(tenantId)),
    revoke: (tenantId, id) => write(() => revokeKey(dialect, tenantId, id)),
  }
}

const COLUMNS = 'id, tenant_id, name, role, site, rate_per_second, expires_at, revoked_at, created_at'

function keyOf(found: Row): ApiKey {
  return {
    id: String(found['id']),
    tenantId: textOrNull(found['tenant_id']),
    name: String(found['name']),
    role: String(found['role']) as Role,
    site: textOrNull(found['site']),
    ratePerSecond: numberOrNull(found['rate_per_second']),
    expiresAt: instantOrNull(found['expires_at']),
    revokedAt: instantOrNull(found['revoked_at']),
    createdAt: instantOf(found['created_at']),
  }
}

function* insertKey(dialect: Dialect, key: Omit<ApiKey, 'createdAt' | 'revokedAt'>, hash: string): Script<boolean> {
  const written = yield* row(
    `insert into pillarbox.api_keys (id, tenant_id, name, role, hash, site, rate_per_second, expires_at, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, ${dialect.instant('$8')}, ${dialect.now})
      on conflict (hash) do nothing returning id`,
    [key.id, key.tenantId, key.name, key.role, hash, key.site, key.ratePerSecond, key.expiresAt],
  )
  return written !== null
}

function* findByHash(hash: string): Script<ApiKey | null> {
  const found = yield* row(`select ${COLUMNS} from pillarbox.api_keys where hash = $1`, [hash])
  return found && keyOf(found)
}

function* listKeys(tenantId: string | null): Script<ApiKey[]> {
  const found = yield* rows(
    `select ${COLUMNS} from pillarbox.api_keys where tenant_id is not distinct from $1 order by id desc`,
    [tenantId],
  )
  return found.map(keyOf)
}

/** False when there is no such key, or it was revoked before. */
function* revokeKey(dialect: Dialect, tenantId: string | null, id: string): Script<boolean> {
  const keyId = uuidOrNull(id)
  if (keyId === null) return false
  const revoked = yield* row(
    `update pillarbox.api_keys set revoked_at = ${dialect.now}
      where id = $1 and tenant_id is not distinct from $2 and revoked_at is null returning id`,
    [keyId, tenantId],
  )
  return revoked !== null
}

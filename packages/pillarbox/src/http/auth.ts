import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ApiKey, Role } from '../model/api-key.ts'
import { isPassing, isPillarboxError, PillarboxError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import { consoleActor } from '../model/session.ts'
import { traceparentOf } from '../model/trace.ts'
import type { KeyStore } from '../operate/key-store.ts'
import type { OpenSession } from '../operate/session-store.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import { hashKey, isKey, parseBearer } from '../security/keys.ts'
import type { UserToken, UserTokens } from '../security/user-token.ts'
import type { Store } from '../store/store.ts'
import { clientOf } from './client-address.ts'
import { createRateLimiter, type RateAnswer } from './rate.ts'
import { createSessionCache, type SessionCache } from './session-cache.ts'
import { refuseOtherSites, sessionSecret } from './session-cookie.ts'

/**
 * Who may use a route. Every route states it in its `config`; one that does not is refused when the app is built.
 * Roles nest: viewer ⊂ operator ⊂ admin. A publisher stands apart, and ops may do everything in every tenant. `user`: with
 * a token for the very user whom the path names.
 */
export type Access = 'public' | readonly (Role | 'user')[]

export const TO_PUBLISH = ['publisher', 'admin', 'ops'] as const satisfies Access
export const TO_READ = ['viewer', 'operator', 'admin', 'ops'] as const satisfies Access
export const TO_OPERATE = ['operator', 'admin', 'ops'] as const satisfies Access
export const TO_ADMINISTER = ['admin', 'ops'] as const satisfies Access
export const OPS_ONLY = ['ops'] as const satisfies Access
/** A publisher too, which then sees only what its own key sent. */
export const TO_READ_STATUS = ['publisher', 'viewer', 'operator', 'admin', 'ops'] as const satisfies Access

/**
 * Whose rows a route is about. `one`: those of one tenant, which an ops key has to name; `own`: those of the tenant of the
 * key or token. In both cases the handler finds the tenant in `request.tenantId`. `any`: those of the key's own tenant; an
 * ops key may name one, or see all (`scopeOf`). `none`: no tenant can be named.
 */
export type TenantScope = 'one' | 'own' | 'any' | 'none'

/** The holder of the key a request came with. */
export interface ApiCaller {
  key: ApiKey
  /**
   * What audit rows and `triggeredBy` say: `key:<name>`, or `console:<name>` where somebody is signed in with it. Keys of one
   * tenant that share a name are one publisher.
   */
  actor: string
  /** The console's session that it came with; null: with the key itself. */
  session: OpenSession['session'] | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** Open to keys that are bound to a site; those may otherwise only hand off. */
    forSites?: boolean
    tenant?: TenantScope
    /** The key may also come in a header that the tenant names (`hasuraSecretHeader`). */
    takesKeyInHeader?: boolean
    /** Answered for as long as the client stays: once it runs, not counted as a request that is being answered. */
    isStream?: boolean
  }
  interface FastifyRequest {
    /** Whose key it came with; null where it came with none, or with a user's token. */
    caller: ApiCaller | null
    /** Whose token it came with. */
    user: UserToken | null
    /** The tenant that a route about `one` tenant, or the `own` one, is about; empty on every other route. */
    tenantId: string
    /** Whom audit rows name: `key:<name>` or `console:<name>`. Empty where the request came without a key. */
    actor: string
  }
}

export interface Authentication {
  /** Forgets what is cached of a key and its sessions, so that a revocation acts in this process at once. */
  forget(keyId: string): void
  /** What is cached of sessions. */
  sessions: Pick<SessionCache, 'expect' | 'forget'>
  /** Whether a request brings a key or a session that was found before, told from memory alone. It may be over since. */
  isKnown(request: FastifyRequest): boolean
  /** What somebody who signs in is let in with. Throws `unauthorized` where it is null, and `rate_limited` after many such. */
  signIn<T>(request: FastifyRequest, find: () => Promise<T | null>): Promise<T>
  /** The key itself, where it is known and valid. */
  findKey(token: string): Promise<ApiKey | null>
  /** Whether what a request came with would still be let in, for those that take long. */
  isStillGood(request: FastifyRequest): Promise<boolean>
}

export interface AuthConfig {
  publicUrl: string | null
  /** How long the record of a key or a session is believed: a revocation made by another process acts here within this time. */
  keyCacheMs: number
  /** Failed keys allowed per second and source, and per beginning of the key; beyond that unknown keys get 429. */
  failedKeysPerSecond: number
  failedKeysBurst: number
}

/** Requests with one user's tokens, per second and at once. */
const USER_RATE = { perSecond: 20, burst: 100 }

const KEY_BEGINNING = 12

/** How exactly the last use of a key is known. */
const NOTE_USE_EVERY_MS = 3_600_000

/** Tries to sign in that failed, per source: somebody who mistypes is not kept waiting, somebody who guesses is. */
const FAILED_SIGN_INS = { perSecond: 0.2, burst: 10 }

/**
 * Installs the guard: authentication, role, site binding and the key's own rate are settled before a byte of the body
 * is read. The answer to an unknown, a revoked and an expired key is the same.
 */
export function installAuthentication(
  app: FastifyInstance,
  deps: {
    store: Pick<Store, 'keys' | 'sessions' | 'tenants'>
    userTokens: UserTokens
    clock: Clock
    config: AuthConfig
  },
): Authentication {
  const { store, userTokens, clock, config } = deps
  const known = createKeyCache(store.keys, clock, config.keyCacheMs)
  const sessions = createSessionCache(store.sessions, clock, config.keyCacheMs)
  const rates = createRateLimiter(clock)
  const failures = createRateLimiter(clock)

  /** A key comes before a cookie, which browsers send without being asked. */
  async function authenticate(request: FastifyRequest): Promise<{ key: ApiKey; session: ApiCaller['session'] }> {
    const secret = request.headers.authorization === undefined ? sessionSecret(request) : null
    if (secret === null) return { key: await authenticateKey(request), session: null }
    refuseOtherSites(request, config.publicUrl)
    const hash = hashKey(secret)
    const suspect = `source ${clientOf(request)}`
    const { failedKeysPerSecond, failedKeysBurst } = config
    // Whoever is signed in does not suffer from others at the same address.
    if (!sessions.has(hash))
      refuseUnless(
        failures.peek(suspect, failedKeysPerSecond, failedKeysBurst),
        'Too many requests with unknown cookies.',
      )
    const open = await sessions.find(hash)
    if (open && isValid(open.key) && open.session.expiresAt > clock.now()) return open
    failures.take(suspect, failedKeysPerSecond, failedKeysBurst)
    throw new PillarboxError('unauthorized', 'The session is over. Sign in again.')
  }

  async function authenticateKey(request: FastifyRequest): Promise<ApiKey> {
    const inHeader = keyInHeader(request)
    const token = parseBearer(request.headers.authorization) ?? inHeader?.token ?? null
    if (token === null) throw new PillarboxError('unauthorized', 'Send an API key as "Authorization: Bearer <key>".')
    const hash = hashKey(token)
    // Guessing is hopeless; the limit keeps it from being work for the database. Keys in use are cached and unaffected.
    const suspects = [`source ${clientOf(request)}`, `key ${token.slice(0, KEY_BEGINNING)}`]
    if (!known.has(hash))
      for (const suspect of suspects)
        refuseUnless(
          failures.peek(suspect, config.failedKeysPerSecond, config.failedKeysBurst),
          'Too many requests with unknown keys.',
        )
    try {
      const key = await known.find(hash)
      if (!isValid(key) || (inHeader && !(await namesHeader(key, inHeader.name)))) throw invalidKey()
      return key
    } catch (error) {
      if (isPillarboxError(error, 'unauthorized'))
        for (const suspect of suspects) failures.take(suspect, config.failedKeysPerSecond, config.failedKeysBurst)
      throw error
    }
  }

  /** Whether the key's tenant says that a key may come in this header. */
  async function namesHeader({ tenantId }: ApiKey, header: string): Promise<boolean> {
    const named = tenantId === null ? null : (await store.tenants.find(tenantId))?.settings['hasuraSecretHeader']
    return typeof named === 'string' && named.toLowerCase() === header
  }

  function isValid({ revokedAt, expiresAt }: ApiKey): boolean {
    return revokedAt === null && (expiresAt === null || expiresAt > clock.now())
  }

  /** Null where the request brings no user's token, or the path takes none. */
  function authenticateUser(request: FastifyRequest, access: Access): UserToken | null {
    if (!access.includes('user')) return null
    const { userId = '' } = request.params as { userId?: string }
    const { token } = (request.query ?? {}) as { token?: unknown }
    // A key never goes into an address, where logs would keep it: only a token does.
    const given = parseBearer(request.headers.authorization) ?? (typeof token === 'string' ? token : null)
    const isKey = given === null || (request.headers.authorization !== undefined && !userTokens.isOne(given))
    if (isKey) return null
    const user = userTokens.open(given, userId)
    const suspect = `source ${clientOf(request)}`
    if (!user || user.expiresAt <= clock.now()) {
      const isFew = failures.take(suspect, config.failedKeysPerSecond, config.failedKeysBurst)
      refuseUnless(isFew, 'Too many requests with unknown tokens.')
      throw new PillarboxError('unauthorized', 'The token is not for this user, or no longer valid.')
    }
    const { perSecond, burst } = USER_RATE
    refuseUnless(rates.take(`${user.tenantId} ${userId}`, perSecond, burst), 'Too many requests of this user.')
    return user
  }

  app.decorateRequest('caller', null)
  app.decorateRequest('user', null)
  app.decorateRequest('tenantId', '')
  app.decorateRequest('actor', '')
  app.addHook('onRequest', async (request) => {
    if (request.is404) return
    const { access = [], forSites } = request.routeOptions.config
    if (access === 'public') return
    request.user = authenticateUser(request, access)
    if (request.user) {
      refuseTenantHeader(request)
      return
    }
    const { key, session } = await authenticate(request)
    if (key.ratePerSecond !== null)
      refuseUnless(rates.take(key.id, key.ratePerSecond, key.ratePerSecond), 'The key’s rate is exceeded.')
    if (!access.includes(key.role))
      throw new PillarboxError(
        'forbidden',
        `A key with the role ${key.role} may not do this: use ${allowedIn(access)}.`,
      )
    if (key.site !== null && !forSites)
      throw new PillarboxError('forbidden', 'A key bound to a site may only hand off for that site.')
    refuseTenantHeader(request)
    request.actor = session ? consoleActor(key.name) : `key:${key.name}`
    request.caller = { key, actor: request.actor, session }
  })
  // After validation, so that the name is known to be a declared parameter.
  app.addHook('preHandler', async (request) => {
    const { tenantId } = (request.query ?? {}) as { tenantId?: unknown }
    if (tenantId !== undefined && request.caller && request.caller.key.role !== 'ops')
      throw new PillarboxError('invalid_query', 'Only an ops key may name a tenant; yours has one.', {
        errors: [{ path: 'tenantId', message: 'may only be given with an ops key' }],
      })
    const { tenant } = request.routeOptions.config
    if (tenant === 'one' || tenant === 'own')
      request.tenantId = request.user?.tenantId ?? (await tenantOf(request, store))
  })

  return {
    forget(keyId) {
      known.forget(keyId)
      sessions.forget()
    },
    sessions,
    isKnown(request) {
      const { authorization } = request.headers
      const secret = authorization === undefined ? sessionSecret(request) : null
      if (secret !== null) return sessions.has(hashKey(secret))
      const token = parseBearer(authorization) ?? keyInHeader(request)?.token ?? null
      return token !== null && known.has(hashKey(token))
    },
    async findKey(token) {
      const key = await store.keys.findByHash(hashKey(token))
      return key && isValid(key) ? key : null
    },
    async signIn(request, find) {
      const suspect = `sign-in ${clientOf(request)}`
      const { perSecond, burst } = FAILED_SIGN_INS
      refuseUnless(failures.peek(suspect, perSecond, burst), 'Too many tries to sign in.')
      const found = await find()
      if (found) return found
      failures.take(suspect, perSecond, burst)
      throw new PillarboxError('unauthorized', 'This does not let you in: it is not known, was used, or is too old.')
    },
    async isStillGood(request) {
      try {
        const { key } = await authenticate(request)
        return key.id === request.caller?.key.id && key.role === request.caller.key.role
      } catch (error) {
        // Whatever it is refused for, it is refused; a store that is away has not said so.
        if (isPillarboxError(error) && !isPassing(error)) return false
        throw error
      }
    },
  }
}

/**
 * The one header of a request that holds a key, on a route that takes it there. Whether it is the right header is only known
 * once it is known whose key it is.
 */
function keyInHeader({ headers, routeOptions }: FastifyRequest): { name: string; token: string } | null {
  if (routeOptions.config.takesKeyInHeader !== true || headers.authorization !== undefined) return null
  const found = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && isKey(value) ? [{ name, token: value }] : [],
  )
  return found.length === 1 ? (found[0] ?? null) : null
}

/** Records of keys that exist, each believed for `maxAgeMs`. */
export function createKeyCache(keys: KeyStore, clock: Clock, maxAgeMs: number) {
  /** By a key's id: the hash that the key is cached under. As many as there are keys. */
  const hashes = new Map<string, string>()
  /** How often a key was forgotten. A read during which that happened may have missed the change, and reads again. */
  let forgotten = 0
  /** To the hour is enough to know which key nobody uses; nobody waits for it, and a store that is away forgets one hour. */
  function noteUse({ id, lastUsedAt, revokedAt }: ApiKey): void {
    if (revokedAt !== null || (lastUsedAt !== null && clock.now() - lastUsedAt < NOTE_USE_EVERY_MS)) return
    keys.noteUse(id).catch(() => {})
  }
  const cache = createTimedCache<ApiKey>({
    clock,
    maxAgeMs,
    async read(hash) {
      const before = forgotten
      const found = await keys.findByHash(hash)
      const key = before === forgotten ? found : await keys.findByHash(hash)
      // What cannot be read is not kept: if unknown keys were, anybody could fill the cache.
      if (!key) throw invalidKey()
      hashes.set(key.id, hash)
      noteUse(key)
      return key
    },
  })
  return {
    has: (hash: string): boolean => cache.last(hash) !== undefined,
    /** Throws `unauthorized` where there is no such key. */
    find: cache.get,
    forget(keyId: string): void {
      forgotten++
      cache.outdate(hashes.get(keyId) ?? '')
    },
  }
}

function invalidKey(): PillarboxError {
  return new PillarboxError('unauthorized', 'The API key is not known, or no longer valid.')
}

/** Who may, for whoever may not. */
function allowedIn(access: readonly (Role | 'user')[]): string {
  const roles = access.filter((role) => role !== 'user')
  const either = new Intl.ListFormat('en', { type: 'disjunction' })
  return either.format([
    ...(roles.length > 0 ? [`a key with the role ${either.format(roles)}`] : []),
    ...(access.includes('user') ? ['a token of the user'] : []),
  ])
}

function refuseTenantHeader({ headers }: FastifyRequest): void {
  if (headers['x-tenant-id'] !== undefined)
    throw new PillarboxError('bad_request', 'The tenant comes from the key, never from a header.')
}

export function callerOf(request: FastifyRequest): ApiCaller {
  if (!request.caller) throw new PillarboxError('unauthorized', 'This needs an API key.')
  return request.caller
}

/** The tenant whose rows a request may see: the key's own, the one an ops key named, or `null` for all of them. */
export function scopeOf(request: FastifyRequest): string | null {
  const { key } = callerOf(request)
  return key.tenantId ?? (request.query as { tenantId?: string }).tenantId ?? null
}

/** The one tenant a request is about. An ops key has to name it with `?tenantId=`, and it has to exist. */
async function tenantOf(request: FastifyRequest, store: Pick<Store, 'tenants'>): Promise<string> {
  const { key } = callerOf(request)
  if (key.tenantId !== null) return key.tenantId
  const { tenantId } = request.query as { tenantId?: string }
  if (tenantId === undefined)
    throw new PillarboxError('invalid_query', 'An ops key has no tenant of its own: name one with ?tenantId=.', {
      errors: [{ path: 'tenantId', message: 'is required with an ops key' }],
    })
  if (!(await store.tenants.find(tenantId))) throw new PillarboxError('not_found', 'There is no such tenant.')
  return tenantId
}

/** The trace that the caller's request belongs to, for the provider calls that come of it. */
export function traceOf({ headers }: FastifyRequest): string | null {
  return traceparentOf(headers['traceparent'])
}

function refuseUnless(answer: RateAnswer, detail: string): void {
  if (answer.allowed) return
  const retryAfterSeconds = Math.max(1, Math.ceil(answer.retryAfterMs / 1_000))
  throw new PillarboxError('rate_limited', detail, { retryAfterSeconds })
}

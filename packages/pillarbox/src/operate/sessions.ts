import { PillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import { hashKey, makeToken } from '../security/keys.ts'
import type { Store } from '../store/store.ts'
import type { OpenSession } from './session-store.ts'

/** After so long everybody signs in again, however busy they were. */
export const SESSION_LIFE_MS = 12 * 3_600_000
/** A link is for whoever has just seen it. */
const LINK_LIFE_MS = 15 * 60_000
/** A secret that leaked is of no use to anybody after this, and a little: the one that is used is exchanged for another. */
const SECRET_LIFE_MS = 3_600_000
/** Requests that were under way when the secret was changed still bring the former one. */
const FORMER_SECRET_MS = 60_000

export interface SessionDeps {
  store: Pick<Store, 'sessions' | 'keys'>
  ids: IdSource
}

/** A session with the secret that opens it, which is seen this once. */
export interface BegunSession extends OpenSession {
  secret: string
}

/** Signs in with a key. Null: it is no longer valid. */
export async function signInWithKey({ store, ids }: SessionDeps, keyId: string): Promise<BegunSession | null> {
  const { secret, made } = newSession(ids)
  const begun = await store.sessions.begin(made, keyId)
  return begun && { ...begun, secret }
}

/** Signs in with what a link holds. Null: it was used before, or is too old. */
export async function signInWithLink({ store, ids }: SessionDeps, token: string): Promise<BegunSession | null> {
  const { secret, made } = newSession(ids)
  const begun = await store.sessions.redeem(made, hashKey(token))
  return begun && { ...begun, secret }
}

/** The end of an address that lets its holder sign in once with this key. Throws where the key is no longer valid. */
export async function offerLink({ store, ids }: SessionDeps, keyId: string): Promise<string> {
  const token = makeToken()
  const isOffered = await store.sessions.offer({ id: ids(), hash: hashKey(token), lifeMs: LINK_LIFE_MS }, keyId)
  if (!isOffered) throw new PillarboxError('not_found', 'There is no such key, or it is no longer valid.')
  return `/login?t=${token}`
}

/** A link for whoever starts the server; null where the store has no valid ops key. */
export async function offerOpsLink(deps: SessionDeps, now: number): Promise<string | null> {
  const keys = await deps.store.keys.list(null)
  const key = keys.find(({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > now))
  return key ? await offerLink(deps, key.id) : null
}

/** Another secret for a session whose secret is old; null: it is not, or somebody else has just changed it. */
export async function changeSecret(
  { store }: Pick<SessionDeps, 'store'>,
  { session }: OpenSession,
  secret: string,
  now: number,
): Promise<string | null> {
  if (now - session.changedAt < SECRET_LIFE_MS) return null
  const next = makeToken()
  const hashes = { from: hashKey(secret), to: hashKey(next) }
  return (await store.sessions.change(session.id, hashes, FORMER_SECRET_MS)) ? next : null
}

function newSession(ids: IdSource) {
  const secret = makeToken()
  return { secret, made: { id: ids(), hash: hashKey(secret), lifeMs: SESSION_LIFE_MS } }
}

import type { ApiKey } from '../model/api-key.ts'
import type { ConsoleSession } from '../model/session.ts'

/** What a session or a link is made with. Of its secret only the hash reaches the store. */
export interface NewSession {
  id: string
  hash: string
  lifeMs: number
}

/** A session that is open, and the key it acts with. */
export interface OpenSession {
  session: ConsoleSession
  key: ApiKey
}

/**
 * Sessions of the console. All that opens one is a secret whose hash is kept here. A session acts with the key it was begun
 * with, and ends with it: none is found whose key has been revoked or has expired.
 */
export interface SessionStore {
  /** Leaves a link by which somebody may sign in once. False: there is no such key, or it is no longer valid. */
  offer(link: NewSession, keyId: string): Promise<boolean>
  /** Begins a session with a key; of a hundred others the oldest ends. Audited. Null: there is no such key, or it is no longer valid. */
  begin(session: NewSession, keyId: string): Promise<OpenSession | null>
  /** Begins a session with a link, which is used up by it. Null: it was used before, it has expired, or so has its key. */
  redeem(session: NewSession, linkHash: string): Promise<OpenSession | null>
  find(hash: string): Promise<OpenSession | null>
  /** Gives a session another secret; the former one is taken for `graceMs` more. False: another request has done so. */
  change(id: string, secret: { from: string; to: string }, graceMs: number): Promise<boolean>
  /** Ends the session that the hash opens, and answers how many that were. Audited. */
  end(hash: string): Promise<number>
  /** Ends every session and takes back every link of a key. Audited. */
  endAll(keyId: string, actor: string): Promise<number>
}

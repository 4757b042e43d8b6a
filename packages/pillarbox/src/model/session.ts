/** Somebody signed in at the console. */
export interface ConsoleSession {
  id: string
  keyId: string
  /** Since when its secret is the one that it is. */
  changedAt: number
  createdAt: number
  expiresAt: number
}

/** Whom the audit names for what is done at the console with a key. */
export function consoleActor(keyName: string): string {
  return `console:${keyName}`
}

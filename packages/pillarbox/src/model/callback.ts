export interface NewCallback {
  source: string
  tenantId: string | null
  accountIds: readonly string[]
  headers: Readonly<Record<string, string>>
  body: Buffer
  /** What it asks somebody to do, in words; absent: nothing. */
  note?: string | null
}

export const CALLBACK_STATUSES = ['pending', 'applied', 'unmatched'] as const

export type CallbackStatus = (typeof CALLBACK_STATUSES)[number]

export interface StoredCallback extends NewCallback {
  id: number
  status: CallbackStatus
  attemptCount: number
  receivedAt: number
  /** Null until it was read for the first time. */
  result: Pick<CallbackResult, 'reports' | 'matched' | 'moved' | 'unreadable'> | null
}

/** Its `body` may be only the beginning. */
export interface ListedCallback extends StoredCallback {
  /** Of the whole body, in bytes. */
  size: number
}

export interface CallbackResult {
  /** Reports in it; of those, about notifications of ours; of those, that moved one. */
  reports: number
  matched: number
  moved: number
  unreadable: number
  status: CallbackStatus
  /** For `pending`. */
  delayMs: number
}

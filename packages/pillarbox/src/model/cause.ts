import type { Channel } from './channel.ts'
import type { StoredReason } from './reason.ts'

/** What notifications that stopped have in common. */
export interface StoppedCause {
  fingerprint: string
  channel: Channel
  reason: StoredReason
  /** The provider's. */
  code: string | null
  accountId: string | null
  count: number
  firstAt: number
  lastAt: number
  /** The newest of them, what was said of it, and the name of whom it was for. */
  sampleId: string
  error: string | null
  sampleName: string | null
}

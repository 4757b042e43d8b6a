import type { ClaimAnswer, ClaimRequest, NewNotification } from '../store/store.ts'

/**
 * How planning hands what it writes straight to dispatch: where calls can begin at once, the commit that writes a few
 * notifications claims them too, and a lone event is spared a second transaction. Only a short cut: what is not handed
 * over is claimed by the dispatcher's next round.
 */
export interface Handover {
  /** What to claim of that, in the transaction that writes it. Null: nothing now. */
  offer(planned: readonly NewNotification[]): Offer | null
}

/** Dispatch keeps the places free until it is told what came of it: one of the two, once. */
export interface Offer {
  request: ClaimRequest
  /** The transaction is committed. Resolves once the calls have begun. */
  taken(answer: ClaimAnswer): Promise<void>
  /** It may be committed or not. */
  lost(): void
}

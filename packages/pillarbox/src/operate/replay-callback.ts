import { found } from '../model/errors.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'

/** Lets a worker read a callback again. What it already did is not done twice. */
export async function replayCallback(
  { store, nudge }: { store: Pick<Store, 'receipts'>; nudge: (topic: WakeTopic) => void },
  { id, actor }: { id: number; actor: string },
): Promise<void> {
  found(await store.receipts.replay(id, actor))
  nudge('receipts')
}

import { linkTakers, mergeReceipts } from '../shared/merge-receipts.ts'
import type { ReceiptParts } from '../shared/receipts.ts'
import { grouped } from './group.ts'
import { insertNotifications } from './notifications.ts'
import { dialect, scriptRunner } from './scripts.ts'
import type { Session } from './session.ts'

/** Receipts that come together share a commit; one that is refused spoils no other. */
export function receiptParts(session: Session): ReceiptParts {
  const scripts = scriptRunner(session, { prepares: true })
  return {
    applying: scripts,
    together: grouped,
    merge: (receipts) =>
      session.transaction(async (run) => {
        const { answers, takers, skipped } = await scripts.follow(run, mergeReceipts(dialect, receipts))
        if (skipped.length > 0) await insertNotifications(run, skipped)
        if (takers.length === 0) return answers
        const { answers: inserted } = await insertNotifications(
          run,
          takers.map(({ next }) => next),
        )
        const passedOver = takers.flatMap(({ next }) => next.passedOver ?? [])
        if (passedOver.length > 0) await insertNotifications(run, passedOver)
        const links = takers.map(({ id, next }, i) => ({ id, nextId: inserted[i]?.id ?? next.id }))
        await scripts.follow(run, linkTakers(links))
        return answers
      }),
  }
}

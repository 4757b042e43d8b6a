import { linkTakers, mergeReceipts } from '../shared/merge-receipts.ts'
import type { ReceiptParts } from '../shared/receipts.ts'
import { insertNotifications } from './notifications.ts'
import { type Connections, dialect, runScript, scriptRunner } from './scripts.ts'

/** What comes together shares a commit anyway. */
export function receiptParts(connections: Connections): ReceiptParts {
  const { connection, writer } = connections
  return {
    applying: scriptRunner(connections),
    together: (work) => work,
    merge: (receipts) =>
      writer.write((now) => {
        const { answers, takers, skipped } = runScript(connection, mergeReceipts(dialect, receipts))
        insertNotifications(connection, skipped, now)
        if (takers.length === 0) return answers
        const nextIds = insertNotifications(
          connection,
          takers.map(({ next }) => next),
          now,
        )
        const links = takers.map(({ id, next }, i) => ({ id, nextId: nextIds[i] ?? next.id }))
        insertNotifications(
          connection,
          takers.flatMap(({ next }) => next.passedOver ?? []),
          now,
        )
        runScript(connection, linkTakers(links))
        return answers
      }),
  }
}

import { linkTakers, mergeReceipts } from '../shared/merge-receipts.ts'
import type { ReceiptParts } from '../shared/receipts.ts'
import { insertNotification } from './notifications.ts'
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
        for (const each of skipped) insertNotification(connection, each, now)
        if (takers.length === 0) return answers
        const links = takers.map(({ id, next }) => ({ id, nextId: insertNotification(connection, next, now).id }))
        for (const { next } of takers)
          for (const each of next.passedOver ?? []) insertNotification(connection, each, now)
        runScript(connection, linkTakers(links))
        return answers
      }),
  }
}

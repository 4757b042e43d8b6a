/** What the ledger needs for notifications that were skipped. */
export const skipped = ''

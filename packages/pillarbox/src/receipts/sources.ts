import { acsReceipts } from './acs.ts'
import { interaktReceipts } from './interakt.ts'
import { metaReceipts } from './meta.ts'
import { msg91Receipts } from './msg91.ts'
import type { ReceiptSource } from './receipt-source.ts'
import { sesReceipts } from './ses.ts'
import type { SnsDeps } from './sns-certificates.ts'
import { snsSmsReceipts } from './sns-sms.ts'

/** Every vendor that calls back, by the last part of its webhook's path. A new one is one file and one line here. */
export function createReceiptSources(deps: SnsDeps): ReadonlyMap<string, ReceiptSource> {
  const sources = [
    metaReceipts(),
    interaktReceipts(),
    msg91Receipts(),
    acsReceipts(),
    sesReceipts(deps),
    snsSmsReceipts(deps),
  ]
  return new Map(sources.map((source) => [source.name, source]))
}

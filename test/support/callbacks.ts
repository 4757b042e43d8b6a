import type { VendorCallback } from '@pillarbox/vendors'
import type { Callback, KeptCallback } from '../../packages/pillarbox/src/receipts/receipt-source.ts'

/** What a vendor sent, as the web framework would hand it on. */
export function callbackOf(provider: string, { method, headers, body }: VendorCallback, query = ''): Callback {
  return { provider, method, headers, query: new URLSearchParams(query), rawBody: Buffer.from(body ?? '') }
}

/** What would be kept of it. */
export function keptOf({ headers, body }: Pick<VendorCallback, 'headers' | 'body'>, receivedAt: number): KeptCallback {
  return { rawBody: Buffer.from(body ?? ''), headers, receivedAt }
}

/** The same bytes with one bit turned over. */
export function withBitTurned(bytes: Buffer, bit: number): Buffer {
  const turned = Buffer.from(bytes)
  const at = Math.floor(bit / 8) % turned.length
  turned[at] = (turned[at] ?? 0) ^ (1 << (bit % 8))
  return turned
}

import assert from 'node:assert/strict'
import type { VendorCallback } from '@pillarbox/vendors'
import type { EngineName } from './engines.ts'
import { startVendors, type Vendors } from './loopback-vendors.ts'
import { until } from './until.ts'
import { startWorld, type World } from './world.ts'

/** A running product, and every vendor that calls back, on the loopback interface. */
export interface ReceiptWorld extends AsyncDisposable {
  readonly product: World
  readonly vendors: Vendors
  /** As a vendor calls: the path of an address that an account gave out. Answers the status. */
  callBack(webhookUrl: string, callback: VendorCallback): Promise<number>
  /** What was kept, newest first, once nothing of it is left to be read for the first time. */
  callbacks(source: string): Promise<KeptCallback[]>
  /** How many were not believed, by cause. */
  refused(source: string): Promise<Record<string, number>>
}

export interface KeptCallback {
  id: string
  status: string
  attemptCount: number
  result: { reports: number; matched: number; moved: number; unreadable: number } | null
}

export async function openReceiptWorld(engine: EngineName): Promise<ReceiptWorld> {
  const vendors = await startVendors()
  const product = await startWorld(engine, {
    settings: { PILLARBOX_SNS_CERT_HOSTS: '127.0.0.1', PILLARBOX_PUBLIC_URL: 'https://notify.example.com' },
  })
  const items = async <T>(target: string): Promise<T[]> => {
    const answer = await product.ops('GET', target)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body['items'] as T[]
  }
  return {
    product,
    vendors,
    async callBack(webhookUrl, { method, headers, body }) {
      const { pathname, search } = new URL(webhookUrl)
      const answer = await fetch(`${product.url}${pathname}${search}`, {
        method,
        headers,
        ...(body !== undefined && { body }),
      })
      await answer.arrayBuffer()
      return answer.status
    },
    callbacks: (source) =>
      until(`every callback of ${source} was read`, async () => {
        const found = await items<KeptCallback>(`/ops/callbacks?source=${source}&limit=200`)
        return found.every(({ result }) => result !== null) && found
      }),
    async refused(source) {
      const found = await items<{ why: string; count: number }>(`/ops/callbacks/refused?source=${source}`)
      const sums: Record<string, number> = {}
      for (const { why, count } of found) sums[why] = (sums[why] ?? 0) + count
      return sums
    },
    async [Symbol.asyncDispose]() {
      await product[Symbol.asyncDispose]()
      await vendors.close()
    },
  }
}

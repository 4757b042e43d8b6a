import type { TestContext } from 'node:test'
import { snsMessage, startSnsCertificateServer } from '@pillarbox/vendors'
import { createReceiptSources } from '../../packages/pillarbox/src/receipts/sources.ts'
import { testOutbound } from './providers.ts'

/** Sources that fetch certificates for real, from the loopback interface, and what SNS sends of `topicArn` at `now`. */
export async function withSns(t: TestContext, { now, topicArn }: { now: number; topicArn: string }) {
  const server = await startSnsCertificateServer()
  t.after(server.close)
  const { outbound, clock } = testOutbound(t)
  const receiptSources = createReceiptSources({
    outbound,
    clock: { ...clock, now: () => now },
    certHosts: ['127.0.0.1'],
  })
  const { certificateUrl, subscribeUrl } = server
  const message = (given: Partial<Parameters<typeof snsMessage>[0]> = {}) =>
    snsMessage({ certificateUrl, subscribeUrl, topicArn, at: now, ...given })
  return { server, message, receiptSources }
}

import { type ServerOptions, startVendorServer, type VendorRequest, type VendorServer } from './server.ts'

export interface WebhookReceiver extends VendorServer<'gone' | 'too_many'> {
  /** What it took, in order. */
  readonly received: readonly VendorRequest[]
}

/** Somebody's endpoint for webhooks, on the loopback interface. It takes whatever comes and answers 204. */
export async function startWebhookReceiver(options: ServerOptions = {}): Promise<WebhookReceiver> {
  const received: VendorRequest[] = []
  const server = await startVendorServer(
    {
      answers: { gone: { status: 410 }, too_many: { status: 429, headers: { 'retry-after': '3' } } },
      accept: (request) => {
        received.push(request)
        return { status: 204 }
      },
    },
    options,
  )
  return { ...server, received }
}

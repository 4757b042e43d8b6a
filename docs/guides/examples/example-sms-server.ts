import { startVendorServer, type VendorReply, type VendorServer } from '@pillarbox/vendors'

/** A message that the pretend vendor took. */
export interface ExampleSms {
  id: string
  key: string
  body: Record<string, unknown>
}

export interface ExampleSmsServer extends VendorServer<'no_id'> {
  readonly messages: readonly ExampleSms[]
}

/** One of the vendor's refusals, by its code. */
export function exampleSmsError(code: string, status = 400, headers: Record<string, string> = {}): VendorReply {
  return { status, headers, body: { error: { code, message: `error ${code}` } } }
}

/** The vendor on the loopback interface: `POST /v1/messages` and `GET /v1/account`. */
export async function startExampleSmsServer({ apiKey }: { apiKey: string }): Promise<ExampleSmsServer> {
  const messages: ExampleSms[] = []
  const isKnown = (headers: Record<string, string>): boolean => headers['authorization'] === `Bearer ${apiKey}`
  const server = await startVendorServer({
    answers: { no_id: { status: 201, body: {} } },
    aside: ({ method, path, headers }) => {
      if (method !== 'GET' || path !== '/v1/account') return null
      return isKnown(headers) ? { status: 200, body: { name: 'Example Tours' } } : exampleSmsError('invalid_key', 401)
    },
    refuse: ({ headers }) => (isKnown(headers) ? null : exampleSmsError('invalid_key', 401)),
    accept: ({ headers, body }) => {
      const key = headers['idempotency-key'] ?? ''
      const known = messages.find((message) => message.key === key)
      const message = known ?? {
        id: `msg-${messages.length + 1}`,
        key,
        body: JSON.parse(body) as Record<string, unknown>,
      }
      if (!known) messages.push(message)
      return { status: 201, body: { id: message.id } }
    },
  })
  return { ...server, messages }
}

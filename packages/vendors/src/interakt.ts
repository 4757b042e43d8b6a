import { jsonObject, type ServerOptions, startVendorServer, type VendorReply, type VendorServer } from './server.ts'

export interface InteraktMessage {
  id: string
  to: string
  type: string
  callbackData: string | null
  body: Record<string, unknown>
}

export interface InteraktServer extends VendorServer<'no_id' | 'rate'> {
  readonly messages: readonly InteraktMessage[]
}

export interface InteraktOptions extends ServerOptions {
  /** The only key it lets in. Default: any. */
  apiKey?: string
}

/** One of Interakt's refusals: a status and words. */
export function interaktError(status: number, message: string): VendorReply {
  return { status, body: { result: false, message } }
}

/** Interakt's public API on the loopback interface: `POST /v1/public/message/`. */
export async function startInteraktServer({ apiKey, ...options }: InteraktOptions = {}): Promise<InteraktServer> {
  const messages: InteraktMessage[] = []
  const server = await startVendorServer(
    {
      answers: {
        no_id: { status: 201, body: { result: true, message: 'Message queued for sending' } },
        rate: interaktError(429, 'Resource rate limit exceeded'),
      },
      refuse: ({ headers, method, path, body }) => {
        const key = /^Basic (.+)$/.exec(headers['authorization'] ?? '')?.[1]
        if (key === undefined || (apiKey !== undefined && key !== apiKey)) return interaktError(401, 'Invalid API key')
        if (method !== 'POST' || path !== '/v1/public/message/') return interaktError(404, 'Not found')
        const given = jsonObject(body)
        if (!given) return interaktError(400, 'Invalid JSON')
        const phone = given['fullPhoneNumber'] ?? given['phoneNumber']
        if (typeof phone !== 'string' || !/^\d{7,15}$/.test(phone))
          return interaktError(400, 'The phone number is not valid')
        const template = given['template'] as { name?: unknown; languageCode?: unknown } | undefined
        if (
          given['type'] === 'Template' &&
          (typeof template?.name !== 'string' || typeof template.languageCode !== 'string')
        )
          return interaktError(400, 'The template needs a name and a languageCode')
        return null
      },
      accept: (request) => {
        const body = jsonObject(request.body) ?? {}
        const id = `00000000-0000-4000-8000-${String(messages.length + 1).padStart(12, '0')}`
        const callbackData = body['callbackData']
        messages.push({
          id,
          to: String(body['fullPhoneNumber'] ?? body['phoneNumber']),
          type: String(body['type']),
          callbackData: typeof callbackData === 'string' ? callbackData : null,
          body,
        })
        return { status: 201, body: { result: true, message: 'Message queued for sending', id } }
      },
    },
    options,
  )
  return { ...server, messages }
}

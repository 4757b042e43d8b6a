import { jsonObject, type ServerOptions, startVendorServer, type VendorReply, type VendorServer } from './server.ts'

export interface Msg91Message {
  requestId: string
  /** Country code and number, no plus. */
  to: string
  /** The flow that was sent, or null where the words were. */
  flowId: string | null
  words: string | null
  reference: string | null
  body: Record<string, unknown>
}

export interface Msg91Server extends VendorServer<'no_id' | 'not_json'> {
  readonly messages: readonly Msg91Message[]
}

export interface Msg91Options extends ServerOptions {
  /** The only key it lets in. Default: any. */
  authKey?: string
}

/** One of MSG91's refusals by its code. They come with status 200 as well as 400. */
export function msg91Error(code: number, message = `error ${code}`, status = 200): VendorReply {
  return { status, body: { type: 'error', message, code: String(code) } }
}

/** MSG91 on the loopback interface: `POST /api/v5/flow` and `POST /api/v2/sendsms`. */
export async function startMsg91Server({ authKey, ...options }: Msg91Options = {}): Promise<Msg91Server> {
  const messages: Msg91Message[] = []
  const server = await startVendorServer(
    {
      answers: {
        no_id: { status: 200, body: { type: 'success' } },
        not_json: { status: 200, body: 'OK' },
      },
      refuse: ({ headers, method, path, body }) => {
        const key = headers['authkey']
        if (!key || (authKey !== undefined && key !== authKey)) return msg91Error(207, 'Invalid authkey', 401)
        if (method !== 'POST') return msg91Error(107, 'Use POST', 400)
        const given = jsonObject(body)
        const to = given && recipientOf(given)
        if (path === '/api/v5/flow' && !given?.['template_id']) return msg91Error(106, 'template_id is missing', 400)
        if (!to) return msg91Error(101, 'mobiles is missing', 400)
        return /^\d{10,15}$/.test(to) ? null : msg91Error(202, 'Invalid mobile number')
      },
      accept: (request) => {
        const body = jsonObject(request.body) ?? {}
        const requestId = (messages.length + 1).toString(16).padStart(24, '3')
        const [first] = (body['recipients'] ?? []) as { CRQID?: string }[]
        const [sms] = (body['sms'] ?? []) as { message?: string }[]
        messages.push({
          requestId,
          to: recipientOf(body) ?? '',
          flowId: typeof body['template_id'] === 'string' ? body['template_id'] : null,
          words: sms?.message ?? null,
          reference: first?.CRQID ?? (typeof body['CRQID'] === 'string' ? body['CRQID'] : null),
          body,
        })
        return { status: 200, body: { type: 'success', message: requestId } }
      },
    },
    options,
  )
  return { ...server, messages }
}

function recipientOf(body: Record<string, unknown>): string | null {
  const [recipient] = (body['recipients'] ?? []) as { mobiles?: string }[]
  const [sms] = (body['sms'] ?? []) as { to?: string[] }[]
  return recipient?.mobiles ?? sms?.to?.[0] ?? null
}

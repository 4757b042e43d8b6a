import {
  type ServerOptions,
  startVendorServer,
  type VendorReply,
  type VendorRequest,
  type VendorServer,
} from './server.ts'

/** A message that the pretend Meta took. */
export interface MetaMessage {
  id: string
  phoneNumberId: string
  to: string
  type: string
  callbackData: string | null
  body: Record<string, unknown>
}

/** A business account whose webhooks an app asked for, and where they go in place of the app's own address. */
export interface MetaSubscription {
  wabaId: string
  callbackUrl: string | null
  verifyToken: string | null
}

export interface MetaServer extends VendorServer<string> {
  readonly messages: readonly MetaMessage[]
  readonly subscriptions: readonly MetaSubscription[]
}

export interface MetaOptions extends ServerOptions {
  /** The only token it lets in. Default: any. */
  accessToken?: string
}

/** One of Meta's error answers, by its code. */
export function metaError(code: number, message = `error ${code}`, details?: string): VendorReply {
  const status = code === 190 || code === 0 ? 401 : code === 131016 || code === 2 ? 503 : code === 130429 ? 429 : 400
  return {
    status,
    body: {
      error: {
        message: `(#${code}) ${message}`,
        type: 'OAuthException',
        code,
        error_data: { messaging_product: 'whatsapp', details: details ?? message },
        fbtrace_id: 'AbCdEfGh',
      },
    },
  }
}

/**
 * WhatsApp's Cloud API on the loopback interface: `POST /{version}/{phone-number-id}/messages`, the number's own `GET`, and
 * `POST /{version}/{waba-id}/subscribed_apps`, which calls nobody to check the address. Any error code can be scripted with `answerWith(metaError(131026))`.
 */
export async function startMetaServer({ accessToken, ...options }: MetaOptions = {}): Promise<MetaServer> {
  const messages: MetaMessage[] = []
  const subscriptions: MetaSubscription[] = []
  const server = await startVendorServer<string>(
    {
      answers: {
        no_id: { status: 200, body: { messaging_product: 'whatsapp', contacts: [], messages: [] } },
        server_error: { status: 500, body: 'Internal Server Error' },
        too_many: { status: 429, headers: { 'retry-after': '7' }, body: '' },
      },
      refuse: (request) => {
        const given = request.headers['authorization']
        if (!given?.startsWith('Bearer ') || (accessToken !== undefined && given !== `Bearer ${accessToken}`))
          return metaError(190, 'Invalid OAuth access token')
        return null
      },
      aside: (request) => {
        if (request.path.endsWith('/subscribed_apps')) return subscribe(request, accessToken, subscriptions)
        return request.method === 'GET' ? numberOf(request, accessToken) : null
      },
      accept: (request) => {
        const wrong = problemOf(request)
        if (wrong) return wrong
        const body = JSON.parse(request.body) as Record<string, unknown>
        const id = `wamid.${Buffer.from(`message-${messages.length + 1}`).toString('base64')}`
        const to = String(body['to'])
        const callbackData = body['biz_opaque_callback_data']
        messages.push({
          id,
          phoneNumberId: request.path.split('/')[2] ?? '',
          to,
          type: String(body['type']),
          callbackData: typeof callbackData === 'string' ? callbackData : null,
          body,
        })
        return {
          status: 200,
          body: {
            messaging_product: 'whatsapp',
            contacts: [{ input: to, wa_id: to.replace(/\D/g, '') }],
            messages: [{ id, message_status: 'accepted' }],
          },
        }
      },
    },
    options,
  )
  return { ...server, messages, subscriptions }
}

/** Whoever names an address of their own must name a token, too. */
function subscribe(
  request: VendorRequest,
  accessToken: string | undefined,
  subscriptions: MetaSubscription[],
): VendorReply {
  if (accessToken !== undefined && request.headers['authorization'] !== `Bearer ${accessToken}`)
    return metaError(190, 'Invalid OAuth access token')
  const [, , wabaId = ''] = request.path.split('/')
  if (request.method !== 'POST' || !/^\d+$/.test(wabaId)) return metaError(100, 'Unsupported request')
  const body = JSON.parse(request.body || '{}') as { override_callback_uri?: string; verify_token?: string }
  const { override_callback_uri: callbackUrl = null, verify_token: verifyToken = null } = body
  if ((callbackUrl === null) !== (verifyToken === null))
    return metaError(100, 'Invalid parameter', 'override_callback_uri and verify_token go together')
  subscriptions.push({ wabaId, callbackUrl, verifyToken })
  return { status: 200, body: { success: true } }
}

function numberOf(request: VendorRequest, accessToken: string | undefined): VendorReply {
  if (accessToken !== undefined && request.headers['authorization'] !== `Bearer ${accessToken}`)
    return metaError(190, 'Invalid OAuth access token')
  const id = request.path.split('/')[2] ?? ''
  return { status: 200, body: { id, display_phone_number: '+1 555 0100', verified_name: 'Example Tours' } }
}

/** What Meta checks before it queues a message. */
function problemOf(request: VendorRequest): VendorReply | null {
  if (request.method !== 'POST' || !/^\/v\d+\.\d\/\d+\/messages$/.test(request.path))
    return metaError(100, 'Unsupported post request')
  let body: Record<string, unknown>
  try {
    body = JSON.parse(request.body) as Record<string, unknown>
  } catch {
    return metaError(100, 'Invalid parameter', 'the body is not JSON')
  }
  if (body['messaging_product'] !== 'whatsapp') return metaError(100, 'Invalid parameter', 'messaging_product')
  if (typeof body['to'] !== 'string' || !/\d{7,}/.test(body['to']))
    return metaError(131009, 'Parameter value is not valid', 'to')
  const template = body['template'] as { name?: unknown; language?: { code?: unknown } } | undefined
  if (
    body['type'] === 'template' &&
    (typeof template?.name !== 'string' || typeof template.language?.code !== 'string')
  )
    return metaError(131008, 'Required parameter is missing', 'template')
  const text = body['text'] as { body?: unknown } | undefined
  if (body['type'] === 'text' && typeof text?.body !== 'string')
    return metaError(131008, 'Required parameter is missing', 'text')
  return null
}

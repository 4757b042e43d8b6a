import {
  type ServerOptions,
  startVendorServer,
  type VendorReply,
  type VendorRequest,
  type VendorServer,
} from './server.ts'

export interface WnsNotification {
  id: string
  /** The channel's path and query. */
  channel: string
  type: string
  xml: string
}

export interface WnsServer extends VendorServer<'dropped' | 'channelthrottled' | 'no_status' | 'throttled'> {
  readonly notifications: readonly WnsNotification[]
  readonly tokenUrl: string
  /** A channel's URI as a Windows device would name it. */
  channelUri(token: string): string
  tokensGiven(): number
  revokeTokens(): void
}

export interface WnsOptions extends ServerOptions {
  clientId?: string
  clientSecret?: string
}

/** One of WNS's refusals by its status. */
export function wnsError(status: number, words = `error ${status}`, headers: Record<string, string> = {}): VendorReply {
  return { status, headers: { 'x-wns-error-description': words, ...headers }, body: '' }
}

/** WNS on the loopback interface with its token endpoint, `POST /token`; every other path is a channel. */
export async function startWnsServer({ clientId, clientSecret, ...options }: WnsOptions = {}): Promise<WnsServer> {
  const notifications: WnsNotification[] = []
  const good = new Set<string>()
  let given = 0
  const withStatus = (status: string): VendorReply => ({ status: 200, headers: { 'x-wns-status': status }, body: '' })
  const server = await startVendorServer(
    {
      answers: {
        dropped: withStatus('dropped'),
        channelthrottled: withStatus('channelthrottled'),
        no_status: { status: 200, body: '' },
        throttled: wnsError(406, 'Throttled', { 'retry-after': '11' }),
      },
      aside: (request) => (request.path === '/token' ? tokenFor(request) : null),
      refuse: ({ headers, method }) => {
        const token = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1]
        if (token === undefined || !good.has(token)) return wnsError(401, 'The token is not valid')
        if (method !== 'POST') return wnsError(405, 'Use POST')
        if (!headers['x-wns-type']?.startsWith('wns/')) return wnsError(400, 'X-WNS-Type is missing')
        return headers['content-length'] === undefined ? wnsError(400, 'Content-Length is missing') : null
      },
      accept: ({ path, query, headers, body }) => {
        if (Buffer.byteLength(body) > 5_000) return wnsError(413, 'Payload too large')
        const id = (notifications.length + 1).toString(16).toUpperCase().padStart(16, '0')
        const channel = `${path}?${query.toString()}`
        notifications.push({ id, channel, type: headers['x-wns-type'] ?? '', xml: body })
        return { status: 200, headers: { 'x-wns-status': 'received', 'x-wns-msg-id': id }, body: '' }
      },
    },
    options,
  )

  function tokenFor({ body }: VendorRequest): VendorReply {
    const form = new URLSearchParams(body)
    const isKnown =
      (clientId === undefined || form.get('client_id') === clientId) &&
      (clientSecret === undefined || form.get('client_secret') === clientSecret)
    if (form.get('grant_type') !== 'client_credentials' || !isKnown)
      return { status: 401, body: { error: 'invalid_client', error_description: 'The client secret is not valid.' } }
    given += 1
    const token = `wns-token-${given}`
    good.add(token)
    return { status: 200, body: { access_token: token, token_type: 'bearer', expires_in: 86_400 } }
  }

  return {
    ...server,
    notifications,
    tokenUrl: `${server.url}/token`,
    channelUri: (token) => `https://db5p.notify.windows.com/?token=${encodeURIComponent(token)}`,
    tokensGiven: () => given,
    revokeTokens: () => good.clear(),
  }
}

import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import {
  type ServerOptions,
  startVendorServer,
  type VendorReply,
  type VendorRequest,
  type VendorServer,
} from './server.ts'

export interface FcmMessage {
  name: string
  projectId: string
  token: string
  message: Record<string, unknown>
}

export interface FcmServer extends VendorServer<'no_name'> {
  readonly messages: readonly FcmMessage[]
  /** A service account that this server knows: the text of a key file, with this server's own token endpoint. */
  readonly serviceAccount: string
  readonly tokenUrl: string
  /** How many access tokens it gave out. */
  tokensGiven(): number
  /** Every token given out so far is refused from now on. */
  revokeTokens(): void
}

/** One of FCM's errors. `isFcmError`: with the detail that says it is about the device rather than about the message. */
export function fcmError(code: string, status: number, isFcmError = true, message = `error ${code}`): VendorReply {
  const names: Record<number, string> = {
    400: 'INVALID_ARGUMENT',
    401: 'UNAUTHENTICATED',
    403: 'PERMISSION_DENIED',
    404: 'NOT_FOUND',
    429: 'RESOURCE_EXHAUSTED',
    500: 'INTERNAL',
    503: 'UNAVAILABLE',
  }
  const detail = { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: code }
  return {
    status,
    body: { error: { code: status, message, status: names[status] ?? code, details: isFcmError ? [detail] : [] } },
  }
}

/**
 * FCM's HTTP v1 API on the loopback interface, with its token endpoint: `POST /token` checks the signed assertion of its
 * own service account, `POST /v1/projects/{project}/messages:send` takes messages with a token it gave out.
 */
export async function startFcmServer(options: ServerOptions = {}): Promise<FcmServer> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const messages: FcmMessage[] = []
  const good = new Set<string>()
  let given = 0

  const server = await startVendorServer(
    {
      answers: { no_name: { status: 200, body: {} } },
      aside: (request) => (request.path === '/token' ? tokenFor(request) : null),
      refuse: ({ headers, path, method }) => {
        if (method !== 'POST' || !/^\/v1\/projects\/[^/]+\/messages:send$/.test(path))
          return { status: 404, body: 'Not found' }
        const token = /^Bearer (.+)$/.exec(headers['authorization'] ?? '')?.[1]
        return token !== undefined && good.has(token)
          ? null
          : fcmError('UNAUTHENTICATED', 401, false, 'The token is not valid')
      },
      accept: ({ path, body }) => {
        const { message = {}, validate_only: isTrial } = JSON.parse(body) as {
          message?: Record<string, unknown>
          validate_only?: boolean
        }
        const {
          token,
          topic,
          data = {},
        } = message as { token?: string; topic?: string; data?: Record<string, unknown> }
        if (!token && !topic) return fcmError('INVALID_ARGUMENT', 400, false, 'Exactly one target is needed')
        if (Object.values(data).some((value) => typeof value !== 'string'))
          return fcmError('INVALID_ARGUMENT', 400, false, 'Values of data must be strings')
        const projectId = path.split('/')[3] ?? ''
        const name = `projects/${projectId}/messages/${messages.length + 1}`
        if (isTrial !== true) messages.push({ name, projectId, token: token ?? '', message })
        return { status: 200, body: { name } }
      },
    },
    options,
  )

  function tokenFor({ body }: VendorRequest): VendorReply {
    const form = new URLSearchParams(body)
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
    const isSigned = verify(
      'RSA-SHA256',
      Buffer.from(`${header}.${claims}`),
      createPublicKey(publicKey),
      Buffer.from(signature, 'base64url'),
    )
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer' || !isSigned)
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } }
    const { aud, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { aud?: string; scope?: string }
    if (aud !== tokenUrl || scope !== 'https://www.googleapis.com/auth/firebase.messaging')
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid audience or scope.' } }
    given += 1
    const token = `ya29.${given}`
    good.add(token)
    return { status: 200, body: { access_token: token, expires_in: 3_599, token_type: 'Bearer' } }
  }
  const tokenUrl = `${server.url}/token`
  const serviceAccount = JSON.stringify({
    type: 'service_account',
    project_id: 'example',
    private_key_id: 'key-1',
    private_key: privateKey,
    client_email: 'sender@example.iam.gserviceaccount.com',
    token_uri: tokenUrl,
  })
  return {
    ...server,
    messages,
    serviceAccount,
    tokenUrl,
    tokensGiven: () => given,
    revokeTokens: () => good.clear(),
  }
}

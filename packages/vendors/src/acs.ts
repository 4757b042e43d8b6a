import { createHash, createHmac } from 'node:crypto'
import {
  type ServerOptions,
  startVendorServer,
  type VendorReply,
  type VendorRequest,
  type VendorServer,
} from './server.ts'

/** A mail that the pretend Azure took. */
export interface AcsMail {
  /** The operation's id: the caller's, where it gave one. */
  id: string
  from: string
  to: readonly AcsAddress[]
  bcc: readonly AcsAddress[]
  subject: string
  text: string | null
  html: string | null
  body: Record<string, unknown>
}

export interface AcsAddress {
  address: string
  displayName?: string
}

export type AcsStatus = 'NotStarted' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'

export interface AcsServer extends VendorServer<'no_id' | 'not_json' | 'server_error' | 'too_many'> {
  readonly mails: readonly AcsMail[]
  /** `endpoint=…;accesskey=…`, as the portal shows it. */
  readonly connectionString: string
  /** What `GET /emails/operations/{id}` says from now on; `code` for one that failed. */
  settle(id: string, status: AcsStatus, code?: string): void
}

export interface AcsOptions extends ServerOptions {
  /** The key that requests must be signed with, in base64. */
  accessKey?: string
}

/** One of ACS's errors, e.g. `acsError(404, 'DomainNotLinked', 'The specified sender domain has not been linked.')`. */
export function acsError(status: number, code: string, message = `error ${code}`): VendorReply {
  return { status, headers: { 'x-ms-error-code': code }, body: { error: { code, message } } }
}

const ACCESS_KEY = Buffer.from('an access key of the loopback server').toString('base64')

/**
 * Email of Azure Communication Services on the loopback interface: `POST /emails:send` and
 * `GET /emails/operations/{id}`. Signatures (HMAC-SHA256) are checked for real.
 */
export async function startAcsServer({ accessKey = ACCESS_KEY, ...options }: AcsOptions = {}): Promise<AcsServer> {
  const mails: AcsMail[] = []
  const operations = new Map<string, { status: AcsStatus; error?: { code: string; message: string } }>()
  const refuse = (request: VendorRequest): VendorReply | null =>
    isSigned(request, accessKey) ? null : acsError(401, 'Denied', 'Denied by the resource provider.')

  const statusReply = (id: string): VendorReply => {
    const operation = operations.get(id)
    if (!operation) return acsError(404, 'NotFound', 'The operation does not exist.')
    return { status: 200, headers: { 'retry-after': '30' }, body: { id, ...operation } }
  }

  const server = await startVendorServer<'no_id' | 'not_json' | 'server_error' | 'too_many'>(
    {
      answers: {
        no_id: { status: 202, body: { status: 'Running' } },
        not_json: { status: 202, body: 'OK' },
        server_error: { status: 503, body: 'Service Unavailable' },
        too_many: {
          status: 429,
          headers: { 'x-ms-error-code': 'TooManyRequests', 'retry-after': '90' },
          body: { error: { code: 'TooManyRequests', message: 'The quota of the resource is used up.' } },
        },
      },
      aside: (request) => {
        const id = /^\/emails\/operations\/([^/]+)$/.exec(request.path)?.[1]
        return request.method === 'GET' && id !== undefined ? (refuse(request) ?? statusReply(id)) : null
      },
      refuse,
      accept: (request) => {
        const id =
          request.headers['operation-id'] ?? `0ac50000-0000-4000-8000-${String(mails.length + 1).padStart(12, '0')}`
        const mail = mailOf(request, id)
        if ('status' in mail) return mail
        mails.push(mail)
        operations.set(id, { status: 'Running' })
        const location = `http://${request.headers['host']}/emails/operations/${id}?api-version=2025-09-01`
        return {
          status: 202,
          headers: { 'operation-location': location, 'retry-after': '30' },
          body: { id, status: 'Running', error: null },
        }
      },
    },
    options,
  )
  return {
    ...server,
    mails,
    connectionString: `endpoint=${server.url}/;accesskey=${accessKey}`,
    settle: (id, status, code) =>
      void operations.set(id, { status, ...(code === undefined ? {} : { error: { code, message: `error ${code}` } }) }),
  }
}

function isSigned({ method, path, query, headers, body }: VendorRequest, accessKey: string): boolean {
  const hash = createHash('sha256').update(body).digest('base64')
  const pathAndQuery = query.size === 0 ? path : `${path}?${query.toString()}`
  const text = `${method}\n${pathAndQuery}\n${headers['x-ms-date'] ?? ''};${headers['host'] ?? ''};${hash}`
  const signature = createHmac('sha256', Buffer.from(accessKey, 'base64')).update(text).digest('base64')
  return (
    headers['x-ms-content-sha256'] === hash &&
    !Number.isNaN(Date.parse(headers['x-ms-date'] ?? '')) &&
    headers['authorization'] === `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`
  )
}

interface Body {
  senderAddress?: string
  content?: { subject?: string; plainText?: string; html?: string }
  recipients?: { to?: AcsAddress[]; cc?: AcsAddress[]; bcc?: AcsAddress[] }
}

/** What ACS checks before it takes a mail. */
function mailOf(request: VendorRequest, id: string): AcsMail | VendorReply {
  if (request.method !== 'POST' || request.path !== '/emails:send')
    return acsError(404, 'NotFound', 'No such resource.')
  if (!/^\d{4}-\d\d-\d\d$/.test(request.query.get('api-version') ?? ''))
    return acsError(400, 'BadRequest', 'The api-version is missing.')
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id))
    return acsError(400, 'BadRequest', 'Operation-Id must be a UUID.')
  let body: Body
  try {
    body = JSON.parse(request.body) as Body
  } catch {
    return acsError(400, 'BadRequest', 'The body is not JSON.')
  }
  const { to = [], cc = [], bcc = [] } = body.recipients ?? {}
  const recipients = [...to, ...cc, ...bcc]
  if (recipients.length === 0 || recipients.length > 50)
    return acsError(400, 'BadRequest', 'There must be between 1 and 50 recipients.')
  if (!/^[^<>@\s]+@[^<>@\s]+$/.test(body.senderAddress ?? ''))
    return acsError(400, 'InvalidSenderUserName', 'Invalid email sender username.')
  if (recipients.some(({ address }) => !/^[^<>@\s]+@[^<>@\s]+$/.test(address)))
    return acsError(400, 'BadRequest', 'Invalid format for email address')
  const { subject, plainText, html } = body.content ?? {}
  if (subject === undefined || (plainText === undefined && html === undefined))
    return acsError(400, 'BadRequest', 'The content is missing.')
  return {
    id,
    from: body.senderAddress ?? '',
    to,
    bcc,
    subject,
    text: plainText ?? null,
    html: html ?? null,
    body: body as Record<string, unknown>,
  }
}

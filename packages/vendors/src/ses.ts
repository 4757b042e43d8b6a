import { type AwsOptions, awsMessageId, awsStatus, signatureProblem } from './aws.ts'
import { startVendorServer, type VendorReply, type VendorRequest, type VendorServer } from './server.ts'

/** A mail that the pretend SES took. */
export interface SesMail {
  id: string
  from: string
  to: readonly string[]
  cc: readonly string[]
  bcc: readonly string[]
  replyTo: readonly string[]
  subject: string
  text: string | null
  html: string | null
  /** Names as they came. */
  headers: Readonly<Record<string, string>>
  /** The tags that come back in events. */
  tags: Readonly<Record<string, string>>
  configurationSet: string | null
  body: Record<string, unknown>
}

export interface SesServer extends VendorServer<'no_id' | 'not_json' | 'server_error' | 'too_many'> {
  readonly mails: readonly SesMail[]
}

export interface SesOptions extends AwsOptions {
  /** What GetAccount says. Default: an account in production that may send. */
  account?: Record<string, unknown>
}

/** One of SES's errors by its name, e.g. `sesError('MessageRejected', 'Email address is not verified.')`. */
export function sesError(code: string, message = `error ${code}`, status: number = awsStatus(code)): VendorReply {
  return { status, headers: { 'x-amzn-errortype': code }, body: { message } }
}

/**
 * Amazon SES, API v2, on the loopback interface: `POST /v2/email/outbound-emails` with simple content, and
 * `GET /v2/email/account`. Point a client at it with `endpoint: server.url`. Signatures are checked for their form, and
 * for real where the secret key is given.
 */
export async function startSesServer({ account = ACCOUNT, ...options }: SesOptions = {}): Promise<SesServer> {
  const mails: SesMail[] = []
  const refuse = (request: VendorRequest): VendorReply | null => {
    const problem = signatureProblem(request, 'ses', options)
    return problem && sesError(problem.code, problem.message)
  }
  const server = await startVendorServer<'no_id' | 'not_json' | 'server_error' | 'too_many'>(
    {
      answers: {
        no_id: { status: 200, body: {} },
        not_json: { status: 200, body: 'OK' },
        server_error: { status: 502, body: '<html>Bad Gateway</html>' },
        too_many: {
          status: 429,
          headers: { 'x-amzn-errortype': 'TooManyRequestsException', 'x-amz-retry-after': '1500' },
          body: { message: 'Too Many Requests' },
        },
      },
      aside: (request) =>
        request.method === 'GET' && request.path === '/v2/email/account'
          ? (refuse(request) ?? { status: 200, body: account })
          : null,
      refuse,
      accept: (request) => {
        const id = `0100${awsMessageId(mails.length + 1)}-000000`
        const mail = mailOf(request, id)
        if ('status' in mail) return mail
        mails.push(mail)
        return { status: 200, body: { MessageId: id } }
      },
    },
    options,
  )
  return { ...server, mails }
}

const ACCOUNT = {
  EnforcementStatus: 'HEALTHY',
  ProductionAccessEnabled: true,
  SendingEnabled: true,
  SendQuota: { Max24HourSend: 50_000, MaxSendRate: 14, SentLast24Hours: 0 },
}

interface Part {
  Data?: string
}

/** What SES checks before it takes a mail. */
function mailOf(request: VendorRequest, id: string): SesMail | VendorReply {
  if (request.method !== 'POST' || request.path !== '/v2/email/outbound-emails')
    return sesError('UnknownOperationException', 'There is no such operation', 404)
  let body: Record<string, unknown>
  try {
    body = JSON.parse(request.body) as Record<string, unknown>
  } catch {
    return sesError('SerializationException', 'The body is not JSON')
  }
  const {
    ToAddresses = [],
    CcAddresses = [],
    BccAddresses = [],
  } = (body['Destination'] ?? {}) as Record<string, string[]>
  const addresses = [...ToAddresses, ...CcAddresses, ...BccAddresses]
  const from = body['FromEmailAddress']
  if (addresses.length === 0) return sesError('BadRequestException', 'Missing required header: To')
  if (addresses.length > 50) return sesError('MessageRejected', 'Recipient count exceeds 50.')
  for (const address of [from, ...addresses]) {
    if (typeof address !== 'string' || !address.includes('@'))
      return sesError('BadRequestException', "Missing final '@domain'")
    if (!/^[\x20-\x7e]+$/.test(address)) return sesError('BadRequestException', 'Domain contains illegal character')
  }
  const tags: Record<string, string> = {}
  for (const { Name, Value } of (body['EmailTags'] ?? []) as { Name: string; Value: string }[]) {
    if (!/^[\w-]{1,256}$/.test(Name) || !/^[\w.@-]{1,256}$/.test(Value))
      return sesError('BadRequestException', 'Invalid email tag')
    tags[Name] = Value
  }
  const simple = (body['Content'] as { Simple?: Simple } | undefined)?.Simple
  const { Text, Html } = simple?.Body ?? {}
  if (!simple?.Subject || (Text?.Data === undefined && Html?.Data === undefined))
    return sesError('BadRequestException', 'Content.Simple needs a subject and a body')
  const headers: Record<string, string> = {}
  for (const { Name, Value } of simple.Headers ?? []) {
    if (!/^[\x21-\x39\x3b-\x7e]{1,126}$/.test(Name) || !/^[\x20-\x7e]{1,995}$/.test(Value))
      return sesError('BadRequestException', 'Invalid header')
    headers[Name] = Value
  }
  const configurationSet = body['ConfigurationSetName']
  return {
    id,
    from: String(from),
    to: ToAddresses,
    cc: CcAddresses,
    bcc: BccAddresses,
    replyTo: (body['ReplyToAddresses'] ?? []) as string[],
    subject: simple.Subject.Data ?? '',
    text: Text?.Data ?? null,
    html: Html?.Data ?? null,
    headers,
    tags,
    configurationSet: typeof configurationSet === 'string' ? configurationSet : null,
    body,
  }
}

interface Simple {
  Subject?: Part
  Body?: { Text?: Part; Html?: Part }
  Headers?: { Name: string; Value: string }[]
}

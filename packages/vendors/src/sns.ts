import { type AwsOptions, awsMessageId, awsStatus, signatureProblem } from './aws.ts'
import { startVendorServer, type VendorReply, type VendorRequest, type VendorServer } from './server.ts'

/** A text message that the pretend SNS took. */
export interface SnsTextMessage {
  id: string
  to: string
  text: string
  /** By name, e.g. `AWS.SNS.SMS.SenderID`. */
  attributes: Readonly<Record<string, string>>
  /** The whole form. */
  form: Readonly<Record<string, string>>
}

export interface SnsServer extends VendorServer<'no_id' | 'not_xml' | 'server_error' | 'too_many'> {
  readonly messages: readonly SnsTextMessage[]
}

export interface SnsOptions extends AwsOptions {
  /** What GetSMSAttributes says. */
  smsAttributes?: Readonly<Record<string, string>>
}

const NAMESPACE = 'http://sns.amazonaws.com/doc/2010-03-31/'
const XML = { 'content-type': 'text/xml' }

/** One of SNS's errors by its code, e.g. `snsError('OptedOut', 'The number has opted out')`. */
export function snsError(code: string, message = `error ${code}`, status: number = awsStatus(code)): VendorReply {
  const type = status >= 500 ? 'Receiver' : 'Sender'
  const error = `<Error><Type>${type}</Type><Code>${escaped(code)}</Code><Message>${escaped(message)}</Message></Error>`
  return { status, headers: XML, body: `<ErrorResponse xmlns="${NAMESPACE}">${error}${REQUEST_ID}</ErrorResponse>` }
}

/**
 * Amazon SNS on the loopback interface, for text messages: the actions `Publish` to a telephone number and
 * `GetSMSAttributes` of the query protocol. Point a client at it with `endpoint: server.url`. Signatures are checked for
 * their form, and for real where the secret key is given.
 */
export async function startSnsServer({
  smsAttributes = { DefaultSMSType: 'Transactional', MonthlySpendLimit: '50' },
  ...options
}: SnsOptions = {}): Promise<SnsServer> {
  const messages: SnsTextMessage[] = []
  const refuse = (request: VendorRequest): VendorReply | null => {
    const problem = signatureProblem(request, 'sns', options)
    if (problem === null) return null
    const isKey = problem.code === 'UnrecognizedClientException'
    return snsError(isKey ? 'InvalidClientTokenId' : problem.code, problem.message)
  }
  const server = await startVendorServer<'no_id' | 'not_xml' | 'server_error' | 'too_many'>(
    {
      answers: {
        no_id: reply('Publish', ''),
        not_xml: { status: 200, body: 'OK' },
        server_error: { status: 503, body: 'Service Unavailable' },
        too_many: { ...snsError('Throttled', 'Rate exceeded'), headers: { ...XML, 'x-amz-retry-after': '1500' } },
      },
      aside: (request) =>
        formOf(request)['Action'] === 'GetSMSAttributes' ? (refuse(request) ?? attributesReply(smsAttributes)) : null,
      refuse,
      accept: (request) => {
        const form = formOf(request)
        const { PhoneNumber: to = '', Message: text = '' } = form
        if (request.method !== 'POST' || form['Action'] !== 'Publish' || form['Version'] !== '2010-03-31')
          return snsError('InvalidAction', 'The action is not valid for this endpoint.')
        if (!/^\+[1-9]\d{6,14}$/.test(to))
          return snsError('InvalidParameter', `Invalid parameter: PhoneNumber Reason: ${to} is not valid to publish to`)
        if (text === '') return snsError('InvalidParameter', 'Invalid parameter: Empty message')
        if (text.length > 1_600) return snsError('InvalidParameter', 'Invalid parameter: Message too long')
        const id = awsMessageId(messages.length + 1)
        messages.push({ id, to, text, attributes: attributesOf(form), form })
        return reply('Publish', `<MessageId>${id}</MessageId>`)
      },
    },
    options,
  )
  return { ...server, messages }
}

const REQUEST_ID = '<RequestId>0aa50000-0000-4000-8000-aaaaaaaaaaaa</RequestId>'

function reply(action: string, result: string): VendorReply {
  const metadata = `<ResponseMetadata>${REQUEST_ID}</ResponseMetadata>`
  const body = `<${action}Response xmlns="${NAMESPACE}"><${action}Result>${result}</${action}Result>${metadata}</${action}Response>`
  return { status: 200, headers: XML, body }
}

function attributesReply(attributes: Readonly<Record<string, string>>): VendorReply {
  const entries = Object.entries(attributes).map(
    ([name, value]) => `<entry><key>${escaped(name)}</key><value>${escaped(value)}</value></entry>`,
  )
  return reply('GetSMSAttributes', `<attributes>${entries.join('')}</attributes>`)
}

function formOf({ body }: VendorRequest): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(body))
}

function attributesOf(form: Record<string, string>): Record<string, string> {
  const attributes: Record<string, string> = {}
  for (const [key, name] of Object.entries(form)) {
    const entry = /^(MessageAttributes\.entry\.\d+)\.Name$/.exec(key)?.[1]
    if (entry !== undefined) attributes[name] = form[`${entry}.Value.StringValue`] ?? ''
  }
  return attributes
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

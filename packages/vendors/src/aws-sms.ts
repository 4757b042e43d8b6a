import { type AwsOptions, awsMessageId, awsStatus, signatureProblem } from './aws.ts'
import { startVendorServer, type VendorReply, type VendorRequest, type VendorServer } from './server.ts'

/** A text message that the pretend service took. */
export interface AwsSmsMessage {
  id: string
  to: string
  text: string
  /** A number, a pool, a sender id. */
  from: string | null
  /** What comes back in events. */
  context: Readonly<Record<string, string>>
  body: Record<string, unknown>
}

export interface AwsSmsServer extends VendorServer<'no_id' | 'not_json' | 'server_error' | 'too_many'> {
  readonly messages: readonly AwsSmsMessage[]
}

export interface AwsSmsOptions extends AwsOptions {
  /** Default: PRODUCTION. */
  tier?: 'PRODUCTION' | 'SANDBOX'
}

export interface AwsSmsErrorDetails {
  /** e.g. `DESTINATION_PHONE_NUMBER_OPTED_OUT` for a ConflictException. */
  reason?: string
  /** The fields that a ValidationException is about. */
  fields?: readonly { Name: string; Message: string }[]
  status?: number
}

/** One of the service's exceptions, with its reason where it has one. */
export function awsSmsError(
  code: string,
  message = `error ${code}`,
  { reason, fields, status = awsStatus(code) }: AwsSmsErrorDetails = {},
): VendorReply {
  return {
    status,
    headers: JSON_1_0,
    body: {
      __type: `com.amazonaws.pinpointsmsvoicev2#${code}`,
      Message: message,
      ...(reason === undefined ? {} : { Reason: reason }),
      ...(fields === undefined ? {} : { Fields: fields }),
    },
  }
}

const JSON_1_0 = { 'content-type': 'application/x-amz-json-1.0' }
const TARGET = 'PinpointSMSVoiceV2.'

/**
 * AWS End User Messaging SMS on the loopback interface: the operations `SendTextMessage` and `DescribeAccountAttributes`
 * of `pinpoint-sms-voice-v2`. Point a client at it with `endpoint: server.url`. Signatures are checked for their form, and
 * for real where the secret key is given.
 */
export async function startAwsSmsServer({
  tier = 'PRODUCTION',
  ...options
}: AwsSmsOptions = {}): Promise<AwsSmsServer> {
  const messages: AwsSmsMessage[] = []
  const refuse = (request: VendorRequest): VendorReply | null => {
    const problem = signatureProblem(request, 'sms-voice', options)
    return problem && awsSmsError(problem.code, problem.message)
  }
  const server = await startVendorServer<'no_id' | 'not_json' | 'server_error' | 'too_many'>(
    {
      answers: {
        no_id: { status: 200, headers: JSON_1_0, body: {} },
        not_json: { status: 200, headers: JSON_1_0, body: 'OK' },
        server_error: { status: 503, body: 'Service Unavailable' },
        too_many: {
          ...awsSmsError('ThrottlingException', 'Rate exceeded'),
          headers: { ...JSON_1_0, 'x-amz-retry-after': '1500' },
        },
      },
      aside: (request) =>
        operationOf(request) === 'DescribeAccountAttributes'
          ? (refuse(request) ?? {
              status: 200,
              headers: JSON_1_0,
              body: { AccountAttributes: [{ Name: 'ACCOUNT_TIER', Value: tier }] },
            })
          : null,
      refuse,
      accept: (request) => {
        if (request.method !== 'POST' || operationOf(request) !== 'SendTextMessage')
          return awsSmsError('UnknownOperationException', 'There is no such operation')
        let body: Record<string, unknown>
        try {
          body = JSON.parse(request.body) as Record<string, unknown>
        } catch {
          return awsSmsError('SerializationException', 'The body is not JSON')
        }
        const { DestinationPhoneNumber: to, MessageBody: text, OriginationIdentity: from } = body
        if (typeof to !== 'string' || !/^\+?[1-9][0-9]{1,18}$/.test(to)) return invalid('DestinationPhoneNumber')
        if (typeof text !== 'string' || text === '' || text.length > 1_600) return invalid('MessageBody')
        const id = awsMessageId(messages.length + 1)
        const context = (body['Context'] ?? {}) as Record<string, string>
        messages.push({ id, to, text, from: typeof from === 'string' ? from : null, context, body })
        return { status: 200, headers: JSON_1_0, body: { MessageId: id } }
      },
    },
    options,
  )
  return { ...server, messages }
}

function operationOf({ headers }: VendorRequest): string {
  const target = headers['x-amz-target'] ?? ''
  return target.startsWith(TARGET) ? target.slice(TARGET.length) : ''
}

function invalid(field: string): VendorReply {
  return awsSmsError('ValidationException', 'The request is not valid.', {
    reason: 'FIELD_VALIDATION_FAILED',
    fields: [{ Name: field, Message: 'is not valid' }],
  })
}

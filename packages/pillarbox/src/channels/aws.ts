import { createHash } from 'node:crypto'
import type { Account } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import { errorText } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import { type AwsErrors, type AwsRefusal, awsRule } from './aws-errors.ts'
import type { Field, Provider, SendRequest, Verification } from './channel.ts'
import { endpoint, headerSecret, matching } from './fields.ts'
import type { Outbound, OutboundAnswer, OutboundRequest } from './outbound.ts'
import { optionalSdk } from './sdk.ts'
import {
  acceptedAs,
  at,
  badSettings,
  callVendor,
  type Failure,
  noted,
  outcomeOf,
  present,
  retryAfterOf,
  textAt,
  unclear,
} from './vendor-answers.ts'

/**
 * What the AWS providers share. They speak through AWS's own clients, which sign and encode; the way out is ours: the
 * clients' HTTP handler calls `outbound`, their retries are off, and nothing is read from the environment that could send
 * a request elsewhere.
 */
interface AwsService<Module, Client, Input, Sent, Known> {
  /** The provider's name. */
  name: string
  channel: Channel
  words: string
  /** As error texts name it. */
  vendor: string
  /** The npm package. */
  sdk: string
  importSdk: () => Promise<Module>
  client: (module: Module, config: AwsConfig) => Client
  errors: AwsErrors
  settings: Readonly<Record<string, Field>>
  /** What is sent, or why nothing can be. */
  inputOf: (request: SendRequest) => Input | Failure
  send: (module: Module, client: Client, input: Input, options: AwsCallOptions) => Promise<Sent>
  /** The id that AWS gave the message: without one it is no success. */
  idOf: (sent: Sent) => string | undefined
  /** A question that only checks the credentials, and what its answer says. */
  ask: (module: Module, client: Client, options: AwsCallOptions) => Promise<Known>
  judge: (known: Known) => Verification
}

export interface AwsDeps<Module> {
  outbound: Outbound
  clock: Clock
  /** In place of the package itself. */
  importSdk?: () => Promise<Module>
}

type AwsAnswer<Output> =
  | { kind: 'output'; output: Output }
  /** AWS said no, and why. */
  | { kind: 'refusal'; refusal: AwsRefusal & { retryAfterMs?: number } }
  /** It did not come to an answer that says anything. */
  | Failure

export interface AwsCallOptions {
  abortSignal: AbortSignal
  /** The clients hand their options to the handler: so each call knows what came of its own request. */
  exchange: { came: OutboundAnswer | Failure | null }
}

/** The part of the SDK's HttpRequest that is used. */
interface AwsHttpRequest {
  method: string
  protocol: string
  hostname: string
  port?: number
  path: string
  query?: Record<string, string | string[] | null>
  headers: Record<string, string>
  body?: string | Uint8Array
}

const MOST_CLIENTS = 1_000
const LONGEST_WAIT_MS = 24 * 3_600_000

export function awsProvider<Module, Client extends { destroy(): void }, Input extends object, Sent, Known>(
  service: AwsService<Module, Client, Input, Sent, Known>,
  { outbound, clock, importSdk = service.importSdk }: AwsDeps<Module>,
): Provider {
  const { vendor } = service
  const sdk = optionalSdk(service.sdk, importSdk)
  const requestHandler = handlerOver(outbound)
  const clients = new Map<string, Client>()

  /** One client per set of credentials; with others, such as new ones of the same account, comes another client. */
  function clientOf(module: Module, account: Account): Client {
    const config = configOf(account, requestHandler)
    const key = keyOf(config)
    const known = clients.get(key)
    if (known) return known
    const client = service.client(module, config)
    const [oldest] = clients.size >= MOST_CLIENTS ? clients : []
    if (oldest) {
      clients.delete(oldest[0])
      oldest[1].destroy()
    }
    clients.set(key, client)
    return client
  }

  /** One call. `make` gets the client of this account and must hand the options on. */
  async function call<Output>(
    account: Account,
    signal: AbortSignal,
    make: (module: Module, client: Client, options: AwsCallOptions) => Promise<Output>,
    request?: SendRequest,
  ): Promise<AwsAnswer<Output>> {
    const loaded = await sdk()
    if (loaded.kind !== 'sdk') return loaded
    // The client would sign with nothing and go on.
    if (!account.secrets['accessKeyId'] || !account.secrets['secretAccessKey'])
      return badSettings('the access key is missing')
    const options: AwsCallOptions = { abortSignal: signal, exchange: { came: null } }
    try {
      const client = clientOf(loaded.module, account)
      return { kind: 'output', output: await make(loaded.module, client, options) }
    } catch (error) {
      return explain(error, options, clock.now())
    } finally {
      const { came } = options.exchange
      if (request && came?.kind === 'answer') noted(request, came)
    }
  }

  return {
    name: service.name,
    channels: [service.channel],
    words: service.words,
    sdk: service.sdk,
    capability: () => 'none',
    fields: { settings: { ...awsSettings, ...service.settings }, secrets: awsSecrets },
    async send(request) {
      const input = service.inputOf(request)
      if ('kind' in input) return input
      const make = (module: Module, client: Client, options: AwsCallOptions): Promise<Sent> =>
        service.send(module, client, input, options)
      const answer = await call(request.account, request.signal, make, request)
      if (answer.kind === 'output') return acceptedAs(service.idOf(answer.output), vendor)
      if (answer.kind !== 'refusal') return answer
      const { refusal } = answer
      const code = refusal.reason === null ? refusal.code : `${refusal.code}/${refusal.reason}`
      return outcomeOf(awsRule(service.errors, refusal), code, `${vendor} says: ${refusal.words}`, refusal.retryAfterMs)
    },
    async verify(account, signal) {
      const answer = await call(account, signal, service.ask)
      if (answer.kind === 'output') return service.judge(answer.output)
      if (answer.kind !== 'refusal') return { isGood: false, error: answer.error }
      return { isGood: false, error: `${vendor} says: ${answer.refusal.words} (${answer.refusal.code})` }
    },
    close() {
      for (const client of clients.values()) client.destroy()
      clients.clear()
    },
  }
}

/** Why a call came to no output: AWS refused it, or nobody knows, or the client did not even make it. */
function explain(error: unknown, { abortSignal, exchange: { came } }: AwsCallOptions, now: number): AwsAnswer<never> {
  if (came === null)
    return abortSignal.aborted
      ? { kind: 'transient', code: 'aborted', error: 'given up by the caller' }
      : badSettings(`the AWS client makes no call: ${errorText(error)}`)
  if (came.kind !== 'answer') return came
  if (came.status < 400) return unclear(`AWS answered ${came.status} with something else`)
  const retryAfterMs = waitOf(came, now)
  return { kind: 'refusal', refusal: { ...refusalOf(error, came.status), ...present({ retryAfterMs }) } }
}

/** The SDK's exceptions have `$fault`; other errors are of its own making, such as for a body that it cannot parse. */
function refusalOf(error: unknown, status: number): AwsRefusal {
  const isAws = at(error, '$fault') !== undefined
  // The query protocol's code is not the exception's name.
  const name = isAws ? (textAt(error, 'Code') ?? textAt(error, 'name')) : null
  const code = name === null || name === 'Unknown' || name === 'UnknownError' ? String(status) : name
  const message = isAws ? textAt(error, 'message') : null
  const fields = at(error, 'Fields')
  const wrong = Array.isArray(fields)
    ? fields.map((field) => `${textAt(field, 'Name')}: ${textAt(field, 'Message')}`)
    : []
  const said = message === null || /^Unknown(?:Error)?$/.test(message) ? `status ${status}` : message
  return { status, code, reason: isAws ? textAt(error, 'Reason') : null, words: [said, ...wrong].join('; ') }
}

/** AWS's own header says milliseconds, the standard one seconds. */
function waitOf(answer: OutboundAnswer, now: number): number | undefined {
  const own = answer.headers['x-amz-retry-after']
  if (own !== undefined && /^\d{1,9}$/.test(own)) return Math.min(LONGEST_WAIT_MS, Number(own))
  return retryAfterOf(answer, now)
}

/** The SDK's HttpHandler. */
function handlerOver(outbound: Outbound) {
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request: AwsHttpRequest, { abortSignal, exchange }: AwsCallOptions) {
      const came = await callVendor(outbound, {
        method: request.method as OutboundRequest['method'],
        url: urlOf(request),
        headers: request.headers,
        ...present({ body: request.body }),
        signal: abortSignal,
      })
      exchange.came = came
      if (came.kind !== 'answer') throw new Error(came.error)
      // The SDK changes both while it reads them: it gets its own.
      const { buffer, byteOffset, byteLength } = came.body
      const body = new Uint8Array(buffer, byteOffset, byteLength)
      return { response: { statusCode: came.status, headers: { ...came.headers }, body } }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: (): Record<string, never> => ({}),
    destroy() {},
  }
}

function urlOf({ protocol, hostname, port, path, query = {} }: AwsHttpRequest): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => (one === null ? escaped(name) : `${escaped(name)}=${escaped(one)}`)),
  )
  const search = parts.length === 0 ? '' : `?${parts.join('&')}`
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${search}`
}

/** As it was signed. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

type AwsConfig = ReturnType<typeof configOf>

/** What a client is made with; every client of the SDK takes it. */
function configOf({ settings, secrets }: Account, requestHandler: ReturnType<typeof handlerOver>) {
  return {
    region: textAt(settings, 'region') ?? '',
    ...present({ endpoint: textAt(settings, 'endpoint') }),
    credentials: {
      accessKeyId: secrets['accessKeyId'] ?? '',
      secretAccessKey: secrets['secretAccessKey'] ?? '',
      ...present({ sessionToken: secrets['sessionToken'] || null }),
    },
    maxAttempts: 1,
    retryMode: 'standard',
    defaultsMode: 'standard',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    ignoreConfiguredEndpointUrls: true,
    requestHandler,
  } as const
}

/** Hashed, so that no secret is kept as a key. */
function keyOf({ region, endpoint: own, credentials }: AwsConfig): string {
  return createHash('sha256')
    .update(JSON.stringify([region, own, credentials]))
    .digest('base64')
}

const REGION = '[a-z]{2,5}(?:-[a-z]{2,16}){1,3}-[0-9]{1,2}'

const TOPIC_ARN = new RegExp(`^arn:aws[a-z-]{0,20}:sns:${REGION}:[0-9]{12}:[A-Za-z0-9_-]{1,256}(?:\\.fifo)?$`)

export function isTopicArn(text: string): boolean {
  return TOPIC_ARN.test(text)
}

/** A name that AWS knows a resource by, or the resource's ARN. */
export const awsName = matching(/^[A-Za-z0-9_:/+-]{1,256}$/, 'a name of letters, digits, _ and -, or an ARN')

/** Settings and secrets of every AWS account. */
const awsSettings: Readonly<Record<string, Field>> = {
  region: {
    words: 'The AWS region, such as eu-central-1.',
    isRequired: true,
    problem: matching(new RegExp(`^${REGION}$`), 'a region such as eu-central-1'),
  },
  topicArn: {
    words:
      'The SNS topic that receipts come from: no other is believed, nor confirmed. Without it the address of receipts carries a token, and the subscription has to be confirmed by hand.',
    problem: matching(TOPIC_ARN, 'the ARN of an SNS topic, such as arn:aws:sns:eu-central-1:123456789012:receipts'),
  },
  endpoint,
}

const awsSecrets: Readonly<Record<string, Field>> = {
  accessKeyId: { words: 'The id of the access key.', isRequired: true, problem: headerSecret },
  secretAccessKey: { words: 'The access key’s secret.', isRequired: true, problem: headerSecret },
  sessionToken: { words: 'The token of temporary credentials.', problem: headerSecret },
  webhookToken: {
    words: 'What receipts carry in their address where no `topicArn` is set; made if not given.',
    problem: headerSecret,
  },
}

/** The topic that an account names, which then needs no token in the address of its receipts. */
export function topicOf({ settings }: Pick<Account, 'settings'>): string | null {
  return textAt(settings, 'topicArn')
}

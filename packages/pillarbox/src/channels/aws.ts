import { createHash } from 'node:crypto'
import type { Account } from '../model/account.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Clock } from '../model/ports.ts'
import { type AwsErrors, type AwsRefusal, awsRule } from './aws-errors.ts'
import type { Field, Verification } from './channel.ts'
import { endpoint, headerSecret, matching } from './fields.ts'
import type { Outbound, OutboundAnswer, OutboundFailure, OutboundRequest } from './outbound.ts'
import { optionalSdk } from './sdk.ts'
import { at, outcomeOf, outcomeOfFailure, retryAfterOf, textAt } from './vendor-answers.ts'

/**
 * What the AWS providers share. They speak through AWS's own clients, which sign and encode; the way out is ours: the
 * clients' HTTP handler calls `outbound`, their retries are off, and nothing is read from the environment that could send
 * a request elsewhere.
 */
export interface Aws<Module, Client> {
  /** One call. `ask` gets the client of this account and must hand the options on. */
  call<Output>(account: Account, signal: AbortSignal, ask: Ask<Module, Client, Output>): Promise<AwsAnswer<Output>>
  close(): void
}

type Ask<Module, Client, Output> = (module: Module, client: Client, options: AwsCallOptions) => Promise<Output>

export type AwsAnswer<Output> =
  | { kind: 'output'; output: Output }
  /** AWS said no, and why. */
  | { kind: 'refusal'; refusal: AwsRefusal & { retryAfterMs?: number } }
  /** It did not come to an answer that says anything. */
  | { kind: 'none'; outcome: Exclude<Outcome, { kind: 'accepted' | 'permanent' | 'throttled' }> }

/** What a client is made with; every client of the SDK takes it. */
export interface AwsConfig {
  region: string
  endpoint?: string
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string }
  maxAttempts: 1
  retryMode: 'standard'
  defaultsMode: 'standard'
  useDualstackEndpoint: false
  useFipsEndpoint: false
  ignoreConfiguredEndpointUrls: true
  requestHandler: AwsHandler
}

export interface AwsCallOptions {
  abortSignal: AbortSignal
  /** The clients hand their options to the handler: so each call knows what came of its own request. */
  exchange: { came: OutboundAnswer | OutboundFailure | null }
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

/** The SDK's HttpHandler. A type, not an interface, so that the SDK's index signature takes it. */
type AwsHandler = {
  metadata: { handlerProtocol: string }
  handle(
    request: AwsHttpRequest,
    options: AwsCallOptions,
  ): Promise<{ response: { statusCode: number; headers: Record<string, string>; body: Uint8Array } }>
  updateHttpClientConfig(): void
  httpHandlerConfigs(): Record<string, never>
  destroy(): void
}

const MOST_CLIENTS = 1_000
const LONGEST_WAIT_MS = 24 * 3_600_000

export function createAws<Module, Client extends { destroy(): void }>(deps: {
  outbound: Outbound
  clock: Clock
  /** The npm package. */
  sdk: string
  importSdk: () => Promise<Module>
  client: (module: Module, config: AwsConfig) => Client
}): Aws<Module, Client> {
  const { clock } = deps
  const sdk = optionalSdk(deps.sdk, deps.importSdk)
  const requestHandler = handlerOver(deps.outbound)
  const clients = new Map<string, Client>()

  /** One client per set of credentials; with others, such as new ones of the same account, comes another client. */
  function clientOf(module: Module, account: Account): Client {
    const config = configOf(account, requestHandler)
    const key = keyOf(config)
    const known = clients.get(key)
    if (known) return known
    const client = deps.client(module, config)
    const [oldest] = clients.size >= MOST_CLIENTS ? clients : []
    if (oldest) {
      clients.delete(oldest[0])
      oldest[1].destroy()
    }
    clients.set(key, client)
    return client
  }

  async function call<Output>(
    account: Account,
    signal: AbortSignal,
    ask: Ask<Module, Client, Output>,
  ): Promise<AwsAnswer<Output>> {
    const loaded = await sdk()
    if (loaded.kind !== 'sdk') return { kind: 'none', outcome: loaded }
    // The client would sign with nothing and go on.
    if (!account.secrets['accessKeyId'] || !account.secrets['secretAccessKey'])
      return {
        kind: 'none',
        outcome: { kind: 'unauthorized', code: 'bad_settings', error: 'the access key is missing' },
      }
    const options: AwsCallOptions = { abortSignal: signal, exchange: { came: null } }
    try {
      const client = clientOf(loaded.module, account)
      return { kind: 'output', output: await ask(loaded.module, client, options) }
    } catch (error) {
      return explain(error, options, clock.now())
    }
  }

  return {
    call,
    close() {
      for (const client of clients.values()) client.destroy()
      clients.clear()
    },
  }
}

/** An outcome for what is neither an output nor worth a line in a table. */
function explain(error: unknown, { abortSignal, exchange: { came } }: AwsCallOptions, now: number): AwsAnswer<never> {
  if (came === null) {
    // The client gave up before it asked for anything to be sent.
    const outcome: Outcome = abortSignal.aborted
      ? { kind: 'transient', code: 'aborted', error: 'given up by the caller' }
      : { kind: 'unauthorized', code: 'bad_settings', error: `the AWS client makes no call: ${wordsOf(error)}` }
    return { kind: 'none', outcome }
  }
  if (came.kind === 'failure') return { kind: 'none', outcome: outcomeOfFailure(came) as Undecided }
  const { status } = came
  if (status < 400)
    return {
      kind: 'none',
      outcome: { kind: 'unknown', code: 'malformed_reply', error: `AWS answered ${status} with something else` },
    }
  const retryAfterMs = waitOf(came, now)
  return {
    kind: 'refusal',
    refusal: { ...refusalOf(error, status), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  }
}

type Undecided = Extract<AwsAnswer<never>, { kind: 'none' }>['outcome']

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

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** What came of a call that sends something. `id` finds the message's id in the output: without one it is no success. */
export function outcomeOfCall<Output>(
  vendor: string,
  errors: AwsErrors,
  answer: AwsAnswer<Output>,
  id: (output: Output) => string | undefined,
): Outcome {
  if (answer.kind === 'none') return answer.outcome
  if (answer.kind === 'refusal') {
    const { refusal } = answer
    const code = refusal.reason === null ? refusal.code : `${refusal.code}/${refusal.reason}`
    return outcomeOf(awsRule(errors, refusal), code, `${vendor} says: ${refusal.words}`, refusal.retryAfterMs)
  }
  const messageId = id(answer.output)
  return messageId
    ? { kind: 'accepted', providerMessageId: messageId }
    : { kind: 'unknown', code: 'malformed_reply', error: `${vendor} answered without a message id` }
}

/** What came of a question that only checks the credentials. */
export function verificationOf<Output>(
  vendor: string,
  answer: AwsAnswer<Output>,
  judge: (output: Output) => Verification,
): Verification {
  if (answer.kind === 'output') return judge(answer.output)
  if (answer.kind === 'none') return { isGood: false, error: answer.outcome.error }
  return { isGood: false, error: `${vendor} says: ${answer.refusal.words} (${answer.refusal.code})` }
}

function handlerOver(outbound: Outbound): AwsHandler {
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request, { abortSignal, exchange }) {
      const came = await outbound.request({
        method: request.method as OutboundRequest['method'],
        url: urlOf(request),
        headers: request.headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        signal: abortSignal,
      })
      exchange.came = came
      if (came.kind === 'failure') throw new Error(came.error)
      // The SDK changes both while it reads them: it gets its own.
      const { buffer, byteOffset, byteLength } = came.body
      const body = new Uint8Array(buffer, byteOffset, byteLength)
      return { response: { statusCode: came.status, headers: { ...came.headers }, body } }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
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

function configOf({ settings, secrets }: Account, requestHandler: AwsHandler): AwsConfig {
  const own = textAt(settings, 'endpoint')
  const sessionToken = secrets['sessionToken']
  return {
    region: textAt(settings, 'region') ?? '',
    ...(own === null ? {} : { endpoint: own }),
    credentials: {
      accessKeyId: secrets['accessKeyId'] ?? '',
      secretAccessKey: secrets['secretAccessKey'] ?? '',
      ...(sessionToken ? { sessionToken } : {}),
    },
    maxAttempts: 1,
    retryMode: 'standard',
    defaultsMode: 'standard',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    ignoreConfiguredEndpointUrls: true,
    requestHandler,
  }
}

/** Hashed, so that no secret is kept as a key. */
function keyOf({ region, endpoint: own, credentials }: AwsConfig): string {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const parts = [region, own ?? null, accessKeyId, secretAccessKey, sessionToken ?? null]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64')
}

const REGION = '[a-z]{2,5}(?:-[a-z]{2,16}){1,3}-[0-9]{1,2}'

/** A name that AWS knows a resource by, or the resource's ARN. */
export const awsName = matching(/^[A-Za-z0-9_:/+-]{1,256}$/, 'a name of letters, digits, _ and -, or an ARN')

/** Settings and secrets of every AWS account. */
export const awsSettings: Readonly<Record<string, Field>> = {
  region: {
    words: 'The AWS region, such as eu-central-1.',
    isRequired: true,
    problem: matching(new RegExp(`^${REGION}$`), 'a region such as eu-central-1'),
  },
  topicArn: {
    words: 'The SNS topic that receipts come from; others are refused.',
    problem: matching(
      new RegExp(`^arn:aws[a-z-]{0,20}:sns:${REGION}:[0-9]{12}:[A-Za-z0-9_-]{1,256}(?:\\.fifo)?$`),
      'the ARN of an SNS topic, such as arn:aws:sns:eu-central-1:123456789012:receipts',
    ),
  },
  endpoint,
}

export const awsSecrets: Readonly<Record<string, Field>> = {
  accessKeyId: { words: 'The id of the access key.', isRequired: true, problem: headerSecret },
  secretAccessKey: { words: 'The access key’s secret.', isRequired: true, problem: headerSecret },
  sessionToken: { words: 'The token of temporary credentials.', problem: headerSecret },
}

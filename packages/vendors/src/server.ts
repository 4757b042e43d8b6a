import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { loopbackCertificate } from './certificates.ts'

/** A request as it arrived, whole. */
export interface VendorRequest {
  method: string
  /** Path without the query. */
  path: string
  query: URLSearchParams
  /** Names in lower case. */
  headers: Record<string, string>
  body: string
}

/** What the vendor answers. */
export interface VendorReply {
  status: number
  headers?: Record<string, string>
  /** Text goes out as it is, anything else as JSON. */
  body?: unknown
}

/**
 * How a server can misbehave beside its vendor's own answers: never answer, close the connection without an answer before
 * or after taking the message, or answer with something that is not its protocol.
 */
export type Fault = 'silence' | 'silence_after_accept' | 'reset' | 'reset_after_accept' | 'garbage'

export interface VendorServer<Answer extends string> {
  /** `http://127.0.0.1:<port>`, or https. */
  readonly url: string
  /** Everything that came in, in order. */
  readonly requests: readonly VendorRequest[]
  /** The next messages get these answers, one each, then it accepts again. Names are the vendor's own table's, or faults. */
  answerWith(...answers: readonly (Answer | Fault | VendorReply)[]): void
  /** Every message gets this answer until `acceptAll`. */
  alwaysAnswer(answer: Answer | Fault | VendorReply): void
  acceptAll(): void
  close(): Promise<void>
}

export interface VendorRules<Answer extends string> {
  /** The vendor's answers by name: its whole error table. */
  answers: Readonly<Record<Answer, VendorReply>>
  /** Requests that are not messages, such as token endpoints; null: it is a message. Their answers are not scripted. */
  aside?(request: VendorRequest): VendorReply | null
  /** What is wrong with a message by the vendor's rules: that answer comes before any script. */
  refuse?(request: VendorRequest): VendorReply | null
  /** Takes the message, remembers it, and answers as the vendor does. */
  accept(request: VendorRequest): VendorReply
}

export interface ServerOptions {
  port?: number
  /** Speaks TLS with `loopbackCertificate`. */
  tls?: boolean
}

const FAULTS: readonly Fault[] = ['silence', 'silence_after_accept', 'reset', 'reset_after_accept', 'garbage']

function isFault(text: string): text is Fault {
  return (FAULTS as readonly string[]).includes(text)
}

const MOST_BYTES = 20_000_000

/** A vendor on the loopback interface, by its rules. */
export async function startVendorServer<Answer extends string>(
  rules: VendorRules<Answer>,
  { port = 0, tls = false }: ServerOptions = {},
): Promise<VendorServer<Answer>> {
  const requests: VendorRequest[] = []
  const script: (Answer | Fault | VendorReply)[] = []
  let always: Answer | Fault | VendorReply | null = null

  const listener: RequestListener = (incoming, response) => {
    read(incoming).then(
      (request) => {
        requests.push(request)
        answer(request, response)
      },
      () => response.destroy(),
    )
  }
  const server = tls
    ? createSecureServer({ cert: loopbackCertificate.certificate, key: loopbackCertificate.key }, listener)
    : createServer(listener)

  function answer(request: VendorRequest, response: ServerResponse): void {
    const early = rules.aside?.(request) ?? rules.refuse?.(request)
    const wanted = early ?? script.shift() ?? always
    if (wanted === null) write(response, rules.accept(request))
    else if (typeof wanted !== 'string') write(response, wanted)
    else if (isFault(wanted)) misbehave(wanted, request, response)
    else write(response, rules.answers[wanted])
  }

  function misbehave(fault: Fault, request: VendorRequest, response: ServerResponse): void {
    if (fault.endsWith('_after_accept')) rules.accept(request)
    if (fault.startsWith('reset')) response.destroy()
    else if (fault === 'garbage') response.socket?.end('this is not the protocol you are looking for\r\n')
  }

  /** Said at once, and not when a message comes. */
  function checked(wanted: Answer | Fault | VendorReply): Answer | Fault | VendorReply {
    const isKnown =
      typeof wanted === 'string'
        ? isFault(wanted) || Object.hasOwn(rules.answers, wanted)
        : Number.isInteger((wanted as VendorReply | null)?.status)
    if (isKnown) return wanted
    const names = [...Object.keys(rules.answers), ...FAULTS].join(', ')
    throw new Error(`an answer is {status, headers?, body?} or one of ${names}`)
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const { port: chosen } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${chosen}`,
    requests,
    answerWith: (...answers) => void script.push(...answers.map(checked)),
    alwaysAnswer: (wanted) => {
      always = checked(wanted)
    },
    acceptAll: () => {
      script.length = 0
      always = null
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function read(incoming: IncomingMessage): Promise<VendorRequest> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > MOST_BYTES) throw new Error('the request is too long')
    chunks.push(chunk)
  }
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) if (value !== undefined) headers[name] = String(value)
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers,
    body: Buffer.concat(chunks).toString('utf8'),
  }
}

function write(response: ServerResponse, { status, headers = {}, body }: VendorReply): void {
  const isText = typeof body === 'string'
  const text = body === undefined ? '' : isText ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers })
  response.end(text)
}

/** A request's body as JSON; null where it is none. */
export function jsonObject(body: string): Record<string, unknown> | null {
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return null
  }
}

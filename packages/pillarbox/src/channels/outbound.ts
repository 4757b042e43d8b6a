import type { Socket } from 'node:net'

/**
 * The one way out: every HTTP request that leaves this process is made through it, so that deadlines, size limits and
 * the check of addresses hold everywhere. `security/outbound.ts` is the real one.
 */
export interface Outbound {
  /** Never throws and never follows a redirect: whatever comes of it is an answer or a failure. */
  request(request: OutboundRequest): Promise<OutboundAnswer | OutboundFailure>
}

export interface OutboundRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'
  url: string
  headers?: Record<string, string>
  /** Sent with its length, never in chunks. */
  body?: string | Uint8Array
  /** Aborts at the caller's own deadline. */
  signal?: AbortSignal
  /** In place of the defaults. */
  limits?: Partial<OutboundLimits>
}

export interface OutboundLimits {
  /** Until the connection stands, TLS included. */
  connectMs: number
  /** From the request's last byte to the answer's first. */
  firstByteMs: number
  /** From the beginning to the answer's last byte. */
  totalMs: number
  /** A longer answer is cut off, and a failure. */
  answerBytes: number
}

export interface OutboundAnswer {
  kind: 'answer'
  status: number
  /** Names in lower case; the values of a repeated one joined with a comma. */
  headers: Record<string, string>
  body: Buffer
}

export interface OutboundFailure {
  kind: 'failure'
  code: OutboundFailureCode
  /** In words, without secrets. */
  error: string
  /** Whether any of the request may have reached the other side: if so, nobody knows what became of it. */
  hasLeft: boolean
}

export type OutboundFailureCode =
  /** Not a URL, or not http(s), or a header that cannot be sent. */
  | 'invalid_request'
  /** The address is private, loopback or otherwise not for us to dial. */
  | 'address_refused'
  | 'dns_failed'
  | 'connect_failed'
  | 'tls_failed'
  | 'timeout'
  | 'aborted'
  /** The connection broke before the whole answer was here. */
  | 'connection_lost'
  | 'answer_too_large'
  | 'malformed_answer'

/** A connected socket for protocols that are not HTTP, such as SMTP; TLS is the caller's. Never throws. */
export type Dial = (to: {
  host: string
  port: number
  timeoutMs: number
  /** Aborts at the caller's own deadline: then no connection is made any more. */
  signal: AbortSignal
}) => Promise<Socket | OutboundFailure>

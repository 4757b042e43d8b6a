import type { Account } from '../model/account.ts'
import type { ProviderTemplate } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import type { Exchange, Outcome } from '../model/outcome.ts'
import type { Address } from '../model/recipient.ts'

/**
 * The provider contract: code that speaks one vendor's protocol on one channel. A provider translates and stops. It
 * never retries, never sleeps, never touches the store, and answers every vendor reply as an `Outcome`.
 */
export interface Provider {
  /** The name accounts use, e.g. `sandbox`. */
  readonly name: string
  readonly channels: readonly Channel[]
  /** What it sends and by which service, in a sentence or two, for the reference page. */
  readonly words?: string
  /** The npm package of the vendor that it needs, where it does not speak the vendor's protocol itself. */
  readonly sdk?: string
  /** What an account of this provider is made of, for its check, its errors and the reference page. */
  readonly fields?: ProviderFields
  /** What else is wrong with an account's settings, told when they are saved; none when they can be used. */
  checkSettings?(settings: Record<string, unknown>, secretNames: readonly string[]): FieldError[]
  /** What may be done when the outcome of a call is unknown. */
  readonly capability: (account: Account) => Capability
  /** For `key`: how long after the first call the vendor knows a repeat; after that it is another message. Absent: always. */
  readonly keyWindowMs?: number
  /** For `lookup`: how long after a call the vendor may not know of it yet. Absent: it knows at once. */
  readonly lookupLagMs?: number
  /** What is done about a refusal that is in none of its tables, where the account does not say. Default: `retry`. */
  readonly onUnmapped?: 'retry' | 'park'
  /** One call. Must settle soon after `signal` aborts; whatever it then answers is believed. */
  send(request: SendRequest): Promise<Outcome>
  /** A real question to the vendor whether the credentials are good, with its words where they are not. */
  verify?(account: Account, signal: AbortSignal): Promise<Verification>
  /** Tells the vendor to send its receipts to `webhookUrl`, and answers what it did, or why it could not. */
  connect?(account: Account, webhookUrl: string, signal: AbortSignal): Promise<Verification>
  /** Ends what it keeps open, such as connections. */
  close?(): void
  /** For `lookup`: what became of an earlier call with this key; null when the vendor has never seen it. */
  lookup?(request: SendRequest): Promise<Outcome | null>
}

export interface ProviderFields {
  settings: Readonly<Record<string, Field>>
  secrets: Readonly<Record<string, Field>>
}

/** What a value is chosen from, where it is not a line of text: these words, or whole numbers within bounds. */
export type FieldForm = { choices: readonly string[] } | { from: number; to: number }

/** One setting or secret of an account. */
export interface Field {
  /** What it is, in a sentence. */
  words: string
  isRequired?: boolean
  /** What is wrong with a value; null: nothing. Default: any text of one line. `form`: what a form should offer. */
  problem?: ((value: unknown) => string | null) & { readonly form?: FieldForm }
  /** It says where to connect to: whoever saves an address that would be refused is warned at once. */
  dials?: boolean
  /** What does not work where it is not set, in a sentence: whoever makes an account without it is warned. */
  without?: string
  /** What an object is made of, in place of `problem`. */
  parts?: Readonly<Record<string, Field>>
}

export type Verification = { isGood: true; detail: string } | { isGood: false; error: string }

/**
 * `key`: the vendor honours our idempotency key, so the same call may be made again.
 * `lookup`: the vendor can be asked about it. `none`: only the account's `onUnknown` policy can decide.
 */
export type Capability = 'key' | 'lookup' | 'none'

export interface SendRequest {
  account: Account
  channel: Channel
  /** Stable over all attempts of a notification: what the vendor is given as idempotency key or reference. */
  key: string
  notificationId: string
  attempt: number
  to: Target
  content: ProviderContent
  /** The language of the words, where it is known. */
  locale: string | null
  correlationId: string | null
  /** The trace that the call belongs to; what goes out by the outbound client carries it as a header. */
  traceparent?: string | null
  /** Aborts at the deadline or when shutdown can wait no longer. */
  signal: AbortSignal
  /** Where the provider writes down what the vendor said, to be kept with the attempt. */
  readonly exchange: Exchange
}

/** What the provider sends. Opened for this one call where it holds secrets: it must not be logged or kept. */
export interface ProviderContent {
  subject: string | null
  body: string
  data: Record<string, unknown>
  /** The body is HTML; any other is plain text, whatever it looks like. */
  isHtml?: boolean
  /** What a reader without HTML is shown in place of the body; absent in contents made before it was kept. */
  text?: string
  /** An approved WhatsApp template, DLT ids: already rendered. */
  providerTemplate?: ProviderTemplate
}

/** Where one call goes: an address, or in place of a recipient list everybody on it. */
export interface Target extends Address {
  /** One message to all of these, none of whom sees the others. */
  bcc?: readonly string[]
}

/** The most addresses one message may name. A larger list is sent with `expand`: one notification per member. */
export const MAX_BCC = 1_000

/** Providers by channel and name. A new provider is one file and one line where this is made. */
export type ProviderRegistry = (channel: Channel, name: string) => Provider | null

import { errorText, type FieldError } from '../model/errors.ts'
import type { Content, SealedContent } from '../model/notification.ts'
import { type Keyring, keyringOf } from './keyring.ts'
import { escaped, findSecrets } from './payload-paths.ts'
import { createSeal, type SealedPlace } from './seal.ts'
import { createSealedValueOpener, isSealed, type Sealed } from './sealed-value.ts'
import { createTokenSeal, isSealedToken, type SealedToken, type TokenSeal } from './token-seal.ts'

/** An event as far as its secrets go. What is sealed here opens in the same event only. */
export interface PayloadRef {
  tenantId: string
  /** The event's id. */
  id: string
  payload: Record<string, unknown>
}

export interface ContentPlace {
  tenantId: string
  notificationId: string
}

export type OpenedPayload =
  | {
      /** A copy with every sealed value opened; the payload itself where there was none. */
      payload: Record<string, unknown>
      /** The secret values as text: to be kept out of error messages (`redact`), and given to `sealContent`. */
      secrets: string[]
      /** Whether a sealed value was among them. A device token's does not make what is said to the device a secret. */
      wasSealed: boolean
      /** Pointers of secret fields that stood in clear: worth a `secret_in_clear` warning. */
      inClear: string[]
    }
  /**
   * The first value that cannot be opened: `path` is a JSON pointer into the payload. Trying again will not help.
   * `isScrubbed`: it is no longer there, because all that was made from it was final.
   */
  | { problem: FieldError; isScrubbed: boolean }

export type OpenedContent = { content: Content; secrets: string[] } | { error: string }

/**
 * Secret payload fields and the contents rendered from them, sealed at rest. Nothing here throws on what it finds: a
 * value that cannot be opened is answered as a problem that says where and why.
 */
export interface PayloadSeal {
  /** The public key hosts seal with; see `createSealedValueOpener`. */
  readonly sealingKey: string
  /** A copy of the payload in which the values at `paths` are sealed; those that are sealed already stay as they are. */
  sealFields(event: PayloadRef, paths: readonly string[]): Record<string, unknown>
  /** A copy of the payload in which the device tokens at `paths` are sealed as the ledger's are. */
  sealTokens(event: PayloadRef, paths: readonly string[]): Record<string, unknown>
  /** `paths`: the event type's `secrets`, so that those in clear are found as well. */
  openPayload(event: PayloadRef, paths: readonly string[]): OpenedPayload
  /** A copy of the payload for an event of another id: what opens only in its own is sealed for that one. */
  sealedFor(id: string, event: PayloadRef): Record<string, unknown>
  hasSealed(payload: unknown): boolean
  hasSealedToken(payload: unknown): boolean
  /** Opens only for this notification. `secrets`: as `openPayload` answered them. */
  sealContent(content: Content, secrets: readonly string[], place: ContentPlace): SealedContent
  openContent(sealed: SealedContent, place: ContentPlace): OpenedContent
}

export function isSealedContent(content: Content | SealedContent): content is SealedContent {
  return 'sealed' in content
}

/** A payload to be shown: that a value is sealed, and not its text, which whoever may publish could have opened. */
export function withoutSealedTexts(payload: unknown): unknown {
  return JSON.parse(
    JSON.stringify(payload, (_, value: unknown) =>
      isSealed(value) || isSealedToken(value) ? { $sealed: true } : value,
    ),
  ) as unknown
}

/** Seals under the ring's current key; what was sealed under any other of its keys opens, too. */
export function createPayloadSeal(keys: Keyring | Buffer, tokens: TokenSeal = createTokenSeal()): PayloadSeal {
  const ring = keyringOf(keys)
  const seal = createSeal(ring)
  const fromHosts = createSealedValueOpener(ring)

  function open({ $sealed: text }: Sealed, event: PayloadRef): { value: unknown } | { error: string } {
    if (!text.startsWith(SERVER_VERSION)) return fromHosts.open(text, event.tenantId)
    try {
      return { value: JSON.parse(seal.open(text, payloadPlace(event))) as unknown }
    } catch (error) {
      return { error: `cannot be opened: ${errorText(error)}` }
    }
  }

  /** What cannot be opened stays as it is: opening it in its new place says so. */
  function moved(sealed: Sealed, event: PayloadRef, id: string): Sealed {
    if (!sealed.$sealed.startsWith(SERVER_VERSION)) return sealed
    const opened = open(sealed, event)
    if ('error' in opened) return sealed
    return { $sealed: seal.seal(JSON.stringify(opened.value), payloadPlace({ ...event, id })) }
  }

  return {
    get sealingKey() {
      return fromHosts.sealingKey
    },

    sealFields(event, paths) {
      const payload = structuredClone(event.payload)
      for (const { value, replace } of findSecrets(payload, paths))
        if (!isSealed(value)) replace({ $sealed: seal.seal(JSON.stringify(value), payloadPlace(event)) })
      return payload
    },

    sealTokens(event, paths) {
      const payload = structuredClone(event.payload)
      for (const { value, replace } of findSecrets(payload, paths))
        if (typeof value === 'string') replace({ $token: tokens.seal(event.tenantId, value) })
      return payload
    },

    openPayload(event, paths) {
      const clear = findSecrets(event.payload, paths).filter(({ value }) => !isSealed(value))
      const secrets = new Set(clear.flatMap(({ value }) => textsOf(value)))
      const inClear = clear.map(({ pointer }) => pointer)
      if (!find(event.payload, isOpaque))
        return { payload: event.payload, secrets: [...secrets], wasSealed: false, inClear }
      let wasSealed = false
      const opening: Opening = {
        open(sealed) {
          wasSealed = true
          const opened = open(sealed, event)
          if ('value' in opened) for (const text of textsOf(opened.value)) secrets.add(text)
          return opened
        },
        // Only in an event, where intakes and planning put it: a request that brings one wants it read to him.
        openToken: ({ $token: text }) => (event.id === '' ? null : tokens.open(event.tenantId, text)),
        problem: null,
        isScrubbed: false,
      }
      const payload = openDeep(event.payload, '', opening) as Record<string, unknown>
      const { problem, isScrubbed } = opening
      return problem ? { problem, isScrubbed } : { payload, secrets: [...secrets], wasSealed, inClear }
    },

    sealedFor: (id, event) => resealDeep(event.payload, (value) => moved(value, event, id)) as Record<string, unknown>,

    hasSealed: (payload) => find(payload, isSealed),
    hasSealedToken: (payload) => find(payload, isSealedToken),

    sealContent(content, secrets, place) {
      return { sealed: seal.seal(JSON.stringify({ content, secrets }), contentPlace(place)) }
    },

    openContent({ sealed }, place) {
      try {
        return JSON.parse(seal.open(sealed, contentPlace(place))) as { content: Content; secrets: string[] }
      } catch (error) {
        return { error: errorText(error) }
      }
    },
  }
}

/** How a value sealed by the server itself begins; those of hosts begin otherwise. */
const SERVER_VERSION = 's1.'

function payloadPlace({ tenantId, id }: PayloadRef): SealedPlace {
  return { tenantId, table: 'events', rowId: id }
}

function contentPlace({ tenantId, notificationId }: ContentPlace): SealedPlace {
  return { tenantId, table: 'notifications', rowId: notificationId }
}

/** Deeper than any intake takes; what a host wrote past them must not end the stack. */
const MAX_DEPTH = 1_000

function find(value: unknown, is: (value: object) => boolean, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false
  // Too deep to tell: opening it will say so.
  return depth > MAX_DEPTH || is(value) || Object.values(value).some((field) => find(field, is, depth + 1))
}

function isOpaque(value: object): boolean {
  return isSealed(value) || isScrubbedValue(value) || isSealedToken(value)
}

/** What the store leaves in place of a sealed value that is no longer needed. */
function isScrubbedValue(value: object): boolean {
  return '$scrubbed' in value && value.$scrubbed === true && Object.keys(value).length === 1
}

interface Opening {
  open(sealed: Sealed): { value: unknown } | { error: string }
  openToken(sealed: SealedToken): string | null
  problem: FieldError | null
  isScrubbed: boolean
}

/** Never looks into what it opened: a secret that looks like a sealed value is just that secret. */
function openDeep(value: unknown, pointer: string, opening: Opening, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) {
    opening.problem ??= { path: '', message: `is nested deeper than ${MAX_DEPTH} levels` }
    return null
  }
  if (isScrubbedValue(value)) {
    opening.isScrubbed ||= opening.problem === null
    opening.problem ??= { path: pointer, message: 'was a secret, and was removed when all made from it was final' }
    return null
  }
  if (isSealedToken(value)) {
    const token = opening.openToken(value)
    if (token === null) opening.problem ??= { path: pointer, message: 'is a device token that cannot be opened' }
    return token
  }
  if (isSealed(value)) {
    const opened = opening.open(value)
    if ('value' in opened) return opened.value
    opening.problem ??= { path: pointer, message: opened.error }
    return null
  }
  const within = (step: string | number, field: unknown): unknown =>
    openDeep(field, `${pointer}/${step}`, opening, depth + 1)
  if (Array.isArray(value)) return value.map((element, index) => within(index, element))
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, within(escaped(name), field)]))
}

function resealDeep(value: unknown, reseal: (sealed: Sealed) => Sealed, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (isSealed(value)) return reseal(value)
  const within = (field: unknown): unknown => resealDeep(field, reseal, depth + 1)
  if (Array.isArray(value)) return value.map(within)
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, within(field)]))
}

/** The words and numbers in a secret. True and false are no secrets that a text could give away. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (typeof value === 'number') return [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

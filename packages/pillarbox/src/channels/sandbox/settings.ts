import { CHANNELS, type Channel, isChannel } from '../../model/channel.ts'
import type { FieldError } from '../../model/errors.ts'
import { isReason, REASONS, type Reason } from '../../model/reason.ts'

/** How a sandbox account behaves. Every setting is optional; without any it accepts everything and honours keys. */
export interface SandboxSettings {
  /** A repeated key answers the first message's id and records nothing. Default: true, or false where `lookup` is set. */
  honoursKeys: boolean
  /** The vendor can be asked what became of a key. Default: false. */
  lookup: boolean
  /** How long every call takes before the vendor sees it. Default: 0. */
  latencyMs: number
  /** The vendor refuses what goes beyond. Default: null, no limit. */
  limit: { perSecond: number } | null
  /** Tried in order; the first that applies decides the call. Default: none. */
  faults: Fault[]
}

/** One rule of misbehaviour. It applies where `to`, `channel`, `ratio` and `times` all agree. */
export interface Fault {
  kind: FaultKind
  /** Only so often, counted over all processes and restarts. */
  times?: number
  /** Only for this share of the calls. */
  ratio?: number
  /** Only for this address; `*` stands for any characters. Letter case does not matter. */
  to?: string
  channel?: Channel
  delayMs?: number
  retryAfterMs?: number
  reason?: Reason
  /** Tells otherwise equal rules apart, so that their `times` are counted apart. */
  name?: string
}

/** What each kind of fault does, and the fields that mean something to it beside the ones that say when it applies. */
export const FAULT_KINDS = {
  refuse: { does: 'The connection is refused; nothing left.', fields: [] },
  slow: { does: 'Accepted, but only after `delayMs` (2000).', fields: ['delayMs'] },
  timeout_before_accept: { does: 'Nothing is recorded and no answer comes, until `delayMs`.', fields: ['delayMs'] },
  timeout_after_accept: { does: 'The message is recorded and no answer comes, until `delayMs`.', fields: ['delayMs'] },
  rate_limited: { does: 'Answers 429, asking to wait for `retryAfterMs`.', fields: ['retryAfterMs'] },
  server_error: { does: 'Answers 503, asking to wait for `retryAfterMs`.', fields: ['retryAfterMs'] },
  permanent: { does: 'Refuses for good with `reason` (`invalid_recipient`).', fields: ['reason'] },
  unauthorized: { does: 'Refuses the account’s credentials with 401.', fields: [] },
  malformed: { does: 'The message is recorded, and the answer is a 200 without a message id.', fields: [] },
} as const satisfies Record<string, { does: string; fields: readonly (keyof Fault)[] }>

export type FaultKind = keyof typeof FAULT_KINDS

const SETTINGS = ['honoursKeys', 'lookup', 'latencyMs', 'limit', 'faults', 'onUndeliverable']
const FAULT_CONDITIONS = ['kind', 'name', 'times', 'ratio', 'to', 'channel']
const MAX_LATENCY_MS = 60_000
const MAX_DELAY_MS = 600_000
const MAX_FAULTS = 100

/** Everything that is wrong with a sandbox account's settings, by JSON pointer; empty when nothing is. */
export function checkSandboxSettings(settings: unknown): FieldError[] {
  const read = readSandboxSettings(settings)
  return 'problems' in read ? read.problems : []
}

/** Reads an account's settings with their defaults. Answers what is wrong instead of throwing. */
export function readSandboxSettings(value: unknown): { settings: SandboxSettings } | { problems: FieldError[] } {
  const problems: FieldError[] = []
  const reader = createReader(problems)
  const json = reader.record(value, '', SETTINGS)
  const lookup = reader.boolean(json['lookup'], '/lookup') ?? false
  const limit = json['limit'] ?? null
  const settings: SandboxSettings = {
    lookup,
    honoursKeys: reader.boolean(json['honoursKeys'], '/honoursKeys') ?? !lookup,
    latencyMs: reader.number(json['latencyMs'], '/latencyMs', 0, MAX_LATENCY_MS) ?? 0,
    limit: limit === null ? null : readLimit(reader, limit),
    faults: readFaults(reader, json['faults']),
  }
  // Not the vendor's affair: dispatch reads it. But what is saved must make sense.
  if (!['fail', 'park', undefined].includes(json['onUndeliverable'] as undefined))
    reader.wrong('/onUndeliverable', 'must be "fail" or "park"')
  return problems.length ? { problems } : { settings }
}

function readLimit(reader: Reader, value: unknown): SandboxSettings['limit'] {
  const json = reader.record(value, '/limit', ['perSecond'])
  if (json['perSecond'] === undefined) reader.wrong('/limit/perSecond', 'is missing')
  return { perSecond: reader.number(json['perSecond'], '/limit/perSecond', 1, 1_000_000) ?? 1 }
}

function readFaults(reader: Reader, value: unknown): Fault[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > MAX_FAULTS) {
    reader.wrong('/faults', `must be a list of at most ${MAX_FAULTS} faults`)
    return []
  }
  return value.map((entry: unknown, index) => readFault(reader, entry, `/faults/${index}`))
}

function readFault(reader: Reader, value: unknown, path: string): Fault {
  const kind = isRecord(value) ? value['kind'] : undefined
  if (!isFaultKind(kind)) {
    reader.wrong(`${path}/kind`, `must be one of ${Object.keys(FAULT_KINDS).join(', ')}`)
    return { kind: 'refuse' }
  }
  const json = reader.record(value, path, [...FAULT_CONDITIONS, ...FAULT_KINDS[kind].fields])
  const fault: Fault = { kind }
  const name = reader.text(json['name'], `${path}/name`)
  const to = reader.text(json['to'], `${path}/to`)
  const times = reader.number(json['times'], `${path}/times`, 1, 1_000_000_000)
  const delayMs = reader.number(json['delayMs'], `${path}/delayMs`, 0, MAX_DELAY_MS)
  const retryAfterMs = reader.number(json['retryAfterMs'], `${path}/retryAfterMs`, 0, 24 * 3_600_000)
  const { ratio, channel, reason } = json
  if (name !== undefined) fault.name = name
  if (to !== undefined) fault.to = to
  if (times !== undefined) fault.times = times
  if (delayMs !== undefined) fault.delayMs = delayMs
  if (retryAfterMs !== undefined) fault.retryAfterMs = retryAfterMs
  if (typeof ratio === 'number' && ratio > 0 && ratio <= 1) fault.ratio = ratio
  else if (ratio !== undefined) reader.wrong(`${path}/ratio`, 'must be a number above 0 and at most 1')
  if (isChannel(channel)) fault.channel = channel
  else if (channel !== undefined) reader.wrong(`${path}/channel`, `must be one of ${CHANNELS.join(', ')}`)
  if (typeof reason === 'string' && Object.hasOwn(REASONS, reason) && isReason(reason)) fault.reason = reason as Reason
  else if (reason !== undefined) reader.wrong(`${path}/reason`, 'must be one of the reasons in the states reference')
  return fault
}

function isFaultKind(value: unknown): value is FaultKind {
  return typeof value === 'string' && Object.hasOwn(FAULT_KINDS, value)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Reader = ReturnType<typeof createReader>

/** Each method answers the value, or notes what is wrong and answers undefined; an absent value is never wrong. */
function createReader(problems: FieldError[]) {
  const wrong = (path: string, message: string): undefined => void problems.push({ path, message })
  return {
    wrong,
    record(value: unknown, path: string, known: readonly string[]): Record<string, unknown> {
      if (!isRecord(value)) {
        wrong(path, 'must be an object')
        return {}
      }
      for (const key of Object.keys(value))
        if (!known.includes(key)) wrong(`${path}/${key}`, `is not one of ${known.join(', ')}`)
      return value
    },
    boolean(value: unknown, path: string): boolean | undefined {
      return value === undefined || typeof value === 'boolean' ? value : wrong(path, 'must be true or false')
    },
    number(value: unknown, path: string, min: number, max: number): number | undefined {
      if (value === undefined) return undefined
      if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
      return wrong(path, `must be a whole number between ${min} and ${max}`)
    },
    text(value: unknown, path: string): string | undefined {
      if (value === undefined) return undefined
      if (typeof value === 'string' && value.length > 0 && value.length <= 255) return value
      return wrong(path, 'must be a text of 1 to 255 characters')
    },
  }
}

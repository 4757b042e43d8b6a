import { isIP } from 'node:net'
import { signingKeys } from '../channels/webhook/signature.ts'
import { isEmail, isPhone } from '../model/address.ts'
import { ALERT_RULES, type AlertRule, isAlertRule } from '../model/alert.ts'
import { CHANNELS, type Channel, isChannel } from '../model/channel.ts'
import { formatDuration, parseDuration } from '../model/duration.ts'

/** Reads one setting, from the text of a flag or variable or from the value in a file. */
export interface SettingCheck<T> {
  /** What stands for the value in the help; null for a switch, whose flag has none. */
  placeholder: string | null
  /** Completes "expected …". */
  expected: string
  /** Undefined: not what was expected. */
  read(raw: unknown): T | undefined
  /** The value as one would write it in a file. */
  write(value: T): string
}

export function wholeNumber(min: number, max: number): SettingCheck<number> {
  return {
    placeholder: 'number',
    expected: `a whole number from ${min} to ${max}`,
    read(raw) {
      const value = typeof raw === 'string' && /^\d{1,15}$/.test(raw) ? Number(raw) : raw
      return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined
    },
    write: String,
  }
}

export function duration(min: string, max: string): SettingCheck<number> {
  const [minMs, maxMs] = [parseDuration(min) ?? 0, parseDuration(max) ?? 0]
  return {
    placeholder: 'duration',
    expected: `an ISO 8601 duration from ${min} to ${max}`,
    read(raw) {
      const ms = typeof raw === 'string' ? parseDuration(raw) : null
      return ms !== null && ms >= minMs && ms <= maxMs ? ms : undefined
    },
    write: formatDuration,
  }
}

/** Comma-separated, or a list in a file, in their order. */
export function durationList(min: string, max: string, most: number): SettingCheck<number[]> {
  const one = duration(min, max)
  return {
    placeholder: 'durations',
    expected: `a list of at most ${most} ISO 8601 durations, each from ${min} to ${max}`,
    read(raw) {
      const list: unknown = typeof raw === 'string' ? raw.split(',').map((item) => item.trim()) : raw
      if (!Array.isArray(list) || list.length === 0 || list.length > most) return undefined
      const read = list.map((item: unknown) => one.read(item))
      return read.includes(undefined) ? undefined : (read as number[])
    },
    write: (items) => items.map(one.write).join(','),
  }
}

export function switchable(): SettingCheck<boolean> {
  return {
    placeholder: null,
    expected: '1, 0, true or false',
    read(raw) {
      const value = typeof raw === 'string' ? raw.toLowerCase() : raw
      if (value === true || value === 1 || value === '1' || value === 'true') return true
      return value === false || value === 0 || value === '0' || value === 'false' ? false : undefined
    },
    write: String,
  }
}

export function oneOf<const T extends string>(placeholder: string, choices: readonly T[]): SettingCheck<T> {
  return {
    placeholder,
    expected: `one of ${choices.join(', ')}`,
    read: (raw) => choices.find((choice) => choice === raw),
    write: String,
  }
}

export function text(placeholder: string, expected: string, pattern: RegExp): SettingCheck<string> {
  return textRead(placeholder, expected, (raw) => (pattern.test(raw) ? raw : undefined))
}

/** A text that nobody can guess, by its length and the characters it is made of; `how` makes one. */
export function randomText(bits: number, how: string): SettingCheck<string> {
  const expected = `at least ${bits} random bits as printable ASCII characters without spaces, at most 512, such as "${how}" prints`
  return textRead('key', expected, (raw) =>
    /^[\x21-\x7e]{1,512}$/.test(raw) && mostBits(raw) >= bits ? raw : undefined,
  )
}

const ALPHABETS: readonly (readonly [RegExp, number])[] = [
  [/\d/, 10],
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/[^\dA-Za-z]/, 32],
]

/** How much chance such a text can have in it at most. One of few different characters was typed, not drawn. */
function mostBits(raw: string): number {
  if (new Set(raw).size < 8) return 0
  const size = /^[\da-f]+$/i.test(raw)
    ? 16
    : ALPHABETS.reduce((sum, [has, count]) => sum + (has.test(raw) ? count : 0), 0)
  return raw.length * Math.log2(size)
}

export function databaseUrl(): SettingCheck<string> {
  return textRead('url', 'postgres://…, postgresql://… or sqlite:PATH', (raw) => {
    if (/^sqlite:[^\0]+$/.test(raw)) return raw.startsWith('sqlite://') ? undefined : raw
    return /^postgres(ql)?:\/\/./.test(raw) && URL.canParse(raw) ? raw : undefined
  })
}

/** `file:PATH`, or an endpoint; only one on this machine needs no TLS. */
export function sinkUrl(): SettingCheck<string> {
  return textRead('sink', 'file:PATH, or an https URL', (raw) => {
    if (/^file:[^\0]{1,4096}$/.test(raw)) return raw.startsWith('file://') ? undefined : raw
    return isHook(raw) ? raw : undefined
  })
}

/** An endpoint; only one on this machine needs no TLS. */
export function hookUrl(): SettingCheck<string> {
  return textRead('url', 'an https URL', (raw) => (isHook(raw) ? raw : undefined))
}

function isHook(raw: string): boolean {
  return /^(?:https:\/\/|http:\/\/(?:localhost|127\.0\.0\.1)[:/])[^\s#@]+$/i.test(raw) && URL.canParse(raw)
}

export function signingSecret(): SettingCheck<string> {
  return textRead('secret', 'whsec_ and base64 of 24 to 64 bytes, or several of them separated by spaces', (raw) =>
    signingKeys(raw) === null ? undefined : raw,
  )
}

/** Without a slash at its end, so that a path can follow. */
export function baseUrl(): SettingCheck<string> {
  return textRead('url', 'a URL with http or https, of host, optional port and optional path', (raw) => {
    const url = /^https?:\/\/[^\s?#@]+$/i.test(raw) ? URL.parse(raw) : null
    return url === null ? undefined : `${url.origin}${url.pathname}`.replace(/\/+$/, '')
  })
}

function textRead(
  placeholder: string,
  expected: string,
  read: (raw: string) => string | undefined,
): SettingCheck<string> {
  return { placeholder, expected, read: (raw) => (typeof raw === 'string' ? read(raw) : undefined), write: String }
}

/** Exactly so many bytes, in base64 or base64url. */
export function keyBytes(count: number): SettingCheck<Buffer | null> {
  return {
    placeholder: 'key',
    expected: `${count} bytes in base64`,
    read: (raw) => (typeof raw === 'string' ? keyOf(raw, count) : undefined),
    write: () => '',
  }
}

/** Keys of exactly so many bytes. */
export function keyList(count: number): SettingCheck<Buffer[]> {
  const expected = `a list of keys, each ${keyBytes(count).expected}`
  return { ...listOf(expected, (raw) => keyOf(raw, count)), write: () => '' }
}

function keyOf(raw: string, count: number): Buffer | undefined {
  if (!/^[\w+/-]+={0,2}$/.test(raw)) return undefined
  const bytes = Buffer.from(raw, 'base64')
  // Node skips what it cannot read; a key with a slip in it must not become another key.
  const isWhole = bytes.toString('base64url') === raw.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
  return bytes.length === count && isWhole ? bytes : undefined
}

/** How many proxies, or their addresses and ranges. */
export function proxyTrust(): SettingCheck<number | string[]> {
  const count = wholeNumber(0, 10)
  const networks = listOf('', (raw) => (isNetwork(raw) ? raw : undefined))
  return {
    placeholder: 'list',
    expected:
      'a number of proxies from 0 to 10, or a list of IP addresses and ranges such as 10.0.0.0/8 (but no /0, which is everybody)',
    read: (raw) => count.read(raw) ?? networks.read(raw),
    write: (proxies) => (typeof proxies === 'number' ? count.write(proxies) : networks.write(proxies)),
  }
}

/** An IP address, alone or with the length of its prefix. */
function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || more.length > 0) return false
  if (prefix === undefined) return true
  return /^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= (family === 4 ? 32 : 128)
}

/** At least one; null: all. */
export function channelList(): SettingCheck<Channel[] | null> {
  const { read, ...list } = listOf(`a list of ${CHANNELS.join(', ')}`, (raw) => (isChannel(raw) ? raw : undefined))
  return {
    ...list,
    read(raw) {
      const channels = read(raw)
      return channels?.length ? channels : undefined
    },
    write: (channels) => list.write(channels ?? []),
  }
}

/** Whom alerts go to. */
export function addressList(): SettingCheck<string[]> {
  return listOf('a list of email addresses and phone numbers such as +4915112345678', (raw) =>
    isEmail(raw) || isPhone(raw) ? raw : undefined,
  )
}

/** `none`, or the rules that are on. */
export function alertRuleList(): SettingCheck<AlertRule[]> {
  const { read, ...list } = listOf(`none, or a list of ${ALERT_RULES.join(', ')}`, (raw) =>
    isAlertRule(raw) ? raw : undefined,
  )
  return { ...list, read: (raw) => (raw === 'none' ? [] : read(raw)) }
}

/** `host` or `host:port`. In lower case. */
export function hostList(): SettingCheck<string[]> {
  const form = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i
  return listOf('a list of hosts, each as host or host:port', (raw) => (form.test(raw) ? raw.toLowerCase() : undefined))
}

/** `*`, or origins as browsers name them. */
export function originList(): SettingCheck<string[]> {
  return listOf('*, or a list of origins such as https://app.example.com, without a path', (raw) => {
    if (raw === '*') return raw
    return /^https?:\/\/[^\s/?#@]+\/?$/i.test(raw) ? URL.parse(raw)?.origin : undefined
  })
}

/** Comma-separated, or a list in a file; each once. */
function listOf<T>(expected: string, readOne: (raw: string) => T | undefined): SettingCheck<T[]> {
  return {
    placeholder: 'list',
    expected,
    read(raw) {
      const list: unknown = typeof raw === 'string' ? raw.split(',').map((item) => item.trim()) : raw
      if (!Array.isArray(list)) return undefined
      const read = list.map((item: unknown) => (typeof item === 'string' ? readOne(item) : undefined))
      return read.includes(undefined) ? undefined : [...new Set(read as T[])]
    },
    write: (items) => items.join(','),
  }
}

import { isIP } from 'node:net'
import { CHANNELS, type Channel, isChannel } from '../model/channel.ts'
import { formatDuration, parseDuration } from '../model/duration.ts'

/** Reads one setting, from the text of a flag or variable or from the value in a file. */
export interface Check<T> {
  /** Completes "expected …". */
  expected: string
  /** Undefined: not what was expected. */
  read(raw: unknown): T | undefined
  /** The value as one would write it in a file. */
  write(value: T): string
}

export function wholeNumber(min: number, max: number): Check<number> {
  return {
    expected: `a whole number from ${min} to ${max}`,
    read(raw) {
      const value = typeof raw === 'string' && /^\d{1,15}$/.test(raw) ? Number(raw) : raw
      return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max ? value : undefined
    },
    write: String,
  }
}

export function duration(min: string, max: string): Check<number> {
  const [minMs, maxMs] = [parseDuration(min) ?? 0, parseDuration(max) ?? 0]
  return {
    expected: `an ISO 8601 duration from ${min} to ${max}`,
    read(raw) {
      const ms = typeof raw === 'string' ? parseDuration(raw) : null
      return ms !== null && ms >= minMs && ms <= maxMs ? ms : undefined
    },
    write: formatDuration,
  }
}

export function switchable(): Check<boolean> {
  return {
    expected: '1, 0, true or false',
    read(raw) {
      const value = typeof raw === 'string' ? raw.toLowerCase() : raw
      if (value === true || value === 1 || value === '1' || value === 'true') return true
      return value === false || value === 0 || value === '0' || value === 'false' ? false : undefined
    },
    write: String,
  }
}

export function oneOf<const T extends string>(choices: readonly T[]): Check<T> {
  return {
    expected: `one of ${choices.join(', ')}`,
    read: (raw) => choices.find((choice) => choice === raw),
    write: String,
  }
}

export function text({ expected, pattern }: { expected: string; pattern: RegExp }): Check<string> {
  return {
    expected,
    read: (raw: unknown) => (typeof raw === 'string' && pattern.test(raw) ? raw : undefined),
    write: String,
  }
}

/** Exactly so many bytes, in base64 or base64url. */
export function keyBytes(count: number): Check<Buffer | null> {
  return {
    expected: `${count} bytes in base64`,
    read(raw) {
      if (typeof raw !== 'string' || !/^[\w+/-]+={0,2}$/.test(raw)) return undefined
      const bytes = Buffer.from(raw, 'base64')
      // Node skips what it cannot read; a key with a slip in it must not become another key.
      const isWhole = bytes.toString('base64url') === raw.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
      return bytes.length === count && isWhole ? bytes : undefined
    },
    write: () => '',
  }
}

/** Keys of exactly so many bytes, comma-separated, or a list in a file. */
export function keyList(count: number): Check<Buffer[]> {
  const { expected, read } = keyBytes(count)
  return {
    expected: `a list of keys, each ${expected}`,
    read(raw) {
      const list: unknown = typeof raw === 'string' ? raw.split(',').map((key) => key.trim()) : raw
      if (!Array.isArray(list)) return undefined
      const keys = list.map((key) => read(key)).filter((key) => key !== undefined && key !== null)
      return keys.length === list.length ? keys : undefined
    },
    write: () => '',
  }
}

export function databaseUrl(): Check<string> {
  return {
    expected: 'postgres://…, postgresql://… or sqlite:PATH',
    read(raw) {
      if (typeof raw !== 'string') return undefined
      if (/^sqlite:[^\0]+$/.test(raw)) return raw.startsWith('sqlite://') ? undefined : raw
      return /^postgres(ql)?:\/\/./.test(raw) && URL.canParse(raw) ? raw : undefined
    },
    write: String,
  }
}

/** How many proxies, or their addresses and ranges, comma-separated, or a list in a file. */
export function proxyTrust(): Check<number | string[]> {
  const count = wholeNumber(0, 10)
  return {
    expected:
      'a number of proxies from 0 to 10, or a list of IP addresses and ranges such as 10.0.0.0/8 (but no /0, which is everybody)',
    read(raw) {
      const number = count.read(raw)
      if (number !== undefined) return number
      const list: unknown = typeof raw === 'string' ? raw.split(',').map((network) => network.trim()) : raw
      if (!Array.isArray(list) || !list.every((network) => typeof network === 'string' && isNetwork(network)))
        return undefined
      return [...new Set<string>(list)]
    },
    write: (proxies) => (typeof proxies === 'number' ? String(proxies) : proxies.join(',')),
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

/** Without a slash at its end, so that a path can follow. */
export function baseUrl(): Check<string> {
  return {
    expected: 'a URL with http or https, of host, optional port and optional path',
    read(raw) {
      const url = typeof raw === 'string' && /^https?:\/\/[^\s?#@]+$/i.test(raw) ? URL.parse(raw) : null
      return url === null ? undefined : `${url.origin}${url.pathname}`.replace(/\/+$/, '')
    },
    write: String,
  }
}

/** Comma-separated, or a list in a file. */
export function channelList(): Check<Channel[] | null> {
  return {
    expected: `a list of ${CHANNELS.join(', ')}`,
    read(raw) {
      const list: unknown = typeof raw === 'string' ? raw.split(',').map((name) => name.trim()) : raw
      return Array.isArray(list) && list.length > 0 && list.every(isChannel) ? [...new Set(list)] : undefined
    },
    write: (channels) => (channels ?? []).join(','),
  }
}

/** `host` or `host:port`, comma-separated, or a list in a file. In lower case. */
export function hostList(): Check<string[]> {
  return {
    expected: 'a list of hosts, each as host or host:port',
    read(raw) {
      const list: unknown = typeof raw === 'string' ? raw.split(',').map((host) => host.trim()) : raw
      if (!Array.isArray(list) || !list.every((host) => typeof host === 'string' && isHost(host))) return undefined
      return [...new Set(list.map((host: string) => host.toLowerCase()))]
    },
    write: (hosts) => hosts.join(','),
  }
}

/** `*`, or origins as browsers name them, comma-separated, or a list in a file. */
export function originList(): Check<string[]> {
  return {
    expected: '*, or a list of origins such as https://app.example.com, without a path',
    read(raw) {
      const list: unknown = typeof raw === 'string' ? raw.split(',').map((origin) => origin.trim()) : raw
      if (!Array.isArray(list)) return undefined
      const origins = list.map((origin: unknown) => (typeof origin === 'string' ? originOf(origin) : null))
      return origins.includes(null) ? undefined : [...new Set(origins.filter((origin) => origin !== null))]
    },
    write: (origins) => origins.join(','),
  }
}

function originOf(text: string): string | null {
  if (text === '*') return text
  const url = /^https?:\/\/[^\s/?#@]+\/?$/i.test(text) ? URL.parse(text) : null
  return url?.origin ?? null
}

function isHost(text: string): boolean {
  return /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i.test(text)
}

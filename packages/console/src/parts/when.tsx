import { useSyncExternalStore } from 'react'

/** Times as people say them, with the exact one at hand. Which zone they are in is the reader's choice, and remembered. */
export type Zone = 'local' | 'utc'

const KEPT_AS = 'pillarbox.zone'
const listeners = new Set<() => void>()

export function setZone(zone: Zone): void {
  localStorage.setItem(KEPT_AS, zone)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useZone(): Zone {
  return useSyncExternalStore(subscribe, () => (localStorage.getItem(KEPT_AS) === 'utc' ? 'utc' : 'local'))
}

/** A tick every few seconds for everything that says how long ago something was. */
let now = Date.now()
const watchers = new Set<() => void>()
setInterval(() => {
  now = Date.now()
  for (const watcher of watchers) watcher()
}, 5_000)

function useNow(): number {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => now,
  )
}

const UNITS: [string, number][] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
]

/** `2h 41m`; of a short time `4.2s` or `12 ms`. */
export function span(ms: number): string {
  const seconds = Math.abs(ms) / 1_000
  if (seconds < 1) return seconds < 0.001 ? 'under 1 ms' : `${Math.round(seconds * 1_000)} ms`
  if (seconds < 10) return `${seconds.toFixed(1)}s`
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ['s', 1]
  const whole = Math.floor(seconds / size)
  const finer = UNITS[UNITS.findIndex(([name]) => name === unit) + 1]
  const rest = finer ? Math.floor((seconds - whole * size) / finer[1]) : 0
  return `${whole}${unit}${rest > 0 && finer ? ` ${rest}${finer[0]}` : ''}`
}

export function exact(at: string | number, zone: Zone): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
    ...(zone === 'utc' && { timeZone: 'UTC' }),
  })
  return format.format(new Date(at))
}

/** How long ago, or in how long; the exact time is its label for whoever points at it, focuses it or hears it. */
export function When({ at }: { at: string | null }) {
  const [zone, current] = [useZone(), useNow()]
  if (at === null) return <span>–</span>
  return (
    <time dateTime={at} title={exact(at, zone)}>
      {fromNow(at, current)}
    </time>
  )
}

function fromNow(at: string, current: number): string {
  const ms = Math.round((current - Date.parse(at)) / 1_000) * 1_000
  if (Math.abs(ms) < 10_000) return 'just now'
  return ms > 0 ? `${span(ms)} ago` : `in ${span(ms)}`
}

/** The exact time. */
export function At({ at }: { at: string }) {
  const [zone, current] = [useZone(), useNow()]
  return (
    <time dateTime={at} title={fromNow(at, current)}>
      {exact(at, zone)}
    </time>
  )
}

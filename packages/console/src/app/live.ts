import type { Kpis } from '@pillarbox/client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { urlOf } from './api.ts'
import type { Scope } from './session.ts'

/**
 * One stream for all tabs of a browser: whichever tab holds the lock has it, and passes on what it hears. When that tab is
 * closed, the next one takes over. Where there are no locks (a page over plain http that is not this machine), each tab has its own.
 */
export type LiveState = 'connecting' | 'live' | 'stale'

interface Move {
  id: string
  status: string
}

type Heard =
  | { kind: 'changes'; items: Move[]; more: boolean }
  | { kind: 'kpis'; total: Kpis['total'] }
  | { kind: 'reset' }
  | { kind: 'state'; state: LiveState }
  /** A tab that has just opened wants to know how things stand. */
  | { kind: 'ask' }

/** Pages ask anew no more often than this, however much happens. */
const SETTLE_MS = 1_500
/** Without a word for so long (the server says something every 15 seconds), what is shown may be old. */
const SILENCE_MS = 30_000

/** After an answer that is no stream (429, 502, 503) a browser gives up; it is tried again after this, and each time twice as long. */
const REOPEN_MS = 3_000
const REOPEN_MOST_MS = 60_000

/** More than a page shows. */
const MOST_MOVES = 2_000
/** Where notifications stand by what the stream said, newer than what was read. The latest of them, last moved last. */
const moves = new Map<string, string>()
const listeners = new Set<() => void>()
let version = 0

function note({ id, status }: Move): void {
  moves.delete(id)
  moves.set(id, status)
  for (const oldest of moves.keys()) {
    if (moves.size <= MOST_MOVES) break
    moves.delete(oldest)
  }
}

/** What comes in moves nothing that is there, and is seen by these alone. Ages change by themselves, and are none of them. */
function depthsOf({ queueDepth, scheduledDepth, skippedCount, stuckCount }: Kpis['total']): string {
  return [queueDepth, scheduledDepth, skippedCount, stuckCount].join(' ')
}

export function useMoves(): ReadonlyMap<string, string> {
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => version,
  )
  return moves
}

export function useLive({ tenantId, query }: Scope, isPaused: boolean): LiveState {
  const queries = useQueryClient()
  const [state, setState] = useState<LiveState>('connecting')
  const address = tenantId === null || isPaused ? null : urlOf('/api/stream', query)

  useEffect(() => {
    if (address === null) return undefined
    let settling: ReturnType<typeof setTimeout> | undefined
    const settle = (): void => {
      settling ??= setTimeout(() => {
        settling = undefined
        void queries.invalidateQueries({ queryKey: ['live'] })
      }, SETTLE_MS)
    }
    let depths: string | null = null
    const hear = (heard: Heard): void => {
      if (heard.kind === 'state') setState(heard.state)
      if (heard.kind === 'kpis') {
        queries.setQueryData(['now', tenantId], heard.total)
        const before = depths
        depths = depthsOf(heard.total)
        if (before !== null && before !== depths) settle()
      }
      if (heard.kind === 'changes') {
        for (const move of heard.items) note(move)
        version += 1
        for (const listener of listeners) listener()
      }
      if (heard.kind === 'changes' || heard.kind === 'reset') settle()
    }
    const stop = share(address, hear)
    return () => {
      clearTimeout(settling)
      stop()
    }
  }, [address, tenantId, queries])

  return state
}

/** Hears what the one stream says, and keeps it where it is this tab's turn. */
function share(address: string, hear: (heard: Heard) => void): () => void {
  const over = new AbortController()
  const channel = new BroadcastChannel(`pillarbox ${address}`)
  let state: LiveState | null = null
  channel.onmessage = ({ data }) => {
    const heard = data as Heard
    if (heard.kind !== 'ask') hear(heard)
    else if (state !== null) channel.postMessage({ kind: 'state', state } satisfies Heard)
  }
  const tell = (heard: Heard): void => {
    if (heard.kind === 'state') state = heard.state
    hear(heard)
    channel.postMessage(heard)
  }
  channel.postMessage({ kind: 'ask' } satisfies Heard)
  const keep = (): Promise<void> => listen(address, tell, over.signal)
  if ('locks' in navigator)
    navigator.locks.request(`pillarbox ${address}`, { signal: over.signal }, keep).catch(() => {})
  else void keep()
  return () => {
    over.abort()
    channel.close()
  }
}

function listen(address: string, tell: (heard: Heard) => void, over: AbortSignal): Promise<void> {
  let source: EventSource
  let silence: ReturnType<typeof setTimeout> | undefined
  let reopening: ReturnType<typeof setTimeout> | undefined
  let pauseMs = REOPEN_MS
  let isReopened = false

  const heardSomething = (): void => {
    clearTimeout(silence)
    silence = setTimeout(() => tell({ kind: 'state', state: 'stale' }), SILENCE_MS)
  }
  function open(): void {
    source = new EventSource(address)
    const on = (name: string, read: (data: unknown) => Heard): void =>
      source.addEventListener(name, (event: MessageEvent<string>) => {
        heardSomething()
        tell({ kind: 'state', state: 'live' })
        tell(read(JSON.parse(event.data)))
      })
    on('hello', () => {
      pauseMs = REOPEN_MS
      // It begins with now: what happened meanwhile was not heard.
      const hasMissed = isReopened
      isReopened = false
      return hasMissed ? { kind: 'reset' } : { kind: 'state', state: 'live' }
    })
    on('beat', () => ({ kind: 'state', state: 'live' }))
    on('reset', () => ({ kind: 'reset' }))
    on('kpis', (total) => ({ kind: 'kpis', total: total as Kpis['total'] }))
    on('changes', (data) => ({ kind: 'changes', ...(data as { items: Move[]; more: boolean }) }))
    source.onerror = () => {
      tell({ kind: 'state', state: 'connecting' })
      if (source.readyState === EventSource.CLOSED) reopenLater()
    }
  }
  function reopenLater(): void {
    isReopened = true
    // Not all at the same moment, where a server that was away is back.
    reopening = setTimeout(open, pauseMs * (0.5 + Math.random()))
    pauseMs = Math.min(2 * pauseMs, REOPEN_MOST_MS)
  }

  open()
  return new Promise((resolve) => {
    over.addEventListener('abort', () => {
      clearTimeout(silence)
      clearTimeout(reopening)
      source.close()
      resolve()
    })
  })
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PillarboxError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import type { AppDeps } from './context.ts'
import { takesCursor } from './cursors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** No list, but as much work as one: it waits for its turn. */
    readsMuch?: boolean
  }
}

export interface TurnLimits {
  /** Lists read at the same time. */
  most: number
  /** Of those, for one key: a slow list must leave room for others'. */
  mostPerKey: number
  /** Lists of one key that wait for their turn; more are turned away with 503. */
  mostWaitingPerKey: number
  /** The same for all keys together. */
  mostWaiting: number
  /** While something is taken in, no list begins for so many times as long as the one before took. */
  restFactor: number
  /** But for no longer than this. */
  mostRestMs: number
}

/**
 * Lists are read in turns, so that however many are asked for, taking in what is to be sent goes on: a list of 200 rows
 * takes the thread (SQLite) or a connection (PostgreSQL) for tens of milliseconds, an event for less than one. Between
 * two lists everything else that has come in meanwhile gets on, and the keys that wait take turns. While something is
 * taken in, lists have only a part of the time: after each there is a rest.
 */
export function readListsInTurns(
  app: FastifyInstance,
  deps: ListTurnDeps & Pick<AppDeps, 'nextTurn'>,
  limits: TurnLimits,
): void {
  const turns = createTurns(deps, limits)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'GET' || !(takesCursor(route.schema) || route.config?.readsMuch === true)) return
    route.config = { ...route.config, takesTurn: true }
    const read = route.handler
    route.handler = async function takeTurn(this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
      const release = await turns.take(whoseTurn(request))
      // Nobody waits for an answer that was given up, or whose connection is gone: the turn goes to the next.
      if (reply.sent || request.raw.socket.destroyed) {
        release()
        return reply.hijack()
      }
      try {
        return await read.call(this, request, reply)
      } finally {
        // What was read is made into an answer right after this; that is part of the turn.
        deps.nextTurn(release)
      }
    }
  })
}

export interface Turns {
  /** Resolves when it is this key's turn, with what ends the turn. Rejects at once when too many wait. */
  take(key: string): Promise<() => void>
}

export interface ListTurnDeps {
  clock: Clock
  /** Whether something is being taken in. */
  isBusy(): boolean
}

/** How soon the end of a rest is noticed that ends because nothing is taken in any more. */
const LOOK_EVERY_MS = 5

export function createTurns({ clock, isBusy }: ListTurnDeps, limits: TurnLimits): Turns {
  const running = new Map<string, number>()
  /** By key; the key whose turn it is next comes first. */
  const queues = new Map<string, (() => void)[]>()
  let runningCount = 0
  let waitingCount = 0
  let isPacing = false
  /** When the rest for what was read is over. */
  let restedAt = Number.NEGATIVE_INFINITY

  /** Ended when a turn ends: there may be room now, and less to wait for. */
  let pause = new AbortController()

  const restLeftMs = (): number => (isBusy() ? restedAt - clock.monotonic() : 0)

  const hasRoom = (key: string): boolean => runningCount < limits.most && (running.get(key) ?? 0) < limits.mostPerKey

  function begin(key: string): () => void {
    runningCount += 1
    running.set(key, (running.get(key) ?? 0) + 1)
    const begunAt = clock.monotonic()
    // The next begins when it is known how long this one took, unless it takes very long.
    restedAt = begunAt + limits.mostRestMs
    return () => {
      const now = clock.monotonic()
      restedAt = now + Math.min(limits.restFactor * (now - begunAt), limits.mostRestMs)
      runningCount -= 1
      const left = (running.get(key) ?? 1) - 1
      if (left > 0) running.set(key, left)
      else running.delete(key)
      pause.abort()
      void pace()
    }
  }

  /** After each turn that begins, everything else that has come in goes first; then the next who waits is called. */
  async function pace(): Promise<void> {
    if (isPacing) return
    isPacing = true
    do {
      pause = new AbortController()
      const restMs = waitingCount > 0 ? Math.max(0, restLeftMs()) : 0
      await clock.sleep(Math.min(restMs, LOOK_EVERY_MS), restMs > 0 ? pause.signal : undefined)
    } while (callNext())
    isPacing = false
  }

  /** Whether there is more to do. */
  function callNext(): boolean {
    if (waitingCount > 0 && restLeftMs() > 0) return true
    const key = [...queues.keys()].find(hasRoom)
    if (key === undefined) return false
    const queue = queues.get(key) ?? []
    const call = queue.shift()
    queues.delete(key)
    if (queue.length > 0) queues.set(key, queue)
    waitingCount -= 1
    call?.()
    return true
  }

  return {
    take(key) {
      if (!isPacing && hasRoom(key) && restLeftMs() <= 0) {
        void pace()
        return Promise.resolve(begin(key))
      }
      const queue = queues.get(key) ?? []
      if (queue.length >= limits.mostWaitingPerKey || waitingCount >= limits.mostWaiting)
        return Promise.reject(
          new PillarboxError('overloaded', 'Too many lists are being read. Ask for one after the other.'),
        )
      return new Promise((resolve) => {
        queue.push(() => resolve(begin(key)))
        queues.set(key, queue)
        waitingCount += 1
        void pace()
      })
    },
  }
}

function whoseTurn({ caller, user, params }: FastifyRequest): string {
  if (caller) return caller.key.id
  return user ? `${user.tenantId} ${(params as { userId?: string }).userId ?? ''}` : ''
}

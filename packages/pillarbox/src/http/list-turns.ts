import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PillarboxError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
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
}

/**
 * Lists are read in turns, so that however many are asked for, taking in what is to be sent goes on: a list of 200 rows
 * takes the thread (SQLite) or a connection (PostgreSQL) for tens of milliseconds, an event for less than one. Between
 * two lists everything else that has come in meanwhile gets on, and the keys that wait take turns.
 */
export function readListsInTurns(app: FastifyInstance, clock: Clock, limits: TurnLimits): void {
  const turns = createTurns(clock, limits)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'GET' || !(takesCursor(route.schema) || route.config?.readsMuch === true)) return
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
        release()
      }
    }
  })
}

export interface Turns {
  /** Resolves when it is this key's turn, with what ends the turn. Rejects at once when too many wait. */
  take(key: string): Promise<() => void>
}

export function createTurns(clock: Clock, limits: TurnLimits): Turns {
  const running = new Map<string, number>()
  /** By key; the key whose turn it is next comes first. */
  const queues = new Map<string, (() => void)[]>()
  let runningCount = 0
  let waitingCount = 0
  let isPacing = false

  const hasRoom = (key: string): boolean => runningCount < limits.most && (running.get(key) ?? 0) < limits.mostPerKey

  function begin(key: string): () => void {
    runningCount += 1
    running.set(key, (running.get(key) ?? 0) + 1)
    return () => {
      runningCount -= 1
      const left = (running.get(key) ?? 1) - 1
      if (left > 0) running.set(key, left)
      else running.delete(key)
      void pace()
    }
  }

  /** After each turn that begins, everything else that has come in goes first; then the next who waits is called. */
  async function pace(): Promise<void> {
    if (isPacing) return
    isPacing = true
    do await clock.sleep(0)
    while (callNext())
    isPacing = false
  }

  function callNext(): boolean {
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
      if (!isPacing && hasRoom(key)) {
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

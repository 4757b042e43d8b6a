import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AuditedRow } from '../model/audit.ts'
import { type AuditLook, createAuditLook } from '../operate/audit-look.ts'
import { readKpis } from '../operate/kpis.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
import { callerOf, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import {
  beginStream,
  createEventStreams,
  lastEventId,
  type Send,
  type StreamSource,
  streamEvent,
} from './event-streams.ts'
import { operationsOf } from './operation.ts'

/** How often a stream looks for news. Its client hears of a change a second later at most, and no more often than that. */
const LOOK_EVERY_MS = 1_000
/** How often it is asked whether whoever listens may still do so. */
const ASK_EVERY_MS = 5_000
/** So many changes are told one by one; where there are more, that there are. */
const MOST_CHANGES = 100
/** So many rows of all tenants together are looked at; whoever was away for longer loads everything anew. */
const MOST_LOOKED_AT = 2_000
/** What all streams share is asked for once in the time between two looks of one of them. */
const SHARED_MS = LOOK_EVERY_MS - 50

const operation = operationsOf('Operations')

/** `/api/stream`: that something has changed, for pages that show it. Ids, states and numbers; never words or addresses. */
export function consoleStreamRoutes(app: App, context: Context): void {
  const { clock, logger, config } = context
  const streams = createEventStreams({
    clock,
    logger,
    holder: 'key',
    limits: {
      most: config.maxConsoleStreams,
      mostPerHolder: config.maxConsoleStreamsPerKey,
      beatMs: config.streamBeatMs,
      slowReaderMs: config.slowReaderMs,
    },
  })
  app.addHook('preClose', streams.close)
  const numbers = createTimedCache({
    clock,
    maxAgeMs: SHARED_MS,
    read: async (tenantId) => (await readKpis(context, { tenantId })).total,
  })
  const look = createAuditLook(context, SHARED_MS)

  /** Whether somebody heard too little to be told the rest, or heard it of another database. */
  async function hasMissed(asked: number, { taken }: AuditLook): Promise<boolean> {
    if (taken - asked > MOST_LOOKED_AT) return true
    // Another process may have looked a moment later than this one.
    return asked > taken && asked > (await context.store.audit.lastId())
  }

  app.get(
    '/api/stream',
    operation(
      TO_READ,
      'What happens in the tenant, live',
      {
        operationId: 'streamChanges',
        description:
          'Server-sent events: `hello`; `changes` with `{items: [{id, status}], more}`, of notifications that moved (`more`: there were others); `kpis` with the numbers of `/api/kpis`; `beat` where nothing happens, every 15 seconds; `reset` where too much was missed, and everything has to be loaded anew. Begins with what came after Last-Event-ID, else with now. Ends with the key or the session.',
        query: {
          lastEventId: Type.Optional(
            Type.String({ maxLength: 20, description: 'Where the header Last-Event-ID cannot be sent.' }),
          ),
        },
        response: {
          200: {
            description: 'Events, until one side ends it.',
            content: { 'text/event-stream': { schema: Type.String() } },
          },
        },
      },
      { config: { isStream: true } },
    ),
    async (request, reply) => {
      const asked = lastEventId(request.headers['last-event-id'], request.query.lastEventId)
      const { key, session } = callerOf(request)
      const place = streams.reserve({ tenantId: request.tenantId, name: key.id })
      try {
        const seen = await look()
        const isLost = asked !== null && (await hasMissed(asked, seen))
        const source = changesSource({ ...context, look, numbers: numbers.get }, request, {
          expiresAt: Math.min(session?.expiresAt ?? Infinity, key.expiresAt ?? Infinity),
          after: asked === null || isLost ? seen.settled : asked,
          hasMissed: isLost,
        })
        void place.run(beginStream(reply), source)
      } catch (error) {
        place.release()
        throw error
      }
    },
  )
}

interface SourceDeps extends Pick<Context, 'store' | 'clock' | 'authentication'> {
  look(): Promise<AuditLook>
  numbers(tenantId: string): Promise<object>
}

interface Beginning {
  expiresAt: number
  /** The number after which it begins. */
  after: number
  hasMissed: boolean
}

function changesSource(deps: SourceDeps, request: FastifyRequest, begin: Beginning): StreamSource {
  const { store, clock, authentication } = deps
  const { tenantId } = request
  /** Everything up to this number was told, and nothing can appear there any more. Clients come back with it. */
  let last = begin.after
  /** Of those behind it, the ones that were told. */
  let told = new Set<number>()
  /** Up to this number some may have appeared that nobody looked for. */
  let unseenUpTo = 0
  let shown = ''
  let isFirst = true
  let askedAt = clock.monotonic()

  /**
   * A row can appear after one with a higher number, as late as something takes that is under way. So whatever is not settled is
   * looked at again, the newest of it at least; where that leaves some out, the client hears that there is more, once now and once
   * when they are settled.
   */
  async function tellChanges(send: Send): Promise<boolean> {
    const { settled, taken } = await deps.look()
    if (taken <= last) return false
    const from = Math.max(last, taken - MOST_LOOKED_AT)
    const rows = await store.audit.rows(tenantId, from, taken)
    const items = movesOf(rows.filter(({ id }) => !told.has(id)))
    const isLeftOut = from > Math.max(last, unseenUpTo)
    if (isLeftOut) unseenUpTo = from
    const isSettledNow = unseenUpTo > last && settled >= unseenUpTo
    last = Math.max(last, settled)
    told = new Set(rows.filter(({ id }) => id > last).map(({ id }) => id))
    const more = isLeftOut || isSettledNow || items.length > MOST_CHANGES
    if (items.length === 0 && !more) return false
    await send(streamEvent('changes', { items: items.slice(0, MOST_CHANGES), more }, last))
    return true
  }

  async function tellNumbers(send: Send): Promise<boolean> {
    const kpis = await deps.numbers(tenantId)
    const text = JSON.stringify(kpis)
    if (text === shown) return false
    shown = text
    await send(streamEvent('kpis', kpis, last))
    return true
  }

  async function isOver(): Promise<boolean> {
    if (clock.monotonic() - askedAt < ASK_EVERY_MS) return false
    if (!(await authentication.isStillGood(request))) return true
    // Only an answer counts: where there was none, the next look asks again before it tells anything.
    askedAt = clock.monotonic()
    return false
  }

  return {
    expiresAt: begin.expiresAt,
    async tell(send) {
      if (await isOver()) return { isSent: false, isMore: false, isOver: true }
      if (isFirst) {
        await send(streamEvent('hello', { tenantId }, last))
        if (begin.hasMissed) await send(streamEvent('reset', {}, last))
        isFirst = false
      }
      const hasChanges = await tellChanges(send)
      const hasNumbers = await tellNumbers(send)
      return { isSent: hasChanges || hasNumbers, isMore: false }
    },
    wait: (ms, over) => clock.sleep(Math.min(ms, LOOK_EVERY_MS), over),
    // Pages say that they are out of date where they hear nothing.
    beat: () => streamEvent('beat', {}, last),
    close() {},
  }
}

/** Each notification once, with the status that it came to last. */
function movesOf(rows: readonly AuditedRow[]): { id: string; status: string }[] {
  const moves = new Map<string, string>()
  for (const row of rows) {
    const status = row.kind === 'act' ? row.to : row.late ? null : row.toStatus
    if (row.notificationId === null || status === null) continue
    moves.delete(row.notificationId)
    moves.set(row.notificationId, status)
  }
  return [...moves].map(([id, status]) => ({ id, status }))
}

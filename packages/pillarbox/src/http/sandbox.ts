import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { MessageFilter } from '../channels/sandbox/vendor.ts'
import { ChannelName, JsonObject, Nullable } from '../intake/body-fields.ts'
import { formatDuration } from '../model/duration.ts'
import { found, invalidBody, PillarboxError } from '../model/errors.ts'
import { RECEIPT_KINDS } from '../model/receipt.ts'
import { testClockMs } from '../model/tenant.ts'
import { moveTestClock } from '../operate/test-clock.ts'
import { pretendCallback } from '../receipts/sandbox.ts'
import { scopeOf, TO_OPERATE, TO_READ } from './auth.ts'
import type { App, Context, SandboxReader } from './context.ts'
import { foreignCursor } from './cursors.ts'
import { invalidQuery } from './entity-query.ts'
import { whenOver } from './in-flight.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  type DurationBounds,
  durationField,
  durationWithin,
  durationWords,
  Exactly,
  iso,
  OnChannel,
  PageSchema,
  Paging,
  pageJson,
  TextOrNull,
  Time,
  withTimes,
} from './schemas.ts'

const MessageJson = Type.Object(
  {
    id: Type.String(),
    tenantId: Type.String(),
    accountId: Type.String(),
    channel: ChannelName,
    key: Type.String({ description: 'The idempotency key the vendor was given.' }),
    notificationId: Type.String(),
    attempt: Type.Integer(),
    to: JsonObject,
    subject: TextOrNull,
    body: Type.String(),
    data: JsonObject,
    providerTemplate: Nullable(JsonObject),
    correlationId: TextOrNull,
    acceptedAt: Time,
    duplicateOf: Nullable(Type.String({ description: 'The first message with the same key.' })),
  },
  { title: 'SandboxMessage' },
)

const operation = operationsOf('Sandbox', 'any')

/** How long somebody waits for a message, and how often it is looked for. The answer must be out before a request ends. */
const WAIT: DurationBounds = { least: 'PT0S', most: 'PT25S' }
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 500
/** Whoever waits costs a look now and then. */
const MOST_WAITING_FOR_MESSAGES = 100

const ADVANCE: DurationBounds = { least: 'PT1S', most: 'P366D' }

const ClockBody = Closed({
  advance: Type.Optional(Type.String({ maxLength: 40, description: 'How much later it is to be, such as P1D.' })),
  reset: Type.Optional(Type.Literal(true, { description: 'Back to the real time.' })),
})

const ClockReading = {
  now: { ...Time, description: 'What the tenant’s clock says.' },
  ahead: Type.String({ description: 'How far that is ahead of the real time, as an ISO 8601 duration.' }),
}
const ClockReadingJson = Type.Object(ClockReading, { title: 'TestClock' })

const ClockJson = Type.Object({
  ...ClockReading,
  schedules: Type.Integer({ description: 'Schedules that were moved with it.' }),
  notifications: Type.Integer({ description: 'Waiting notifications that were moved with it.' }),
})

const clockOperation = operationsOf('Sandbox')

/** `/api/sandbox`: what the pretend vendor took, as its recipients would see it, and the clock of those who try things out. */
export function sandboxRoutes(app: App, context: Context): void {
  const { sandbox, clock } = context
  let waiting = 0

  app.get(
    '/api/sandbox/messages',
    {
      ...operation(TO_READ, 'What the sandbox took, newest first', {
        operationId: 'listSandboxMessages',
        description:
          'A viewer sees neither addresses nor words. With `wait` the answer comes as soon as there is a message that the filters find, and without one when the time is over. 404 on a server without a sandbox.',
        query: {
          ...OnChannel,
          to: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096, description: 'The exact address.' })),
          notificationId: Exactly(36, 'Only those of this notification.'),
          wait: Type.Optional(Type.String({ maxLength: 40, description: 'How long at most: PT0S to PT25S.' })),
          ...Paging,
        },
        problems: ['not_found'],
        response: { 200: PageSchema(MessageJson) },
      }),
      // Before its turn comes: whoever waits keeps no list from being read.
      preHandler: async (request: FastifyRequest, reply: FastifyReply) => {
        const { wait, limit: _limit, cursor: _cursor, ...filter } = request.query as MessageQuery
        if (wait === undefined || !sandbox) return
        const ms = durationWithin(wait, WAIT)
        if (ms === null) throw invalidQuery('wait', durationWords(WAIT))
        await untilTaken(reply, ms, { ...filter, tenantId: scopeOf(request), limit: 1 })
      },
    },
    async (request) => {
      if (!sandbox) throw new PillarboxError('not_found', 'This server has no sandbox.')
      const { limit, cursor, wait: _, ...filter } = request.query
      if (cursor !== undefined && !/^sbx-[0-9]{1,15}$/.test(cursor)) throw foreignCursor()
      const after = cursor === undefined ? {} : { before: cursor }
      const messages = sandbox({ ...filter, ...after, tenantId: scopeOf(request), limit: limit + 1 })
      const items = messages.slice(0, limit)
      const page = { items, nextCursor: messages.length > limit ? (items.at(-1)?.id ?? null) : null }
      return pageJson(page, (message) => ({ ...withTimes(message, 'acceptedAt'), to: { ...message.to } }))
    },
  )

  app.post(
    '/api/sandbox/messages/:id/receipts',
    clockOperation(TO_OPERATE, 'Have the pretend vendor report on a message', {
      operationId: 'reportSandboxMessage',
      description:
        'As a vendor would by a callback: it is kept, and a worker reads it. The notification moves where the report outranks where it stands.',
      body: Closed({ kind: Type.Enum([...RECEIPT_KINDS], { description: 'What became of the message.' }) }),
      response: { 202: Type.Object({ kind: Type.Enum([...RECEIPT_KINDS]) }) },
    }),
    async (request, reply) => {
      const { tenantId } = request
      const { id } = request.params as { id: string }
      const message = found(context.sandboxMessage?.(tenantId, id) ?? null)
      const { kind } = request.body
      await context.store.receipts.keep(pretendCallback(message, kind, clock.now()))
      const { actor } = request
      await context.store.audit.record({ tenantId, actor, action: 'report', subject: `sandbox:${id}`, after: { kind } })
      context.nudge('receipts')
      return reply.status(202).send({ kind })
    },
  )

  app.get(
    '/api/sandbox/clock',
    clockOperation(TO_READ, 'What the clock of a tenant that only tries things out says', {
      operationId: 'readTestClock',
      response: { 200: ClockReadingJson },
    }),
    async ({ tenantId }) => {
      const aheadMs = testClockMs(found(await context.store.tenants.find(tenantId)))
      return { now: iso(clock.now() + aheadMs), ahead: formatDuration(aheadMs) }
    },
  )

  app.post(
    '/api/sandbox/clock',
    clockOperation(TO_OPERATE, 'Move the clock of a tenant that only tries things out', {
      operationId: 'moveTestClock',
      description:
        'Either `advance` or `reset`. What waits is due as if so much time had passed. Refused (409 in_use) while an account of the tenant that is not suspended reaches real people.',
      body: ClockBody,
      problems: ['in_use'],
      response: { 200: ClockJson },
    }),
    async (request) => {
      const { tenantId, actor } = request
      const { advance, reset } = request.body
      if ((advance === undefined) === (reset === undefined))
        throw invalidBody([{ path: '', message: 'must have either advance or reset' }])
      const advanceMs = advance === undefined ? null : durationField('/advance', advance, ADVANCE)
      const { aheadMs, ...moved } = await moveTestClock(context, { tenantId, actor, advanceMs })
      return { ...moved, now: iso(clock.now() + aheadMs), ahead: formatDuration(aheadMs) }
    },
  )

  /** Looks less and less often; ends when the client has gone. */
  async function untilTaken(reply: FastifyReply, ms: number, filter: Parameters<SandboxReader>[0]): Promise<void> {
    if (waiting >= MOST_WAITING_FOR_MESSAGES)
      throw new PillarboxError('overloaded', 'Too many wait for messages. Try again shortly.')
    const gone = new AbortController()
    whenOver(reply, () => gone.abort())
    const end = clock.monotonic() + ms
    waiting += 1
    try {
      for (let pauseMs = FIRST_PAUSE_MS; !gone.signal.aborted; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5)) {
        const leftMs = end - clock.monotonic()
        if (leftMs <= 0 || sandbox?.(filter).length) return
        await clock.sleep(Math.min(pauseMs, leftMs), gone.signal)
      }
    } finally {
      waiting -= 1
    }
  }
}

interface MessageQuery extends Omit<MessageFilter, 'tenantId'> {
  wait?: string
  limit: number
  cursor?: string
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { PillarboxError } from '../model/errors.ts'
import type { Distrust, ReceiptSource } from '../receipts/receipt-source.ts'
import type { Receivers } from '../receipts/receiving-accounts.ts'
import { clientOf } from './client-address.ts'
import type { App, Context } from './context.ts'
import { whenOver } from './in-flight.ts'
import { operationsOf } from './operation.ts'
import { createRateLimiter } from './rate.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is handed on as the bytes that came, whatever they say they are. */
    takesAnything?: boolean
  }
  interface FastifyRequest {
    /** Of a callback: whom it may be about, and whether its sender has been a nuisance. */
    callback: { receivers: Receivers; isFlood: boolean } | null
  }
}

/** Larger callbacks are rare, and anybody may send one: only so many are in memory at a time. */
const LARGE_BYTES = 65_536
const MOST_LARGE = 16
/** A callback counts once for each that it begins, against what its accounts may keep. */
const COUNTED_BYTES = 16_384

/**
 * `/api/webhooks`: what vendors call back with. There is no key: a callback proves itself by the vendor's own scheme, on
 * its raw bytes, before anything is read of it. A genuine one is kept, answered, and applied later by a worker; any other
 * is counted, and changes nothing.
 */
export function webhookRoutes(app: App, context: Context): void {
  const { receiptSources } = context
  // In a scope of its own, so that only these paths take any content type.
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    scope.decorateRequest('callback', null)
    const callbackIntake = createCallbackIntake(context)
    for (const source of receiptSources.values())
      for (const method of ['POST', ...(source.handshake ? [source.handshake] : [])] as const)
        scope.route({
          method,
          url: webhookPath(source, ':tenantId'),
          ...operation(
            'public',
            method === 'POST' ? `Take a callback of ${source.name}` : `Tell ${source.name} that this is us`,
            {
              operationId: `${method === 'POST' ? 'receive' : 'confirm'}${callbackName(source)}`,
              description:
                'Proven by the vendor’s own scheme. 200 says that it is kept; it is applied later. 403 says that it is not believed.',
              querystring: Type.Object({
                token: Type.Optional(Type.String({ description: 'The account’s webhookToken.' })),
              }),
              ...(method === 'POST' && { body: ANYTHING }),
              problems: ['callback_refused'],
              response: {
                200: { description: 'Kept, or what the vendor asked for.', content: { ...PLAIN, ...JSON_TEXT } },
                503: { description: 'It cannot be judged at the moment: the vendor is to come again.', content: PLAIN },
              },
            },
            {
              bodyLimit: context.config.batchBodyLimitBytes,
              // A vendor may add to its callbacks what it likes.
              validatorCompiler: () => () => true,
              isBodyOptional: true,
              config: { takesAnything: true },
            },
          ),
          onRequest: (request, reply) => callbackIntake.admit(source, request, reply),
          onError: async (request, _reply, error) => {
            if ((error as { code?: string }).code === 'FST_ERR_CTP_BODY_TOO_LARGE')
              callbackIntake.note(source, request, 'too_large')
          },
          handler: (request, reply) => callbackIntake.take(source, request, reply),
        })
  })
}

const operation = operationsOf('Webhooks', 'none')

const ANYTHING = Type.Unsafe<unknown>({ content: { '*/*': { schema: Type.String() } } })
const PLAIN = { 'text/plain': { schema: Type.String() } }
const JSON_TEXT = { 'application/json': { schema: Type.Unsafe<unknown>({ description: 'As the vendor wants it.' }) } }

/** `sns-sms` → `SnsSmsCallback`. */
function callbackName({ name }: ReceiptSource): string {
  const words = name.split('-').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
  return `${words.join('')}Callback`
}

/** Where a vendor's callbacks go. */
export function webhookPath({ name, isShared }: ReceiptSource, tenantId: string): string {
  return isShared ? `/api/webhooks/${name}` : `/api/webhooks/${name}/${tenantId}`
}

function createCallbackIntake({ store, clock, logger, metrics, nudge, config, receivers, refusals }: Context) {
  const failures = createRateLimiter(clock)
  const genuine = createRateLimiter(clock)
  let largeInFlight = 0

  /** Before a byte of the body is read. */
  async function admit(source: ReceiptSource, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const tenantId = tenantIn(request)
    const isFlood = !failures.peek(clientOf(request), config.failedKeysPerSecond, config.failedKeysBurst).allowed
    // Behind a proxy that is not trusted everybody has one address. Who floods it must cost neither the database nor the
    // vendor anything, and must not keep genuine callbacks away: those of known tenants can be told from memory alone.
    const found = isFlood ? receivers.peek(source, tenantId) : await receivers.get(source, tenantId)
    if (found === null) throw tooMany()
    request.callback = { receivers: found, isFlood }
    if (found.accounts.length === 0) throw refuse(source, request, 'no_account')
    limitLarge(request, reply)
  }

  function limitLarge(request: FastifyRequest, reply: FastifyReply): void {
    const declared = Number(request.headers['content-length'] ?? Number.NaN)
    const isChunked = request.headers['transfer-encoding'] !== undefined
    if (!isChunked && !(declared > LARGE_BYTES)) return
    if (largeInFlight >= MOST_LARGE)
      throw new PillarboxError('overloaded', 'Too many large callbacks come at once. Try again shortly.')
    largeInFlight += 1
    whenOver(reply, () => {
      largeInFlight -= 1
    })
  }

  async function take(source: ReceiptSource, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { accounts } = request.callback?.receivers ?? { accounts: [] }
    const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const headers = headersOf(request)
    const query = new URLSearchParams(request.url.split('?')[1] ?? '')
    const callback = { provider: source.name, method: request.method, headers, query, rawBody }
    const verified = await source.verify(callback, accounts)
    if (verified.kind === 'forged') throw refuse(source, request, verified.why)
    if (verified.kind === 'answer') {
      logger.info({ source: source.name, tenantId: tenantIn(request), status: verified.status }, verified.note)
      if (verified.status === 503) reply.header('retry-after', '5')
      return reply.status(verified.status).headers(verified.headers).type(verified.contentType).send(verified.body)
    }
    const accountIds = verified.accounts.map(({ id }) => id)
    limitKept(source, request, { accountIds, bytes: rawBody.length })
    const isNew = await store.receipts.keep({
      source: source.name,
      tenantId: tenantIn(request),
      accountIds,
      headers: Object.fromEntries((source.keptHeaders ?? []).flatMap((name) => entry(name, headers[name]))),
      body: rawBody,
      note: verified.note ?? null,
    })
    if (isNew && verified.note !== undefined) logger.warn({ source: source.name, accountIds }, verified.note)
    if (isNew) metrics.meters.count('callbacks', { source: source.name })
    else note(source, request, 'repeated')
    nudge('receipts')
    return reply.type('text/plain; charset=utf-8').send('')
  }

  /** Whoever knows an account's secret may not fill the disk with it, nor keep the workers from the callbacks of others. */
  function limitKept(
    source: ReceiptSource,
    request: FastifyRequest,
    { accountIds, bytes }: { accountIds: readonly string[]; bytes: number },
  ): void {
    const id = `${source.name} ${accountIds.join(' ')}`
    const count = Math.max(1, Math.ceil(bytes / COUNTED_BYTES))
    const answer = genuine.take(id, config.callbacksPerSecond, config.callbacksBurst, count)
    if (answer.allowed) return
    note(source, request, 'too_many')
    throw new PillarboxError('rate_limited', 'Too many callbacks for this account. Send it again later.', {
      retryAfterSeconds: Math.max(1, Math.ceil(answer.retryAfterMs / 1_000)),
    })
  }

  /** The same answer whatever was wrong, so that a forger learns nothing, not even which tenants there are. */
  function refuse(source: ReceiptSource, request: FastifyRequest, why: Distrust): PillarboxError {
    note(source, request, why)
    if (request.callback?.isFlood) return tooMany()
    failures.take(clientOf(request), config.failedKeysPerSecond, config.failedKeysBurst)
    return new PillarboxError('callback_refused', 'This does not prove that it comes from the vendor.')
  }

  function note(source: ReceiptSource, request: FastifyRequest, why: Distrust): void {
    const isTenantKnown = request.callback?.receivers.isTenantKnown ?? false
    refusals.note({ source: source.name, tenantId: isTenantKnown ? tenantIn(request) : null, why })
  }

  return { admit, take, note }
}

function tooMany(): PillarboxError {
  return new PillarboxError('rate_limited', 'Too many callbacks from here were not believed.', { retryAfterSeconds: 5 })
}

/** Null where the path names none. */
function tenantIn({ params }: FastifyRequest): string | null {
  return (params as { tenantId?: string }).tenantId ?? null
}

function headersOf({ headers }: FastifyRequest): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => entry(name, value)))
}

function entry(name: string, value: string | string[] | undefined): [string, string][] {
  return value === undefined ? [] : [[name, String(value)]]
}

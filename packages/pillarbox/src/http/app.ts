import helmet from '@fastify/helmet'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { textProblem } from '@pillarbox/client/contract'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { createEventIntake } from '../intake/events.ts'
import { createNotificationIntake } from '../intake/notifications.ts'
import { PillarboxError } from '../model/errors.ts'
import { createReceivingAccounts } from '../receipts/receiving-accounts.ts'
import { createRefusals } from '../receipts/refusals.ts'
import { openAccountSecrets } from '../security/account-secrets.ts'
import { createUserTokens } from '../security/user-token.ts'
import { alertRoutes } from './alerts.ts'
import { auditRoutes } from './audit.ts'
import { installAuthentication } from './auth.ts'
import { automationScheduleRoutes } from './automation-schedules.ts'
import { bulkRoutes } from './bulk.ts'
import { callbackRoutes } from './callbacks.ts'
import { causeRoutes } from './causes.ts'
import { channelAccountRoutes } from './channel-accounts.ts'
import { trustIn } from './client-address.ts'
import { communicationLogRoutes } from './communication-logs.ts'
import { addConsole } from './console-pages.ts'
import { consoleStreamRoutes } from './console-stream.ts'
import { contactRoutes } from './contacts.ts'
import type { App, AppDeps, Context } from './context.ts'
import { conversationRoutes } from './conversations.ts'
import { allowOrigins } from './cors.ts'
import { bindCursors } from './cursors.ts'
import { eventTypeRoutes } from './event-types.ts'
import { eventRoutes, notificationRequestRoutes } from './events.ts'
import { healthRoutes } from './health.ts'
import { limitInFlight, paceRefusals } from './in-flight.ts'
import { inboxRoutes } from './inbox.ts'
import { parseJsonBody, refuseUnfit } from './json-body.ts'
import { keyRoutes } from './keys.ts'
import { kpiRoutes } from './kpis.ts'
import { readListsInTurns } from './list-turns.ts'
import { maskAnswers } from './masking.ts'
import { messageTemplateRoutes } from './message-templates.ts'
import { meterRequests, metricsRoutes } from './metrics.ts'
import { notificationContentRoutes } from './notification-content.ts'
import { notificationIntakeRoutes } from './notification-intake.ts'
import { notificationRoutes } from './notifications.ts'
import { collectOpenApi, isPluginRoute, serveOpenApi } from './openapi.ts'
import { keepRouteTable } from './operation.ts'
import { operationRoutes } from './operations.ts'
import { outboxRoutes } from './outbox.ts'
import { personalDataRoutes } from './personal-data.ts'
import { createErrorHandler } from './problems.ts'
import { providerRoutes } from './providers.ts'
import { purgeRoutes } from './purge.ts'
import { recipientListRoutes } from './recipient-lists.ts'
import { logRequests } from './request-log.ts'
import { resendRoutes } from './resend.ts'
import { sandboxRoutes } from './sandbox.ts'
import { sandboxFaultRoutes } from './sandbox-faults.ts'
import { sealingKeyRoutes } from './sealing-key.ts'
import { sessionRoutes } from './sessions.ts'
import { siteRoutes } from './sites.ts'
import { sourceRoutes } from './sources.ts'
import { suppressionRoutes } from './suppressions.ts'
import { tenantRoutes } from './tenants.ts'
import { createTurnstile } from './turnstile.ts'
import { answerBrokenRequest, answerUnknownPaths } from './unknown-paths.ts'
import { validatorCompiler } from './validation.ts'
import { webhookRoutes } from './webhooks.ts'
import { workerRoutes } from './workers.ts'
import { isYamlType, takeYaml } from './yaml-body.ts'

/** How long what is known of accounts is believed when a vendor calls back. */
const SHARED_RECEIVERS_MAX_AGE_MS = 2_000

const COUNT_REFUSED_EVERY_MS = 3_000

/**
 * The whole HTTP side, ready to listen or to be injected into.
 */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { store, snapshots, ids, clock, logger, nudge, config, untrusted, seal, payloadSeal } = deps
  const { metrics, tracing } = deps
  const { meters } = metrics
  const app = fastify({
    logger: false,
    trustProxy: trustIn(config.trustedProxies),
    bodyLimit: config.bodyLimitBytes,
    requestTimeout: config.requestTimeoutMs,
    connectionTimeout: config.connectionTimeoutMs,
    keepAliveTimeout: config.keepAliveTimeoutMs,
    handlerTimeout: config.handlerTimeoutMs,
    http: { headersTimeout: config.headersTimeoutMs, maxHeaderSize: 16_384 },
    exposeHeadRoutes: false,
    return503OnClosing: true,
    routerOptions: {
      maxParamLength: 1_000,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      caseSensitive: true,
    },
    requestIdHeader: false,
    genReqId: (raw) => saneRequestId(raw.headers['x-request-id']) ?? ids(),
    clientErrorHandler: (error, socket) => answerBrokenRequest(app, error, socket, ids()),
    frameworkErrors: (error, request, reply) => void answerError(error, request as FastifyRequest, reply as never),
  })
  const turnstile = createTurnstile(deps.nextTurn, config.turnstile)
  const answerError = paceRefusals(turnstile, createErrorHandler(logger))
  app.setErrorHandler(answerError)
  app.setValidatorCompiler(validatorCompiler as never)

  keepRouteTable(app, isPluginRoute)
  const isKnown = (request: FastifyRequest): boolean => authentication.isKnown(request)
  const inFlight = limitInFlight(app, { clock, turnstile, isKnown }, config)
  readListsInTurns(app, { clock, nextTurn: deps.nextTurn, isBusy: inFlight.isTakingIn }, config.listTurns)
  await app.register(helmet, {
    global: true,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], baseUri: ["'none'"], frameAncestors: ["'none'"], formAction: ["'none'"] },
    },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    strictTransportSecurity: { maxAge: 31_536_000, includeSubDomains: true },
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('cache-control', 'no-store')
  })
  logRequests(app, deps)
  meterRequests(app, meters)
  await allowOrigins(app, config.inboxOrigins)
  const userTokens = createUserTokens(seal)
  const authentication = installAuthentication(app, { store, userTokens, clock, config })
  onlyStrictJson(app)
  bindCursors(app, seal)
  maskAnswers(app)
  answerUnknownPaths(app, addConsole(app, deps.console ?? null, config.consoleFrames))
  await collectOpenApi(app, deps.version)

  const context: Context = {
    ...deps,
    authentication,
    userTokens,
    events: createEventIntake({ store, payloadSeal, ids, clock, nudge, untrusted, meters, tracing }),
    notifications: createNotificationIntake({
      store,
      snapshots,
      untrusted,
      sealing: payloadSeal,
      ids,
      clock,
      skips: deps.skips,
      meters,
      tracing,
      nudge,
    }),
    receivers: createReceivingAccounts({
      accounts: store.accounts,
      snapshots,
      sources: deps.receiptSources,
      openSecrets: (account) => openAccountSecrets(seal, account),
      clock,
      logger,
      maxAgeMs: SHARED_RECEIVERS_MAX_AGE_MS,
    }),
    refusals: createRefusals({ receipts: store.receipts, clock, logger, meters, everyMs: COUNT_REFUSED_EVERY_MS }),
  }
  // After the last request was answered.
  app.addHook('onClose', context.refusals.close)
  const typed: App = app.withTypeProvider<TypeBoxTypeProvider>()
  for (const routes of [
    eventRoutes,
    notificationRequestRoutes,
    notificationIntakeRoutes,
    siteRoutes,
    sourceRoutes,
    notificationRoutes,
    notificationContentRoutes,
    causeRoutes,
    bulkRoutes,
    operationRoutes,
    communicationLogRoutes,
    automationScheduleRoutes,
    resendRoutes,
    eventTypeRoutes,
    messageTemplateRoutes,
    contactRoutes,
    conversationRoutes,
    recipientListRoutes,
    suppressionRoutes,
    personalDataRoutes,
    inboxRoutes,
    channelAccountRoutes,
    providerRoutes,
    keyRoutes,
    sessionRoutes,
    consoleStreamRoutes,
    sealingKeyRoutes,
    sandboxRoutes,
    sandboxFaultRoutes,
    tenantRoutes,
    outboxRoutes,
    auditRoutes,
    kpiRoutes,
    workerRoutes,
    alertRoutes,
    purgeRoutes,
    callbackRoutes,
    webhookRoutes,
    healthRoutes,
    metricsRoutes,
  ])
    routes(typed, context)
  await serveOpenApi(app)
  return app
}

/** An id from outside goes into logs and answers, so it may only be a plain one. */
function saneRequestId(given: string | string[] | undefined): string | null {
  return typeof given === 'string' && /^[A-Za-z0-9._:-]{1,100}$/.test(given) ? given : null
}

const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i

/**
 * Bodies are JSON in UTF-8, said so in exactly one way, and not compressed; a route may say that it takes YAML as well,
 * or anything. Everything else is 415, so that no spelling gets past validation.
 */
function onlyStrictJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      const value = parseJsonBody(body as Buffer)
      if (request.routeOptions.config.judgesJson !== true) refuseUnfit(value)
      done(null, value)
    } catch (error) {
      done(error as Error)
    }
  })
  takeYaml(app)
  app.addHook('preParsing', async (request) => {
    const { 'content-type': type, 'content-encoding': encoding } = request.headers
    if (request.method === 'GET' || request.method === 'HEAD') return
    const { takesYaml, takesAnything } = request.routeOptions.config
    const isTaken = takesAnything === true || (takesYaml === true && isYamlType(type))
    if (type !== undefined && !isTaken && !JSON_TYPE.test(type))
      throw new PillarboxError('unsupported_media_type', 'Send the body as application/json in UTF-8.')
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
      throw new PillarboxError('unsupported_media_type', 'Send the body uncompressed.')
  })
  app.addHook('preValidation', async (request) => {
    if (request.is404) return
    if (request.body !== undefined && request.routeOptions.schema?.body === undefined) refuseFields(request.body)
    for (const [name, value] of Object.entries((request.query ?? {}) as Record<string, unknown>))
      for (const text of [name, ...[value].flat()].map(String)) {
        const problem = textProblem(text)
        if (problem) throw new PillarboxError('invalid_query', `A query parameter ${problem}.`)
      }
    // A route without a query takes none.
    if (request.routeOptions.schema?.querystring === undefined && !isPluginRoute(request.routeOptions.url ?? '')) {
      const [name] = Object.keys(request.query ?? {})
      if (name !== undefined)
        throw new PillarboxError('invalid_query', 'This path takes no query.', {
          errors: [{ path: name.slice(0, 100), message: 'is not a known parameter' }],
        })
    }
  })
}

/** For routes that take no body: an empty object is as good as none, fields are not. */
function refuseFields(body: unknown): void {
  if (typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0) return
  throw new PillarboxError('invalid_body', 'This path takes no body.', {
    errors: [{ path: '', message: 'must be empty' }],
  })
}

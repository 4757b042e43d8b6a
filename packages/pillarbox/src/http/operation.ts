import type { FastifyContextConfig, FastifyInstance, FastifySchemaCompiler, RouteOptions } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import { ROLES } from '../model/api-key.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { Access, TenantScope } from './auth.ts'
import { isHealthPath } from './in-flight.ts'
import { Closed, ForOps, type Properties } from './schemas.ts'
import { optionalBody } from './validation.ts'

/** What the routes are about, in the order of the document. */
export const TAGS = {
  Intake: 'What is to be told: events and single notifications, durable when answered.',
  Sites: 'What is handed off by places that buffer while they cannot reach us.',
  Events: 'What was published, and what became of it.',
  Notifications: 'The ledger: one row per recipient and channel, and what an operator may do to it.',
  Bulk: 'Why notifications stopped, and acts on very many of them at once.',
  Schedules: 'When events are to be turned into notifications.',
  Catalogue: 'What events mean: who is told, when, on which channels.',
  Templates: 'The words, per event type, channel, locale and scope.',
  People: 'Contacts, conversations, recipient lists and suppressed addresses.',
  Inbox: 'What in_app notifications have put before a user.',
  Accounts: 'A tenant’s credentials, pace and retry policy per provider.',
  Keys: 'API keys, and who may use what.',
  Sessions: 'Who is signed in at the console.',
  Tenants: 'Tenants and their settings.',
  Operations: 'For those who run the server, across tenants.',
  Sandbox: 'What the pretend vendor took.',
  Webhooks: 'What vendors call: proven by their own schemes, never by a key.',
  Health: 'Whether all is well, for people, monitors and load balancers.',
} as const

interface OperationSchema {
  /** A verb and a noun. Generated clients call the operation by it, so that it stays as it is. */
  operationId: string
  description?: string
  /** Parameters of the query, beside `tenantId`. */
  query?: Properties
  /** The whole query, where parameters alone cannot say it. */
  querystring?: TSchema
  headers?: TSchema
  body?: TSchema
  response: object
  /** What can stand in the way here, beside what can everywhere (`problemsOf`). */
  problems?: readonly ErrorCode[]
}

type QueryOf<S> = S extends { querystring: infer Whole extends TSchema }
  ? Whole
  : TObject<(S extends { query: infer Named extends Properties } ? Named : unknown) & typeof ForOps>

interface OperationOptions {
  bodyLimit?: number
  validatorCompiler?: FastifySchemaCompiler<TSchema>
  /** The body may be left out, which is null then. */
  isBodyOptional?: boolean
  config?: FastifyContextConfig
}

declare module 'fastify' {
  interface FastifyContextConfig {
    problems?: readonly ErrorCode[]
    isBodyOptional?: boolean
  }
  interface FastifySchema {
    operationId?: string
  }
  interface FastifyInstance {
    /** Every route but those that plugins bring. */
    routeTable: RouteEntry[]
  }
}

/** Makes the options of a resource's routes: who may use one, what the document says of it, what it takes and answers. */
export function operationsOf(tag: keyof typeof TAGS, tenant: TenantScope = 'one', shared: FastifyContextConfig = {}) {
  return <const S extends OperationSchema>(
    access: Access,
    summary: string,
    { query, problems, ...schema }: S,
    { config, isBodyOptional = false, ...options }: OperationOptions = {},
  ) => {
    const parameters = { ...query, ...((tenant === 'one' || tenant === 'any') && ForOps) }
    const querystring = Object.keys(parameters).length > 0 ? { querystring: Closed(parameters) } : {}
    return {
      ...(isBodyOptional && schema.body && { validatorCompiler: optionalBody(schema.body) }),
      ...options,
      config: { access, tenant, isBodyOptional, ...(problems && { problems }), ...shared, ...config },
      schema: { tags: [tag], summary, ...querystring, ...schema } as unknown as Omit<
        S,
        'query' | 'querystring' | 'problems'
      > & { querystring: QueryOf<S> },
    }
  }
}

/** One route as it is registered: what the document, the tests and the reference page are held against. */
export interface RouteEntry {
  method: string
  url: string
  access: Access
  /** Null where the document does not have it: the document itself. */
  operationId: string | null
  /** Every problem it may answer with, once it is known to be asked for. */
  problems: readonly ErrorCode[]
  isBodyOptional: boolean
}

/**
 * Keeps what the routes say of themselves. One that does not say who may use it is refused, so that none is open by
 * oversight, and so is one without a name, or with that of another.
 */
export function keepRouteTable(app: FastifyInstance, isPluginRoute: (url: string) => boolean): void {
  app.decorate('routeTable', [])
  app.addHook('onRoute', (route) => {
    if (isPluginRoute(route.url)) {
      route.config = { ...route.config, access: 'public' }
      return
    }
    const { access, isBodyOptional = false } = route.config ?? {}
    const operationId = route.schema?.operationId ?? null
    for (const method of [route.method].flat()) {
      const name = `${method} ${route.url}`
      if (access === undefined) throw new Error(`${name} does not say who may use it`)
      if (operationId === null && !route.schema?.hide) throw new Error(`${name} has no operationId`)
      const namesake = app.routeTable.find((entry) => entry.operationId !== null && entry.operationId === operationId)
      if (namesake) throw new Error(`${name} has the operationId of ${namesake.method} ${namesake.url}`)
      const problems = problemsOf({ ...route, method }, access)
      app.routeTable.push({ method, url: route.url, access, operationId, problems, isBodyOptional })
    }
  })
}

/** What may stand in a request's way by what its route is, beside what the route itself names. */
function problemsOf(route: RouteOptions & { method: string }, access: Access): ErrorCode[] {
  const { method, url, config = {} } = route
  const hasKey = access !== 'public'
  const mayHaveBody = method !== 'GET'
  const isHealth = isHealthPath(url)
  const isForEveryKey = hasKey && config.forSites === true && ROLES.every((role) => access.includes(role))
  const namesTenant = config.tenant === 'one' && access.includes('ops')
  const codes: [boolean, ErrorCode][] = [
    [hasKey || url.includes(':'), 'bad_request'],
    [mayHaveBody && !config.takesAnything, 'malformed_json'],
    [hasKey, 'unauthorized'],
    [hasKey && !isForEveryKey, 'forbidden'],
    [hasKey && (url.includes(':') || namesTenant), 'not_found'],
    [mayHaveBody, 'request_timeout'],
    [mayHaveBody, 'body_too_large'],
    [url.includes(':'), 'uri_too_long'],
    [mayHaveBody, 'unsupported_media_type'],
    [true, 'invalid_query'],
    [(mayHaveBody && !config.takesAnything) || route.schema?.headers !== undefined, 'invalid_body'],
    [!isHealth, 'rate_limited'],
    [true, 'internal'],
    [!isHealth, 'store_unavailable'],
    [true, 'overloaded'],
  ]
  const named = config.problems ?? []
  return [...new Set([...named, ...codes.filter(([can]) => can).map(([, code]) => code)])]
}

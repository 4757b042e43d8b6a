import { ERRORS, type ErrorCode } from '../model/errors.ts'
import type { Access } from './auth.ts'
import { type RouteEntry, TAGS } from './operation.ts'
import { ProblemSchema } from './schemas.ts'

/** As much of an OpenAPI document as is written here. */
export interface OpenApiDocument {
  paths: Record<string, Record<string, OpenApiOperation>>
  components: Record<string, Record<string, unknown>>
}

interface OpenApiOperation {
  description?: string
  parameters?: { name: string; in: string; required?: boolean; schema: { default?: unknown } }[]
  requestBody?: { required?: boolean }
  responses: Record<string, { description?: string; content?: Record<string, unknown> } | Reference>
  [member: string]: unknown
}

interface Reference {
  $ref: string
}

export const TAG_DESCRIPTIONS = Object.entries(TAGS).map(([name, description]) => ({ name, description }))

const PROBLEM_TYPE = 'application/problem+json'
const PROBLEM = { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } }

/** A key or a user's token: what the routes' `access` asks for, as the document names it. */
const SECURITY_SCHEMES = {
  key: { type: 'http', scheme: 'bearer', description: 'An API key. `x-roles` of an operation says with which role.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'pbx_session',
    description: 'The console’s, with the role of the key it was begun with. `signIn` leaves it.',
  },
  userToken: { type: 'http', scheme: 'bearer', description: 'A user’s token, for this user’s inbox alone.' },
  userTokenInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'The same, where a header cannot be sent.',
  },
} as const

/** What is answered where all went well, for operations that say no more. */
const SUCCESSES: Record<string, string> = {
  200: 'Done; what was asked for.',
  201: 'Made.',
  202: 'Taken and durable; the rest is done later.',
  204: 'Done; there is nothing to say.',
  503: 'It is not well; the body says why.',
}

/**
 * Completes what the routes' schemas say: each operation's security, what stands in the way of it, and what of it may be
 * left out.
 */
export function describeOperations(document: OpenApiDocument, routes: readonly RouteEntry[]): OpenApiDocument {
  const shared: Record<string, unknown> = {}
  for (const route of routes) {
    const operation = document.paths[documentedPath(route.url)]?.[route.method.toLowerCase()]
    if (operation) describe(operation, route, shared)
  }
  const schemas: Record<string, unknown> = {}
  const paths = withNames(document.paths, schemas) as OpenApiDocument['paths']
  withNames(ProblemSchema, schemas)
  return { ...document, paths, components: { schemas, responses: shared, securitySchemes: SECURITY_SCHEMES } }
}

/** What is data in a schema, and no schema. */
const DATA = ['enum', 'const', 'default', 'examples']

/** Puts each schema with a title of one word among the `named`, and a reference in its place. */
function withNames(node: unknown, named: Record<string, unknown>): unknown {
  if (Array.isArray(node)) return node.map((each) => withNames(each, named))
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, DATA.includes(key) ? value : withNames(value, named)]),
  )
  const { title, type } = copy
  if (typeof title !== 'string' || type !== 'object' || !/^[A-Z][A-Za-z]*$/.test(title)) return copy
  if (named[title] !== undefined && JSON.stringify(named[title]) !== JSON.stringify(copy))
    throw new Error(`Two schemas have the title ${title}`)
  named[title] = copy
  return { $ref: `#/components/schemas/${title}` }
}

/** `:id` of the router is `{id}` of the document. */
export function documentedPath(url: string): string {
  return url.replaceAll(/:(\w+)/g, '{$1}')
}

function describe(operation: OpenApiOperation, route: RouteEntry, shared: Record<string, unknown>): void {
  const { access, problems, isBodyOptional } = route
  operation['security'] = securityOf(access)
  if (access !== 'public') operation['x-roles'] = [...access]
  const roles = access === 'public' ? 'Anybody may ask.' : `Roles: ${access.join(', ')}.`
  operation.description = [operation.description, roles].filter(Boolean).join(' ')
  // What has a default is there for whoever answers, and need not be for whoever asks.
  for (const parameter of operation.parameters ?? [])
    if (parameter.schema.default !== undefined) parameter.required = false
  if (operation.requestBody && isBodyOptional) operation.requestBody.required = false
  for (const [status, response] of Object.entries(operation.responses))
    if ('description' in response && response.description === 'Default Response')
      response.description = SUCCESSES[status] ?? ''
  for (const [status, codes] of byStatus(problems)) addProblem(operation, status, codes, shared)
  operation.responses['default'] = { $ref: '#/components/responses/AnyProblem' }
  shared['AnyProblem'] ??= { description: 'What is wrong with the request before its path is known.', content: PROBLEM }
}

/** Where the same status is also answered with something else, a problem stands beside it. */
function addProblem(
  { responses }: OpenApiOperation,
  status: number,
  codes: readonly ErrorCode[],
  shared: Record<string, unknown>,
): void {
  const other = responses[status]
  if (other && 'content' in other) {
    other.content = { ...other.content, ...PROBLEM }
    return
  }
  const name = codes.map(pascal).join('Or')
  shared[name] ??= {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(' '),
    ...(HEADERS[status] && { headers: HEADERS[status] }),
    content: PROBLEM,
  }
  responses[status] = { $ref: `#/components/responses/${name}` }
}

const RETRY_AFTER = {
  'retry-after': { description: 'In how many seconds to try again.', schema: { type: 'integer' } },
}
const HEADERS: Record<number, object> = {
  401: { 'www-authenticate': { description: 'Which scheme is wanted.', schema: { type: 'string' } } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
}

function byStatus(codes: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const found = new Map<number, ErrorCode[]>()
  for (const code of [...codes].sort()) {
    const { status } = ERRORS[code]
    found.set(status, [...(found.get(status) ?? []), code])
  }
  return found
}

/** `not_found` → `NotFound`. */
function pascal(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function securityOf(access: Access): object[] {
  if (access === 'public') return []
  return [
    ...(access.some((role) => role !== 'user') ? [{ key: [] }] : []),
    // Publishers do not sign in.
    ...(access.some((role) => role !== 'user' && role !== 'publisher') ? [{ session: [] }] : []),
    ...(access.includes('user') ? [{ userToken: [] }, { userTokenInQuery: [] }] : []),
  ]
}

const PATH_PARAMETERS: Record<string, string> = {
  id: 'The id of what the path names.',
  keyId: 'The id of a key.',
  name: 'The name of an event type.',
  plural: 'The plural of an entity type of the catalogue, such as bookings.',
  site: 'The name of a site.',
  tenantId: 'The id of a tenant.',
  userId: 'The id of a user, as in_app notifications address it.',
  version: 'The number of a version.',
}

export function pathParameters(url: string): { params?: object } {
  const names = [...url.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '')
  if (!names.length) return {}
  const properties: Record<string, object> = {}
  for (const name of names) {
    const description = PATH_PARAMETERS[name]
    if (description === undefined) throw new Error(`${url} has a parameter that the document has no words for`)
    properties[name] = { type: 'string', description }
  }
  return { params: { type: 'object', properties, required: names } }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { invalidBody, PillarboxError } from '../model/errors.ts'
import { type BegunSession, changeSecret, SESSION_LIFE_MS, signInWithKey, signInWithLink } from '../operate/sessions.ts'
import { hashKey } from '../security/keys.ts'
import { type ApiCaller, callerOf, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Closed, iso, TextOrNull } from './schemas.ts'
import { refuseOtherSites, sessionSecret, setSessionCookie } from './session-cookie.ts'

const SessionJson = Type.Object(
  {
    tenantId: Type.Unsafe<string | null>({ ...TextOrNull, description: 'Null for ops, who choose one.' }),
    role: Type.String(),
    name: Type.String({ description: 'The key’s name. The audit says console:<name>.' }),
    expiresAt: Nullable(Type.String({ format: 'date-time', description: 'Null where it came with the key itself.' })),
  },
  { title: 'Session' },
)

const SignIn = Closed({
  key: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'An API key.' })),
  token: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'What a link to sign in holds.' })),
})

const operation = operationsOf('Sessions', 'any', { isConfiguration: true })

/** `/api/session`: who is signed in at the console. */
export function sessionRoutes(app: App, context: Context): void {
  const { store, clock, config, authentication } = context

  app.post(
    '/api/session',
    operation('public', 'Sign in at the console', {
      operationId: 'signIn',
      description:
        'With a key, or once with what a link holds. The answer leaves a cookie that acts with the role of the key, for 12 hours at most; it ends with the key. Publishers and sites have nothing to see there.',
      body: SignIn,
      problems: ['unauthorized', 'forbidden'],
      response: { 200: SessionJson },
    }),
    async (request, reply) => {
      if (request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined)
        refuseOtherSites(request, config.publicUrl)
      const { key, token } = request.body
      if ((key === undefined) === (token === undefined))
        throw invalidBody([{ path: '', message: 'must have either key or token' }])
      const begun =
        key === undefined
          ? await authentication.signIn(request, () => signInWithLink(context, token ?? ''))
          : await byKey(request, key)
      const former = sessionSecret(request)
      if (former !== null) await store.sessions.end(hashKey(former))
      authentication.sessions.forget()
      authentication.sessions.expect(hashKey(begun.secret), begun)
      setSessionCookie(request, reply, { value: begun.secret, lifeMs: SESSION_LIFE_MS }, config.publicUrl)
      return sessionJson(begun)
    },
  )

  app.get(
    '/api/session',
    operation(TO_READ, 'Who is signed in', {
      operationId: 'getSession',
      description: 'A session’s secret is exchanged for another one here once an hour.',
      response: { 200: SessionJson },
    }),
    async (request, reply) => {
      const caller = callerOf(request)
      await exchange(request, reply, caller)
      return sessionJson(caller)
    },
  )

  app.delete(
    '/api/session',
    operation(TO_READ, 'Sign out', {
      operationId: 'signOut',
      query: {
        everywhere: Type.Optional(
          Type.Boolean({ description: 'End every session of the key, and its links as well.' }),
        ),
      },
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      const { key, actor, session } = callerOf(request)
      // A request that came with a key says nothing of the session whose cookie came along.
      const secret = session && sessionSecret(request)
      if (request.query.everywhere) await store.sessions.endAll(key.id, actor)
      else if (secret !== null) await store.sessions.end(hashKey(secret))
      authentication.sessions.forget()
      if (session) setSessionCookie(request, reply, null, config.publicUrl)
      return reply.status(204).send(null)
    },
  )

  async function byKey(request: FastifyRequest, token: string): Promise<BegunSession> {
    const key = await authentication.signIn(request, () => authentication.findKey(token))
    if (!TO_READ.some((role) => role === key.role) || key.site !== null)
      throw new PillarboxError('forbidden', 'This key is for sending: it has nothing to see at the console.')
    const begun = await signInWithKey(context, key.id)
    if (!begun) throw new PillarboxError('unauthorized', 'The API key is not known, or no longer valid.')
    return begun
  }

  async function exchange(request: FastifyRequest, reply: FastifyReply, { key, session }: ApiCaller): Promise<void> {
    const secret = session && sessionSecret(request)
    if (!secret) return
    const next = await changeSecret(context, { session, key }, secret, clock.now())
    if (next === null) return
    authentication.sessions.forget()
    authentication.sessions.expect(hashKey(next), { session, key })
    const lifeMs = session.expiresAt - clock.now()
    setSessionCookie(request, reply, { value: next, lifeMs }, config.publicUrl)
  }
}

function sessionJson({ key, session }: Pick<ApiCaller, 'key' | 'session'>): Static<typeof SessionJson> {
  const { tenantId, role, name } = key
  return { tenantId, role, name, expiresAt: session && iso(session.expiresAt) }
}

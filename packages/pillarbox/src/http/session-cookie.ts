import type { FastifyReply, FastifyRequest } from 'fastify'
import { PillarboxError } from '../model/errors.ts'

const NAME = 'pbx_session'
const SECRET = /^[A-Za-z0-9_-]{20,100}$/

/** The secret of the console's session; null where the browser brings none, or something that cannot be one. */
export function sessionSecret({ headers }: Pick<FastifyRequest, 'headers'>): string | null {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = pair.split('=', 2).map((part) => part.trim())
    if (name === NAME) return SECRET.test(value) ? value : null
  }
  return null
}

/** Leaves the secret where only this server gets to see it; null takes it away. */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  secret: { value: string; lifeMs: number } | null,
  publicUrl: string | null,
): void {
  const isSecure = request.protocol === 'https' || publicUrl?.startsWith('https:') === true
  const parts = [
    `${NAME}=${secret?.value ?? ''}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    `Max-Age=${secret ? Math.floor(secret.lifeMs / 1_000) : 0}`,
    ...(isSecure ? ['Secure'] : []),
  ]
  reply.header('set-cookie', parts.join('; '))
}

/**
 * Refuses what a page of another site makes a browser send. Whatever changes something has to be known to come from our own
 * page; what only reads must not be known to come from another.
 */
export function refuseOtherSites(request: FastifyRequest, publicUrl: string | null): void {
  const { 'sec-fetch-site': site, origin } = request.headers
  const isReading = request.method === 'GET' || request.method === 'HEAD'
  const isOurs = site === 'same-origin' || (site === undefined && isOwnOrigin(origin, request, publicUrl))
  const isUnsaid = site === undefined && origin === undefined
  // `none`: typed in, or opened from a bookmark.
  if (isOurs || (isReading && (isUnsaid || site === 'none'))) return
  throw new PillarboxError('forbidden', 'Only the console’s own pages may do this with its cookie.')
}

function isOwnOrigin(origin: string | undefined, { host }: FastifyRequest, publicUrl: string | null): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false
  const { host: given, protocol } = new URL(origin)
  // The port that goes without saying may be said.
  const own = URL.canParse(`${protocol}//${host}`) ? new URL(`${protocol}//${host}`).host : null
  return given === own || (publicUrl !== null && given === new URL(publicUrl).host)
}

import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, PillarboxError } from '../model/errors.ts'
import { rawProblem, sendProblem } from './problems.ts'

/**
 * 405 where the path exists for another method, 404 otherwise: before a byte of the body is read. `answerPage` is asked first:
 * the console's pages are addresses that only it knows.
 */
export function answerUnknownPaths(
  app: FastifyInstance,
  answerPage: (request: FastifyRequest, reply: FastifyReply) => boolean,
): void {
  function answer(request: FastifyRequest, reply: FastifyReply): void {
    if (answerPage(request, reply)) return
    const [problem, headers] = refusalOfPath(app, request.method, request.url)
    sendProblem(reply.headers(headers), problem, request.id)
  }
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return undefined
    answer(request, reply)
    return reply
  })
  // For what a plugin's route does not find.
  app.setNotFoundHandler(answer)
}

function refusalOfPath(app: FastifyInstance, method: string, url: string): [PillarboxError, Record<string, string>] {
  const path = url.split('?', 1)[0] ?? ''
  const methods = app.routeTable.filter((route) => matches(route.url, path)).map((route) => route.method)
  if (methods.length === 0) return [new PillarboxError('not_found', 'There is nothing at this path.'), {}]
  const problem = new PillarboxError('method_not_allowed', `This path does not take ${method}.`)
  return [problem, { allow: [...new Set(methods)].sort().join(', ') }]
}

function matches(pattern: string, path: string): boolean {
  const parts = pattern.split('/')
  const given = path.split('/')
  return (
    parts.length === given.length &&
    parts.every((part, i) => (part.startsWith(':') ? given[i] !== '' : part === given[i]))
  )
}

const BROKEN: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request was not sent in time.'],
}

/** What the parser of Node says; `rawPacket` is a buffer where bytes had come. */
type BrokenRequest = Error & { code?: string | undefined; rawPacket?: unknown }

/** What is not HTTP, or comes too slowly, has no request yet: answered on the socket, then cut. */
export function answerBrokenRequest(
  app: FastifyInstance,
  error: BrokenRequest,
  socket: Socket,
  requestId: string,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (socket.writable) socket.write(rawProblem(...refusalOfBroken(app, error), requestId))
  socket.destroy(error)
}

function refusalOfBroken(
  app: FastifyInstance,
  { code = '', rawPacket }: BrokenRequest,
): [PillarboxError, Record<string, string>] {
  const received = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : ''
  const [, method, url] = /^([A-Z-]{1,32}) (\/\S*) HTTP\/1\.[01]\r\n/.exec(received) ?? []
  // A method that the parser has never heard of is as good as one that the path does not take.
  if (code === 'HPE_INVALID_METHOD' && method !== undefined && url !== undefined) return refusalOfPath(app, method, url)
  const [as, detail] = BROKEN[code] ?? (['bad_request', 'This is not a valid HTTP request.'] as const)
  return [new PillarboxError(as, detail), {}]
}

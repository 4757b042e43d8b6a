import { createHash } from 'node:crypto'
import { brotliCompressSync, constants } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { makeToken } from '../security/keys.ts'

/** The built console, read when the server starts: it is a dozen files. */
export interface ConsoleFiles {
  /** The page that all of the console's addresses get. `NONCE` in it stands for what lets its own styles in. */
  page: string
  /** Scripts, styles and pictures by name. Their names change with what is in them. */
  assets: ReadonlyMap<string, Buffer>
}

export const CONSOLE_FILES = '/assets/:file'
/** Stands in the built page where the nonce goes. */
export const NONCE = '__CSP_NONCE__'

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
}

/** Addresses of the API and its page: never a page of the console, whatever a browser asks for there. */
const NOT_PAGES = /^\/(?:api|ops|health|docs|assets|openapi\.json)(?:\/|$)/

/**
 * Serves the console, and answers who is to be asked for a page before a path is unknown. A page is `/`, and whatever a browser
 * asks for as a page outside the API. Scripts come from here and from nowhere else; nothing written into a page runs, and styles are
 * taken from our files and from elements that have the page's own nonce.
 */
export function addConsole(
  app: FastifyInstance,
  console: ConsoleFiles | null,
  frames: readonly string[] = [],
): (request: FastifyRequest, reply: FastifyReply) => boolean {
  const prepared = new Map([...(console?.assets ?? [])].map(([name, bytes]) => [name, prepare(name, bytes)]))
  app.route({
    method: 'GET',
    url: CONSOLE_FILES,
    schema: { hide: true },
    handler: async (request, reply) => {
      const { file } = request.params as { file: string }
      const found = prepared.get(file)
      if (!found) return reply.callNotFound()
      reply.header('cache-control', 'public, max-age=31536000, immutable').header('etag', found.etag)
      reply.header('vary', 'accept-encoding').type(found.type)
      if (!/\bbr\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(found.bytes)
      return reply.header('content-encoding', 'br').send(found.compressed())
    },
  })

  return (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    if (request.method !== 'GET' && request.method !== 'HEAD') return false
    if (path !== '/' && (NOT_PAGES.test(path) || !/\btext\/html\b/.test(request.headers.accept ?? ''))) return false
    const nonce = makeToken()
    const ancestors = isPanel(request.url) ? frames : []
    reply.header('content-security-policy', policy(nonce, ancestors)).header('cache-control', 'no-cache')
    // The older header knows no origins: where it stands, a browser that knows both heeds the policy.
    if (ancestors.length > 0) reply.removeHeader('x-frame-options')
    const page = request.method === 'HEAD' ? '' : (console?.page ?? MISSING).replaceAll(NONCE, nonce)
    reply.type('text/html; charset=utf-8').send(page)
    return true
  }
}

/** What is shown where the server has no console. */
const MISSING = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pillarbox</title></head><body>
<h1>The console is not built</h1><p>This server runs from its sources, and its console has not been built yet: run
<code>npm run console</code>, then start it again. The API is there all the same, with <a href="/docs">a page of its own</a>.</p>
</body></html>`

/** An entity's panel, as other applications show it: the only page that may stand in a frame of theirs. */
function isPanel(url: string): boolean {
  const [path = '', query = ''] = url.split('?', 2)
  return /^\/entities\/[^/]+\/[^/]+$/.test(path) && new URLSearchParams(query).get('embed') === '1'
}

function policy(nonce: string, ancestors: readonly string[]): string {
  return [
    "default-src 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-src 'self'",
    `frame-ancestors ${ancestors.length > 0 ? ancestors.join(' ') : "'none'"}`,
  ].join('; ')
}

function prepare(name: string, bytes: Buffer) {
  let compressed: Buffer | null = null
  return {
    bytes,
    type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(bytes).digest('base64url')}"`,
    /** When it is first asked for: a server whose console nobody opens does not do it. */
    compressed: () => (compressed ??= brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })),
  }
}

import { onOneLine } from '../words.ts'

const INDENT = ' '.repeat(11)

/** What a server refused, or that there is none, with what to do about it. Null: that is not what went wrong. */
export async function describeRefusal(error: unknown, url: string): Promise<string | null> {
  const { InvalidEventError, PillarboxConnectionError, PillarboxHttpError } = await import('@pillarbox/client')
  if (error instanceof PillarboxConnectionError) {
    const cause = causeOf(error.cause)
    const why = error.code === 'unreachable' && cause !== '' ? `: ${cause}` : ''
    const what =
      error.code === 'unreadable'
        ? `what answers at ${url} is no Pillarbox server`
        : error.code === 'timeout'
          ? `no answer in time from ${url}; what was asked for may have been done`
          : `no server answers at ${url}${why}`
    return said([what, `→ start one with "pillarbox start", or name another with --url or PILLARBOX_URL`])
  }
  if (error instanceof InvalidEventError) return said([error.message])
  if (!(error instanceof PillarboxHttpError)) return null
  const { status, code, problem, errors, requestId } = error
  const title = problem.title ?? 'the server refused'
  const head = `${title.replace(/\.$/, '')} (${status} ${code})${problem.detail ? `: ${problem.detail}` : ''}`
  const fields = errors.map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`)
  const advice = adviceFor(error)
  const trace = status >= 500 && requestId !== null ? [`request ${requestId}`] : []
  return said([head, ...fields, ...trace, ...(advice === null ? [] : [`→ ${advice}`])])
}

function said([first = '', ...rest]: string[]): string {
  return [`pillarbox: ${onOneLine(first)}\n`, ...rest.map((line) => `${INDENT}${onOneLine(line)}\n`)].join('')
}

/** The first of what went wrong below `fetch`, which says only that it failed. */
function causeOf(error: unknown): string {
  const { cause, code, errors } = (error ?? {}) as { cause?: unknown; code?: string; errors?: unknown[] }
  if (cause !== undefined) return causeOf(cause)
  if (code !== undefined) return code
  return Array.isArray(errors) ? causeOf(errors[0]) : error instanceof Error ? error.message : ''
}

interface Refused {
  status: number
  code: string
  errors: readonly { path: string }[]
  retryAfterMs: number | null
}

function adviceFor({ status, code, errors, retryAfterMs }: Refused): string | null {
  const aboutTenant = errors.some(({ path }) => path === 'tenantId')
  if (code === 'unexpected_answer') return 'something else than Pillarbox answered: check --url'
  if (status === 401) return 'the key is unknown, revoked or expired: check PILLARBOX_KEY, PILLARBOX_KEY_FILE or --key'
  if (status === 403)
    return 'this key’s role may not do that: use one of a higher role, made with "pillarbox keys create"'
  if (status === 404) return 'check the id, and the tenant: what is another tenant’s is not found'
  if (status === 422 && aboutTenant)
    return errors.length > 0 && code === 'invalid_query'
      ? 'name a tenant with --tenant if this is an ops key, and none otherwise'
      : null
  if (status === 429 || status === 503) return `try again in ${Math.ceil((retryAfterMs ?? 1_000) / 1_000)} s`
  if (status >= 500) return 'the server’s log has the rest, under that request'
  return null
}

/** The ops key of every product that a test starts. */
export const OPS_KEY = 'ops-key-of-the-tests-0123456789'

export interface Answer<Body = Record<string, unknown>> {
  status: number
  body: Body
  retryAfter: string | null
  tookMs: number
}

/** A request that hangs is given up after this long; a busy machine answers far sooner. */
const ANSWER_MS = 60_000

/** One request to the API. Rejects where no answer comes. */
export async function request<Body = Record<string, unknown>>(
  url: string,
  { key = OPS_KEY, method, body }: { key?: string; method: string; body?: unknown },
): Promise<Answer<Body>> {
  const startedAt = performance.now()
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    signal: AbortSignal.timeout(ANSWER_MS),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: (text === '' ? {} : parsed(text)) as Body,
    retryAfter: response.headers.get('retry-after'),
    tookMs: performance.now() - startedAt,
  }
}

/** A request that must succeed; answers its body. */
export async function succeed<Body = Record<string, unknown>>(
  url: string,
  options: Parameters<typeof request>[1],
): Promise<Body> {
  const { status, body } = await request<Body>(url, options)
  if (status < 200 || status > 299)
    throw new Error(`${options.method} ${url} answered ${status}: ${JSON.stringify(body)}`)
  return body
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

import type { Problem, ProblemDocument } from '@pillarbox/client'

/** What the server refused, in its own words. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  /** What is wrong with which field. */
  readonly errors: readonly Problem[]

  constructor(status: number, problem: Partial<ProblemDocument>) {
    super(problem.detail ?? `The server answered ${status}.`)
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.requestId = problem.requestId ?? null
    this.errors = problem.errors ?? []
  }
}

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>

/** The answer of our own server, as JSON. A body that is text is a catalogue, as YAML. */
export async function call<T>(method: string, path: string, query: Query = {}, body?: object | string): Promise<T> {
  const type = typeof body === 'string' ? 'application/yaml' : 'application/json'
  const answer = await fetch(urlOf(path, query), {
    method,
    headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiError(0, { detail: 'The server cannot be reached. What is shown may be old.', code: 'unreachable' })
  })
  if (!answer.ok) throw new ApiError(answer.status, await problemIn(answer))
  return (answer.status === 204 ? null : await answer.json()) as T
}

export const get = <T>(path: string, query?: Query): Promise<T> => call<T>('GET', path, query)

export function urlOf(path: string, query: Query): string {
  const asked = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) if (each !== undefined && each !== null) asked.append(name, String(each))
  const text = asked.toString()
  return text === '' ? path : `${path}?${text}`
}

async function problemIn(answer: Response): Promise<Partial<ProblemDocument>> {
  try {
    return (await answer.json()) as ProblemDocument
  } catch {
    return { requestId: answer.headers.get('x-request-id') ?? '' }
  }
}

/** A page of a list. */
export interface PageOf<T> {
  items: T[]
  nextCursor: string | null
}

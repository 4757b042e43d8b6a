import type { Instant } from '../event.ts'
import type { CallOptions, Request, Transport } from './transport.ts'

export interface PageOptions {
  /** 1 to 200. Default: 50. */
  limit?: number
  cursor?: string
}

export interface Page<Item> {
  items: Item[]
  nextCursor: string | null
}

export type Query = Request['query'] & object

/** The ways the resources of this folder call the server. The contract gives an answer its shape; it is not checked. */
export interface Calls {
  get<T>(path: string, query: Query, options: CallOptions): Promise<T>
  /** `isRepeatable`: sending it twice does no more than sending it once. */
  send<T>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    options: CallOptions & { isRepeatable?: boolean },
  ): Promise<T>
  page<T>(path: string, query: Query, options: PageOptions & CallOptions): Promise<Page<T>>
  /** Everything that matches, fetched page by page as it is consumed. */
  all<T>(path: string, query: Query, options: PageOptions & CallOptions): AsyncGenerator<T, void, undefined>
}

export function callsOf(transport: Transport): Calls {
  const calls: Calls = {
    get: async <T>(path: string, query: Query, options: CallOptions) =>
      (await transport({ method: 'GET', path, query, isRepeatable: true }, options)) as T,
    send: async <T>(
      method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      path: string,
      body: unknown,
      { isRepeatable = false, ...options }: CallOptions & { isRepeatable?: boolean },
    ) => (await transport({ method, path, body, isRepeatable }, options)) as T,
    page: (path, query, { limit, cursor, ...options }) =>
      calls.get(path, { ...query, limit: limit?.toString(), cursor }, options),
    async *all<T>(path: string, query: Query, { cursor, ...options }: PageOptions & CallOptions) {
      let next: string | null = cursor ?? null
      do {
        const page: Page<T> = await calls.page(path, query, { ...options, ...(next === null ? {} : { cursor: next }) })
        yield* page.items
        next = page.nextCursor
      } while (next !== null)
    },
  }
  return calls
}

/** A path with its ids in place, whatever characters they have. */
export function path(parts: TemplateStringsArray, ...ids: string[]): string {
  return parts.reduce((text, part, i) => `${text}${encodeURIComponent(ids[i - 1] ?? '')}${part}`)
}

export function isoText(instant: Instant | undefined): string | undefined {
  return instant instanceof Date ? instant.toISOString() : instant
}

import { Button } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { get, type PageOf, type Query } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Blank, Loading, Trouble } from './blank.tsx'

/** How many pages without a row are passed over at once. */
const MOST_EMPTY_PAGES = 5

/**
 * The next page that has a row. The server looks at so many rows for each page, and answers with those that the filter leaves of them:
 * a page may be empty although there are more.
 */
async function nextFilledPage<T>(path: string, query: Query): Promise<PageOf<T>> {
  let page = await get<PageOf<T>>(path, query)
  for (let empty = 1; empty < MOST_EMPTY_PAGES && page.items.length === 0 && page.nextCursor !== null; empty++)
    page = await get<PageOf<T>>(path, { ...query, cursor: page.nextCursor })
  return page
}

interface PagedOptions<T> {
  /** How often it is read again. */
  everyMs?: number | false | ((items: readonly T[]) => number)
  /** What makes it another list, where that is not the query, which may move with the time. */
  question?: unknown
}

/** A list of the server's, page by page. */
export function usePaged<T>(
  path: string,
  scope: Scope,
  query: Query = {},
  { everyMs = 30_000, question = query }: PagedOptions<T> = {},
) {
  const list = useInfiniteQuery({
    queryKey: ['live', path, scope.tenantId, question],
    queryFn: ({ pageParam }) => nextFilledPage<T>(path, { ...scope.query, ...query, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      typeof everyMs === 'function' ? everyMs(state.data?.pages.flatMap(({ items }) => items) ?? []) : everyMs,
  })
  return { ...list, items: list.data?.pages.flatMap(({ items }) => items) }
}

type Paged<T> = Pick<
  ReturnType<typeof usePaged<T>>,
  'items' | 'error' | 'refetch' | 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'
>

interface PagedListProps<T> {
  list: Paged<T>
  /** What stands there when the list is at its end and had nothing. */
  blank: ReactNode
  /** How many lines stand there while the first page is read. */
  lines?: number
  /** On the button to the next page. */
  word?: string
  children: (items: readonly T[]) => ReactNode
}

/** The rows that were read, or why there are none, and the way to more. */
export function PagedList<T>({ list, blank, lines = 6, word = 'Older', children }: PagedListProps<T>) {
  if (!list.items)
    return list.error ? <Trouble error={list.error} retry={() => void list.refetch()} /> : <Loading lines={lines} />
  return (
    <>
      {list.items.length > 0 ? children(list.items) : list.hasNextPage ? <NoneSoFar /> : blank}
      <Older list={list} word={word} />
    </>
  )
}

export function NoneSoFar() {
  return <Blank title="None so far">Many were looked through, and none of them match. There are older ones.</Blank>
}

interface OlderProps {
  list: Pick<Paged<unknown>, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>
  word?: string
  /** Done before the next page is asked for. */
  before?: () => void
}

export function Older({ list, word = 'Older', before }: OlderProps) {
  if (!list.hasNextPage) return null
  return (
    <Button
      fullWidth
      variant="subtle"
      radius={0}
      loading={list.isFetchingNextPage}
      onClick={() => {
        before?.()
        void list.fetchNextPage()
      }}
    >
      {word}
    </Button>
  )
}

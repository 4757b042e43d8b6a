import { Button } from '@mantine/core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { get, type PageOf, type Query } from '../app/api.ts'
import type { Scope } from '../app/session.ts'

/** A list of the server's, page by page. `name` and what narrows it make the question. */
export function usePaged<T>(path: string, scope: Scope, query: Query = {}, everyMs = 30_000) {
  const list = useInfiniteQuery({
    queryKey: ['live', path, scope.tenantId, query],
    queryFn: ({ pageParam }) => get<PageOf<T>>(path, { ...scope.query, ...query, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
    refetchInterval: everyMs,
  })
  return { ...list, items: list.data?.pages.flatMap(({ items }) => items) }
}

type Paged = Pick<ReturnType<typeof usePaged>, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>

export function Older({ list, word = 'Older' }: { list: Paged; word?: string }) {
  if (!list.hasNextPage) return null
  return (
    <Button
      fullWidth
      variant="subtle"
      radius={0}
      loading={list.isFetchingNextPage}
      onClick={() => void list.fetchNextPage()}
    >
      {word}
    </Button>
  )
}

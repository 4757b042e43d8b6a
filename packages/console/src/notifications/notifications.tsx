import { Button, SegmentedControl, Stack, Title } from '@mantine/core'
import type { Cause, NotificationView } from '@pillarbox/client'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { get, type PageOf } from '../app/api.ts'
import { type Scope, useScope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { CauseTable } from './cause-table.tsx'
import { type Filter, isNarrowed, queryOf } from './filter.ts'
import { Filters } from './filters.tsx'
import { NotificationTable } from './notification-table.tsx'
import { useStillList } from './still-list.ts'

/** The ledger, narrowed by what the address says. */
export function Notifications() {
  const scope = useScope()
  const filter: Filter = useSearch({ from: '/shell/notifications' })
  const navigate = useNavigate({ from: '/notifications' })
  const isByCause = filter.group === 'cause'
  const narrow = (changes: Filter): void => {
    const next = Object.entries({ ...filter, ...changes }).filter(([, value]) => value !== undefined && value !== '')
    void navigate({ search: Object.fromEntries(next), replace: true })
  }
  return (
    <Stack gap="md">
      <Title order={1}>Notifications</Title>
      <Filters filter={filter} narrow={narrow} />
      <SegmentedControl
        size="xs"
        aria-label="Show"
        value={isByCause ? 'cause' : 'rows'}
        data={[
          { value: 'rows', label: 'One by one' },
          { value: 'cause', label: 'By cause' },
        ]}
        onChange={(value) => narrow({ group: value === 'cause' ? 'cause' : undefined })}
        style={{ alignSelf: 'start' }}
      />
      <section className="panel" aria-label="Found">
        {isByCause ? <ByCause scope={scope} filter={filter} /> : <Rows scope={scope} filter={filter} />}
      </section>
    </Stack>
  )
}

function Rows({ scope, filter }: { scope: Scope; filter: Filter }) {
  const asked = JSON.stringify(filter)
  const list = useInfiniteQuery({
    queryKey: ['live', 'notifications', scope.tenantId, asked],
    queryFn: ({ pageParam }) =>
      get<PageOf<NotificationView>>('/api/notifications', { ...scope.query, ...queryOf(filter), cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  })
  const rows = list.data?.pages.flatMap(({ items }) => items)
  const still = useStillList(rows, `${scope.tenantId} ${asked}`)

  if (!rows) return list.error ? <Trouble error={list.error} retry={() => void list.refetch()} /> : <Loading />
  return (
    <>
      {list.error && <Trouble error={list.error} retry={() => void list.refetch()} />}
      <div aria-live="polite">
        {still.newCount > 0 && (
          <Button fullWidth variant="light" radius={0} onClick={still.showNew}>
            +{still.newCount} new · show
          </Button>
        )}
      </div>
      {still.rows.length === 0 ? <Nothing filter={filter} /> : <NotificationTable rows={still.rows} />}
      {list.hasNextPage && (
        <Button
          fullWidth
          variant="subtle"
          radius={0}
          loading={list.isFetchingNextPage}
          onClick={() => {
            still.showNew()
            void list.fetchNextPage()
          }}
        >
          Older
        </Button>
      )}
    </>
  )
}

function ByCause({ scope, filter }: { scope: Scope; filter: Filter }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'causes', scope.tenantId, JSON.stringify(filter)],
    queryFn: () =>
      get<{ items: Cause[]; complete: boolean }>('/api/notifications/causes', { ...scope.query, ...queryOf(filter) }),
    enabled: scope.tenantId !== null,
    placeholderData: keepPreviousData,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  if (data.items.length === 0)
    return (
      <Blank title="Nothing has stopped">
        Only what is parked, uncertain, failed, discarded or skipped has a cause.
      </Blank>
    )
  const { group: _, ...search } = filter
  return <CauseTable causes={data.items} caption="Why notifications have stopped" search={{ ...search }} />
}

function Nothing({ filter }: { filter: Filter }) {
  if (!isNarrowed(filter))
    return (
      <Blank title="No notification yet">
        They come of events, or of <span className="mono">POST /api/notifications</span>.{' '}
        <Link to="/events">Look at the events</Link> to see whether any came, and what became of them.
      </Blank>
    )
  return (
    <Blank
      title="None match"
      action={
        <Link to="/notifications" search={{}}>
          Clear all filters
        </Link>
      }
    >
      Search finds an id, an idempotency key, a provider’s id or an address only if it is given whole.
    </Blank>
  )
}

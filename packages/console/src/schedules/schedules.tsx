import './schedules.css'
import { Button, Group, NativeSelect, SegmentedControl, Stack, Text, TextInput, Title } from '@mantine/core'
import type { Schedule } from '@pillarbox/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { get, type PageOf, type Query } from '../app/api.ts'
import { type Scope, useScope } from '../app/session.ts'
import { isTyping } from '../app/shortcuts.ts'
import { useTenant } from '../app/tenant.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { addDays, dayWords, monthWords } from '../parts/zoned.ts'
import { Agenda } from './agenda.tsx'
import { Calendar } from './calendar.tsx'
import { Overdue } from './overdue.tsx'
import { SCHEDULE_STATUSES, scheduleWord } from './schedule-words.tsx'
import { ANY, queryOf, type ScheduleSearch, type Span, spanOf, stepOf, VIEWS } from './views.ts'

/** When events are to be turned into notifications: by day, in the tenant's zone. */
export function Schedules() {
  const scope = useScope()
  const search: ScheduleSearch = useSearch({ from: '/shell/schedules' })
  const navigate = useNavigate({ from: '/schedules' })
  const tenant = useTenant(scope)
  const show = (changes: ScheduleSearch): void => void navigate({ search: (old) => ({ ...old, ...changes }) })

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 't' && !event.ctrlKey && !event.metaKey && !isTyping(event.target))
        void navigate({ search: (old) => ({ ...old, from: undefined, days: undefined }) })
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [navigate])

  if (!tenant.data)
    return tenant.error ? <Trouble error={tenant.error} retry={() => void tenant.refetch()} /> : <Loading />
  const span = spanOf(search, tenant.data.timeZone, Date.now())
  return (
    <Stack gap="md">
      <Title order={1}>Schedules</Title>
      <Filters search={search} show={show} />
      <Overdue scope={scope} eventType={search.eventType} />
      <Group gap="xs">
        <SegmentedControl
          size="xs"
          aria-label="View"
          value={span.view}
          data={[...VIEWS]}
          onChange={(view) => show({ view: view === 'agenda' ? undefined : view, days: undefined })}
        />
        <Button size="xs" variant="default" aria-label="Earlier" onClick={() => show({ from: stepOf(span, -1) })}>
          ‹
        </Button>
        <Button size="xs" variant="default" onClick={() => show({ from: undefined, days: undefined })}>
          Today
        </Button>
        <Button size="xs" variant="default" aria-label="Later" onClick={() => show({ from: stepOf(span, 1) })}>
          ›
        </Button>
        <Text fw={600}>{titleOf(span)}</Text>
        <Text c="dimmed" size="sm">
          times in {tenant.data.timeZone}, the tenant’s zone
        </Text>
      </Group>
      <Found scope={scope} search={search} span={span} />
    </Stack>
  )
}

function titleOf({ view, from, to, today }: Span): string {
  if (view === 'month') return monthWords(addDays(from, 7))
  const last = addDays(to, -1)
  return last === from ? dayWords(from, today) : `${dayWords(from, today)} to ${dayWords(last, today)}`
}

function Filters({ search, show }: { search: ScheduleSearch; show: (changes: ScheduleSearch) => void }) {
  const [text, setText] = useState(search.eventType ?? '')
  useEffect(() => setText(search.eventType ?? ''), [search.eventType])
  const narrow = (): void => {
    if (text.trim() !== (search.eventType ?? '')) show({ eventType: text.trim() || undefined })
  }
  return (
    <Group gap="xs" align="end" role="search">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          narrow()
        }}
      >
        <TextInput
          label="Event type"
          placeholder="booking.reminder"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          onBlur={narrow}
          data-filter=""
        />
      </form>
      <NativeSelect
        label="State"
        value={search.status ?? ''}
        data={[
          { value: '', label: 'open' },
          { value: ANY, label: 'any' },
          ...SCHEDULE_STATUSES.map((status) => ({ value: status, label: scheduleWord(status) })),
        ]}
        onChange={({ currentTarget }) => show({ status: currentTarget.value || undefined })}
      />
    </Group>
  )
}

/** Lists come newest first, whatever is due when: those of some days are read whole, up to this many, and put in order here. */
const PAGE = 200
const MOST_PAGES = 5

async function readDue(query: Query): Promise<{ schedules: Schedule[]; isAll: boolean }> {
  const schedules: Schedule[] = []
  let cursor: string | null = null
  for (let page = 0; page < MOST_PAGES && (page === 0 || cursor !== null); page++) {
    const answer: PageOf<Schedule> = await get<PageOf<Schedule>>('/api/automation-schedules', {
      ...query,
      limit: PAGE,
      cursor,
    })
    schedules.push(...answer.items)
    cursor = answer.nextCursor
  }
  return { schedules: schedules.toSorted((a, b) => Date.parse(a.dueAt) - Date.parse(b.dueAt)), isAll: cursor === null }
}

function Found({ scope, search, span }: { scope: Scope; search: ScheduleSearch; span: Span }) {
  const query = { ...scope.query, ...queryOf(search, span) }
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'schedules', scope.tenantId, JSON.stringify(query)],
    queryFn: () => readDue(query),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  const { schedules, isAll } = data
  const agenda = <Agenda schedules={schedules} scope={scope} zone={span.zone} today={span.today} now={Date.now()} />
  return (
    <section className="panel" aria-label="Found">
      {error && <Trouble error={error} retry={() => void refetch()} />}
      {!isAll && (
        <p className="note">
          More than {(PAGE * MOST_PAGES).toLocaleString('en')} are due then: only the newest of them are shown. Look at
          fewer days, or at one event type.
        </p>
      )}
      {span.view !== 'agenda' && (
        <div className="wide-only">
          <Calendar schedules={schedules} span={span} month={addDays(span.from, 7).slice(0, 7)} />
        </div>
      )}
      <div className={span.view === 'agenda' ? undefined : 'narrow-only'}>
        {schedules.length === 0 ? <Nothing search={search} span={span} /> : agenda}
      </div>
    </section>
  )
}

function Nothing({ search, span }: { search: ScheduleSearch; span: Span }) {
  const isNarrowed = search.status !== undefined || search.eventType !== undefined
  return (
    <Blank title={isNarrowed ? 'None match' : `Nothing is open: ${titleOf(span)}`}>
      An event whose type has a timing, such as <span className="mono">{'{ before: P2D, field: departureDate }'}</span>,
      stands here until its time comes. The catalogue says which types do.
    </Blank>
  )
}

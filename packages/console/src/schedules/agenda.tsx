import { Text, Title } from '@mantine/core'
import type { Schedule } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import type { Scope } from '../app/session.ts'
import { clockIn, dayIn, dayWords } from '../parts/zoned.ts'
import { ScheduleActs } from './schedule-acts.tsx'
import { isOverdue, ScheduleState, whyOf } from './schedule-words.tsx'

interface AgendaProps {
  schedules: readonly Schedule[]
  scope: Scope
  zone: string
  today: string
  now: number
}

/** Schedules by the day they are due, each at its time of day. */
export function Agenda({ schedules, scope, zone, today, now }: AgendaProps) {
  const days = Map.groupBy(schedules, ({ dueAt }) => dayIn(Date.parse(dueAt), zone))
  return [...days].map(([day, of]) => (
    <section key={day} aria-label={dayWords(day, today)}>
      <header className="day">
        <Title order={2}>
          {dayWords(day, today)}
          {day === today && ' · today'}
        </Title>
        <Text size="xs" c="dimmed">
          {of.length.toLocaleString('en')}
        </Text>
      </header>
      <ScheduleTable schedules={of} scope={scope} now={now} timeOf={({ dueAt }) => clockIn(Date.parse(dueAt), zone)} />
    </section>
  ))
}

interface ScheduleTableProps {
  schedules: readonly Schedule[]
  scope: Scope
  now: number
  timeOf: (schedule: Schedule) => string
  /** The times have their dates with them. */
  isExact?: boolean
}

export function ScheduleTable({ schedules, scope, now, timeOf, isExact = false }: ScheduleTableProps) {
  return (
    <table className={`rows cards agenda${isExact ? ' exact' : ''}`}>
      <thead className="flat">
        <tr>
          {['due', 'state', 'event', 'about', 'why', 'do'].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {schedules.map((schedule) => (
          <tr key={schedule.id}>
            <td>
              <time dateTime={schedule.dueAt}>{timeOf(schedule)}</time>
            </td>
            <td>
              <ScheduleState status={schedule.status} />
            </td>
            <td data-wide="">
              <Link to="/schedules/$id" params={{ id: schedule.id }} data-row="">
                {schedule.eventType}
              </Link>
            </td>
            <td>
              {schedule.entity.type} {schedule.entity.id}
            </td>
            <td data-wide="">
              <span
                className="clip"
                style={
                  isOverdue(schedule, now) || schedule.status === 'failed' ? { color: 'var(--pbx-bad)' } : undefined
                }
              >
                {whyOf(schedule, now)}
              </span>
            </td>
            <td data-wide="" className="last">
              <ScheduleActs schedule={schedule} scope={scope} isSmall />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

import type { Schedule } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import type { KeyboardEvent } from 'react'
import { addDays, clockIn, dayIn, dayWords } from '../parts/zoned.ts'
import { ScheduleState, scheduleWord } from './schedule-words.tsx'
import type { Span } from './views.ts'

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
/** A day of a week shows this many, a day of a month only how many there are. */
const MOST_IN_DAY = 8

/** The same as the agenda as a grid of days. Every day leads to its own agenda. */
export function Calendar({ schedules, span, month }: { schedules: readonly Schedule[]; span: Span; month: string }) {
  const days = Map.groupBy(schedules, ({ dueAt }) => dayIn(Date.parse(dueAt), span.zone))
  const weeks: string[][] = []
  for (let monday = span.from; monday < span.to; monday = addDays(monday, 7))
    weeks.push(WEEKDAYS.map((_, place) => addDays(monday, place)))
  return (
    <table className="calendar" onKeyDown={moveByArrows}>
      <thead>
        <tr>
          {WEEKDAYS.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {weeks.map((week) => (
          <tr key={week[0]}>
            {week.map((day) => (
              <td
                key={day}
                data-today={day === span.today ? '' : undefined}
                data-outside={span.view === 'month' && !day.startsWith(month) ? '' : undefined}
              >
                <DayLink day={day} span={span} count={days.get(day)?.length ?? 0} />
                {span.view === 'week' ? (
                  <DayOfWeek schedules={days.get(day) ?? []} zone={span.zone} />
                ) : (
                  <DayOfMonth schedules={days.get(day) ?? []} />
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function DayLink({ day, span, count }: { day: string; span: Span; count: number }) {
  const label = `${dayWords(day, span.today)}${day === span.today ? ', today' : ''}: ${count} due`
  return (
    <Link
      to="/schedules"
      search={(old) => ({ ...old, view: undefined, from: day, days: '1' })}
      className="day-number"
      aria-label={label}
      data-day={day}
    >
      {Number(day.slice(8))}
    </Link>
  )
}

function DayOfWeek({ schedules, zone }: { schedules: readonly Schedule[]; zone: string }) {
  return (
    <ul>
      {schedules.slice(0, MOST_IN_DAY).map(({ id, dueAt, eventType, status, entity }) => (
        <li key={id} title={`${scheduleWord(status)}: ${eventType}, ${entity.type} ${entity.id}`}>
          <ScheduleState status={status} isNarrow /> <span className="mono">{clockIn(Date.parse(dueAt), zone)}</span>{' '}
          <Link to="/schedules/$id" params={{ id }}>
            {eventType}
          </Link>
        </li>
      ))}
      {schedules.length > MOST_IN_DAY && <li>and {schedules.length - MOST_IN_DAY} more</li>}
    </ul>
  )
}

function DayOfMonth({ schedules }: { schedules: readonly Schedule[] }) {
  const counts = Map.groupBy(schedules, ({ status }) => status)
  return (
    <ul>
      {[...counts].map(([status, of]) => (
        <li key={status} className="count">
          {of.length} <ScheduleState status={status} />
        </li>
      ))}
    </ul>
  )
}

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }

/** From day to day. */
function moveByArrows(event: KeyboardEvent<HTMLTableElement>): void {
  const step = STEPS[event.key]
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-day]')]
  const place = links.indexOf(document.activeElement as HTMLElement)
  if (step === undefined || place < 0) return
  event.preventDefault()
  links[place + step]?.focus()
}

import type { Query } from '../app/api.ts'
import { addDays, addMonths, dayIn, firstOfMonth, isDay, mondayOf, startOfDay } from '../parts/zoned.ts'

export const VIEWS = ['agenda', 'week', 'month'] as const
export type View = (typeof VIEWS)[number]

/** What the address says of the screen. */
export interface ScheduleSearch {
  view?: string | undefined
  from?: string | undefined
  days?: string | undefined
  status?: string | undefined
  eventType?: string | undefined
}

/** The days that are shown: from one to before another. */
export interface Span {
  view: View
  from: string
  to: string
  today: string
  zone: string
}

const AGENDA_DAYS = 14
const MOST_DAYS = 62

export function spanOf({ view, from, days }: ScheduleSearch, zone: string, now: number): Span {
  const today = dayIn(now, zone)
  const asked = isDay(from) ? from : today
  const shown = VIEWS.find((each) => each === view) ?? 'agenda'
  if (shown === 'week') {
    const monday = mondayOf(asked)
    return { view: shown, from: monday, to: addDays(monday, 7), today, zone }
  }
  if (shown === 'month') {
    const first = firstOfMonth(asked)
    // Whole weeks, as a calendar on paper has them.
    const last = addDays(addMonths(first, 1), -1)
    return { view: shown, from: mondayOf(first), to: addDays(mondayOf(last), 7), today, zone }
  }
  const count = Math.min(MOST_DAYS, Math.max(1, Math.floor(Number(days)) || AGENDA_DAYS))
  return { view: shown, from: asked, to: addDays(asked, count), today, zone }
}

/** The day that a view before or after this one begins with. */
export function stepOf({ view, from, to }: Span, step: 1 | -1): string {
  if (view === 'month') return addMonths(addDays(from, 7), step)
  const length = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000)
  return addDays(from, step * length)
}

/** What somebody may still have to do with; what is over is asked for. */
const OPEN = ['awaiting_approval', 'pending', 'failed']
export const ANY = 'any'

export function queryOf({ status, eventType }: ScheduleSearch, { from, to, zone }: Span): Query {
  return {
    ...(status !== ANY && { status: status?.split(',') ?? OPEN }),
    eventType,
    dueFrom: new Date(startOfDay(from, zone)).toISOString(),
    dueTo: new Date(startOfDay(to, zone)).toISOString(),
  }
}

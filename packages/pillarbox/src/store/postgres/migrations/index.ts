import { spine } from './0001-spine.ts'
import { people } from './0002-people.ts'
import { channels } from './0003-channels.ts'
import { eventRules } from './0005-event-rules.ts'

export interface Migration {
  version: number
  name: string
  sql: string
}

/** In order, without gaps, of the same names and versions as SQLite's. One that has been released is never changed: a mistake is mended by the next one. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'spine', sql: spine },
  { version: 2, name: 'people', sql: people },
  { version: 3, name: 'channels', sql: channels },
  { version: 4, name: 'checked-publish', sql: '' }, // made the function that the next one replaces
  { version: 5, name: 'event-rules', sql: eventRules },
]

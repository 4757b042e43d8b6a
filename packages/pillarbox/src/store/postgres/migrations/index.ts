import { spine } from './0001-spine.ts'
import { people } from './0002-people.ts'
import { channels } from './0003-channels.ts'
import { eventRules } from './0005-event-rules.ts'
import { skipped } from './0006-skipped.ts'
import { crashes } from './0007-crashes.ts'
import { providerFacts } from './0008-provider-facts.ts'
import { acts } from './0009-acts.ts'
import { eventFacts } from './0010-event-facts.ts'
import { notesAndTraces } from './0011-notes-and-traces.ts'
import { operations } from './0012-operations.ts'
import { answers } from './0013-answers.ts'
import { turns } from './0014-turns.ts'
import { audit } from './0015-audit.ts'
import { rollups } from './0016-rollups.ts'
import { retention } from './0017-retention.ts'
import { alerts } from './0018-alerts.ts'
import { sessions } from './0019-sessions.ts'
import { reads } from './0020-reads.ts'
import { sites } from './0021-sites.ts'
import { sources } from './0022-sources.ts'
import { keyUse } from './0023-key-use.ts'

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
  { version: 6, name: 'skipped', sql: skipped },
  { version: 7, name: 'crashes', sql: crashes },
  { version: 8, name: 'provider-facts', sql: providerFacts },
  { version: 9, name: 'acts', sql: acts },
  { version: 10, name: 'event-facts', sql: eventFacts },
  { version: 11, name: 'notes-and-traces', sql: notesAndTraces },
  { version: 12, name: 'operations', sql: operations },
  { version: 13, name: 'answers', sql: answers },
  { version: 14, name: 'turns', sql: turns },
  { version: 15, name: 'audit', sql: audit },
  { version: 16, name: 'rollups', sql: rollups },
  { version: 17, name: 'retention', sql: retention },
  { version: 18, name: 'alerts', sql: alerts },
  { version: 19, name: 'sessions', sql: sessions },
  { version: 20, name: 'reads', sql: reads },
  { version: 21, name: 'sites', sql: sites },
  { version: 22, name: 'sources', sql: sources },
  { version: 23, name: 'key-use', sql: keyUse },
]

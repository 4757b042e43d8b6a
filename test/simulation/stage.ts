import { DatabaseSync } from 'node:sqlite'
import type { Clock, Logger } from '../../packages/pillarbox/src/model/ports.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

/** Where a run takes place. */
export interface Stage {
  /** The production store. */
  store: Store
  /** No event, schedule or callback is pending, no notification is live. */
  isAtRest(): boolean
  /** Removes what a run has left. */
  sweep(): void
}

/** Puts there what is the same in every run. */
export type Build = (store: Store) => Promise<void>

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** In memory and shared by the connections of this process. */
const MEMORY = 'file:simulation?mode=memory&cache=shared'

/** What `Build` fills and no run changes, and what the migrations fill. */
const FIXED = ['schema_versions', 'claim_tokens', 'instance', 'tenants', 'event_types', 'catalogues', 'templates', 'template_versions', 'rollup_state'] // biome-ignore format: a list of names

const WAITING = `
  select exists (select 1 from pillarbox_dispatch)
    or exists (select 1 from pillarbox_events where status = 'pending')
    or exists (select 1 from pillarbox_schedules where status = 'pending')
    or exists (select 1 from pillarbox_callbacks where status = 'pending') as waiting`

let theatre: Promise<Stage> | null = null
let current: Clock

/**
 * A clean stage on this clock, built once per process: a run wants a clean stage, not a new theatre, which would take a
 * fifth of its time. Runs in one process follow each other.
 */
export async function cleanStage(clock: Clock, build: Build): Promise<Stage> {
  current = clock
  theatre ??= open(build)
  const stage = await theatre
  stage.sweep()
  return stage
}

async function open(build: Build): Promise<Stage> {
  const clock: Clock = {
    now: () => current.now(),
    monotonic: () => current.monotonic(),
    sleep: (ms, signal) => current.sleep(ms, signal),
  }
  const store = await openSqlite({ path: MEMORY, clock, logger: silent, defer: (flush) => flush() })
  await store.migrate()
  await build(store)
  const broom = new DatabaseSync(MEMORY)
  const deletions = broom
    .prepare("select name from sqlite_master where type = 'table' and name like 'pillarbox_%'")
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !FIXED.includes(name.replace('pillarbox_', '')))
    .map((name) => `delete from ${name};`)
  const waiting = broom.prepare(WAITING)
  return {
    store,
    isAtRest: () => waiting.get()?.['waiting'] === 0,
    sweep: () =>
      broom.exec(`pragma foreign_keys = off; begin; ${deletions.join(' ')} delete from sqlite_sequence;
        update pillarbox_claim_tokens set value = 0; commit`),
  }
}

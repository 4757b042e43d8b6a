import { DatabaseSync } from 'node:sqlite'
import type { Clock, Logger } from '../../packages/pillarbox/src/model/ports.ts'
import { openSqlite } from '../../packages/pillarbox/src/store/sqlite/open.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** In memory and shared by the connections of this process. */
const MEMORY = 'file:simulation?mode=memory&cache=shared'

let stage: Promise<{ store: Store; broom: DatabaseSync }> | null = null
let current: Clock

/**
 * The production store, empty, on this clock. One per process: a run wants a clean stage, not a new theatre, and
 * migrating and preparing afresh would take a fifth of its time. Runs in one process follow each other.
 */
export async function cleanStage(clock: Clock): Promise<Store> {
  current = clock
  stage ??= build()
  const { store, broom } = await stage
  sweep(broom)
  return store
}

async function build(): Promise<{ store: Store; broom: DatabaseSync }> {
  const clock: Clock = {
    now: () => current.now(),
    monotonic: () => current.monotonic(),
    sleep: (ms, signal) => current.sleep(ms, signal),
  }
  const store = await openSqlite({ path: MEMORY, clock, logger: silent, defer: (flush) => flush() })
  await store.migrate()
  return { store, broom: new DatabaseSync(MEMORY) }
}

function sweep(broom: DatabaseSync): void {
  const tables = broom
    .prepare("select name from sqlite_master where type = 'table' and name like 'pillarbox_%'")
    .all()
    .map(({ name }) => String(name))
    .filter((name) => name !== 'pillarbox_schema_versions' && name !== 'pillarbox_claim_tokens')
  const deletions = tables.map((name) => `delete from ${name};`).join(' ')
  broom.exec(`pragma foreign_keys = off; begin; ${deletions} delete from sqlite_sequence;
    update pillarbox_claim_tokens set value = 0; commit`)
}

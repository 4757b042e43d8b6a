import type { Keyring } from '../security/keyring.ts'
import { createResealer } from '../security/reseal.ts'
import { sealedUnder } from '../security/seal.ts'
import { SEALED_TABLES, type SealedChange, type SealedStore, type SealedTable } from './sealed-store.ts'

export interface ResealDeps {
  sealed: Pick<SealedStore, 'look' | 'replace'>
  /** Its current key is the one that everything comes under. */
  ring: Keyring
  /** Rows looked at, and replaced, in one go. */
  rows: number
  /** Nothing is changed, only counted. */
  isDryRun: boolean
  onProgress: OnProgress
}

/** Told after each stretch what the table has come to so far, and at its end. */
export type OnProgress = (table: SealedTable, counts: ResealCounts, isEnd: boolean) => void

export interface ResealCounts {
  looked: number
  /** Sealed anew; in a dry run: would be. */
  resealed: number
  /** Of those: values that a host had sealed with another sealing key. */
  byHosts: number
  /** Changed by somebody else at that very moment; a later pass comes back to them. */
  passedOver: number
  /** Cannot be opened with any of these keys, and stay as they are. */
  unreadable: Unreadable[]
}

export interface Unreadable {
  table: SealedTable
  tenantId: string
  id: string
  problem: string
}

/**
 * Goes once through everything that is sealed, in small batches, and brings what is sealed under any other key under the
 * ring's current one. A row that somebody changes meanwhile is left to them. Ends without an error whatever it finds in
 * the rows; can be broken off at any moment and begun again.
 */
export async function resealAll(deps: ResealDeps): Promise<Record<SealedTable, ResealCounts>> {
  const all = {} as Record<SealedTable, ResealCounts>
  for (const table of SEALED_TABLES) all[table] = await resealTable(deps, table)
  return all
}

export function sumOf(all: Record<SealedTable, ResealCounts>): ResealCounts {
  const total = nothing()
  for (const table of SEALED_TABLES) add(total, all[table])
  return total
}

async function resealTable({ sealed, ring, rows, isDryRun, onProgress }: ResealDeps, table: SealedTable) {
  const reseal = createResealer(ring)
  const total = nothing()
  let after: string | null = null
  do {
    const stretch = await sealed.look(table, after, rows, sealedUnder(ring.currentId))
    const changes: SealedChange[] = []
    for (const row of stretch.rows) {
      const { text, byHosts, problem } = reseal(table, row)
      const { tenantId, id } = row
      if (problem !== null) total.unreadable.push({ table, tenantId, id, problem })
      if (text === null) continue
      changes.push({ tenantId, id, before: row.text, after: text })
      total.byHosts += byHosts
    }
    const resealed = isDryRun ? changes.length : await sealed.replace(table, changes)
    total.looked += stretch.looked
    total.resealed += resealed
    total.passedOver += changes.length - resealed
    after = stretch.next
    onProgress(table, total, after === null)
  } while (after !== null)
  return total
}

function nothing(): ResealCounts {
  return { looked: 0, resealed: 0, byHosts: 0, passedOver: 0, unreadable: [] }
}

function add(total: ResealCounts, counts: ResealCounts): void {
  total.looked += counts.looked
  total.resealed += counts.resealed
  total.byHosts += counts.byHosts
  total.passedOver += counts.passedOver
  total.unreadable.push(...counts.unreadable)
}

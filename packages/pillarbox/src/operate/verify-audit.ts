import type { AuditedRow, AuditHead, AuditLink } from '../model/audit.ts'
import { decodeLeaves, hashOf, leafOf } from './audit-chain.ts'
import type { AuditStore } from './audit-store.ts'

/** What is wrong with a chain, at the first place where something is. */
export interface AuditFault {
  kind: 'changed' | 'deleted' | 'inserted' | 'link_changed' | 'link_missing' | 'head_missing'
  /** The row's number; null where it is a link. */
  rowId: number | null
  /** The link in which it is, or which is wrong itself. */
  link: number
  message: string
}

export interface VerifiedChain {
  tenantId: string
  /** The number of its first link: above 1 where retention has removed what was before. */
  firstLink: number
  /** Null: it has no link yet. */
  head: AuditHead | null
  rows: number
  /** Rows that retention has removed, on record. */
  purged: number
  /** Rows whose words were erased. */
  erased: number
  /** False: there is more behind what was read, because no more was to be read. */
  isWhole: boolean
  /** Rows that came after the last link; a thousand stands for any more. */
  unchained: number
  fault: AuditFault | null
}

export interface VerifyOptions {
  /** A head that was noted elsewhere: it must be in the chain. */
  expectedHead?: string | undefined
  onProgress?: (rows: number) => void
  /** Behind so many rows it is left as it is. */
  mostRows?: number
}

const LINKS_AT_A_TIME = 10

/** Reads a chain from its first link to its head, and compares every row with what was chained of it. */
export async function verifyChain(
  audit: Pick<AuditStore, 'links' | 'rows' | 'countBehind' | 'purgedBefore'>,
  tenantId: string,
  { expectedHead, onProgress, mostRows = Number.POSITIVE_INFINITY }: VerifyOptions = {},
): Promise<VerifiedChain> {
  const found: VerifiedChain = {
    tenantId,
    firstLink: 1,
    head: null,
    rows: 0,
    purged: 0,
    erased: 0,
    isWhole: true,
    unchained: 0,
    fault: null,
  }
  const purgedBefore = (await audit.purgedBefore(tenantId)) ?? Number.NEGATIVE_INFINITY
  let isExpectedThere = expectedHead === undefined
  for (;;) {
    const links = await audit.links(tenantId, found.head?.number ?? 0, LINKS_AT_A_TIME)
    const [first, last] = [links[0], links.at(-1)]
    if (!first || !last) break
    if (found.head === null) found.firstLink = first.number
    const rows = await audit.rows(tenantId, beginningOf(first), last.toId)
    for (const link of links) {
      found.fault = faultOfLink(found.head, link)
      if (found.fault) return found
      const own = rows.filter(({ id }) => id <= link.toId && id > beginningOf(link))
      const compared = compare(link, own, purgedBefore)
      found.fault = compared.fault
      if (found.fault) return found
      found.purged += compared.purged
      found.rows += own.length
      found.erased += own.filter((row) => row.kind === 'act' && row.digest !== null).length
      isExpectedThere ||= link.hash === expectedHead
      found.head = { tenantId, number: link.number, toId: link.toId, hash: link.hash }
    }
    onProgress?.(found.rows)
    if (found.rows >= mostRows) return { ...found, isWhole: false }
  }
  found.unchained = await audit.countBehind(tenantId, found.head?.toId ?? 0)
  if (!isExpectedThere)
    found.fault = {
      kind: 'head_missing',
      rowId: null,
      link: found.head?.number ?? 0,
      message: 'no link has the expected hash: links were cut off at the end, or made anew',
    }
  return found
}

/** Above which number its rows are: those of the first link of all, above none. */
function beginningOf({ number, fromId }: AuditLink): number {
  return number === 1 ? Number.MIN_SAFE_INTEGER : fromId
}

function faultOfLink(before: AuditHead | null, link: AuditLink): AuditFault | null {
  const { number } = link
  if (before && number !== before.number + 1)
    return {
      kind: 'link_missing',
      rowId: null,
      link: before.number + 1,
      message: `link ${before.number + 1} is missing: link ${number} follows link ${before.number}`,
    }
  // What the first kept link followed is gone: its own hash is checked by the next one, which has it inside.
  const isFirstKept = before === null && number > 1
  const isWhole = isFirstKept || hashOf(before, link) === link.hash
  const fits = before === null || link.fromId === before.toId
  if (isWhole && fits) return null
  return {
    kind: 'link_changed',
    rowId: null,
    link: number,
    message: `link ${number} does not follow from the one before: it was changed, or swapped with another`,
  }
}

/** Row by row, in the order of their numbers. What is gone is accounted for where retention has been there. */
function compare(
  link: AuditLink,
  rows: readonly AuditedRow[],
  purgedBefore: number,
): { fault: AuditFault | null; purged: number } {
  let purged = 0
  let next = 0
  for (const leaf of decodeLeaves(link.leaves)) {
    const row = rows[next]
    if (row && row.id < leaf.id) return { fault: faultOf('inserted', row.id, link.number), purged }
    if (row?.id !== leaf.id) {
      if (leaf.at >= purgedBefore) return { fault: faultOf('deleted', leaf.id, link.number), purged }
      purged += 1
      continue
    }
    if (leafOf(row).hash !== leaf.hash) return { fault: faultOf('changed', row.id, link.number), purged }
    next += 1
  }
  const more = rows[next]
  return { fault: more ? faultOf('inserted', more.id, link.number) : null, purged }
}

const WORDS = {
  changed: 'is not as it was chained: it was changed by hand, or swapped with another',
  deleted: 'was chained and is gone, and no retention on record accounts for it',
  inserted: 'is in a stretch that was chained without it: it was inserted by hand, or moved from another tenant',
} as const

function faultOf(kind: keyof typeof WORDS, rowId: number, link: number): AuditFault {
  return { kind, rowId, link, message: `row ${rowId} ${WORDS[kind]}` }
}

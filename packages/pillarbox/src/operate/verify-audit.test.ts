import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AuditedAct, AuditedAttempt, AuditedRow, AuditLink } from '../model/audit.ts'
import { decodeLeaves, leafOf, linkOf } from './audit-chain.ts'
import { verifyChain } from './verify-audit.ts'

const TENANT = 'acme'
const HOUR = 3_600_000

function act(id: number, changes: Partial<AuditedAct> = {}): AuditedAct {
  return {
    kind: 'act',
    id,
    tenantId: TENANT,
    at: id * HOUR,
    actor: 'key:ada',
    action: 'retry',
    notificationId: `n-${id}`,
    subject: null,
    attempt: 1,
    from: 'parked',
    to: 'queued',
    reason: null,
    note: id % 4 === 1 ? `words of ${id}` : null,
    operationId: null,
    before: null,
    after: null,
    salt: id % 4 === 1 ? `salt-${id}` : null,
    digest: null,
    ...changes,
  }
}

function attempt(id: number): AuditedAttempt {
  return {
    kind: 'attempt',
    id,
    tenantId: TENANT,
    notificationId: `n-${id}`,
    number: 1,
    late: false,
    outcome: 'accepted',
    toStatus: 'sent',
    possibleDuplicate: false,
    durationMs: 7,
    startedAt: id * HOUR - 7,
    token: id,
    workerId: 'w',
    provider: 'sandbox',
    accountId: 'a',
    code: null,
    reason: null,
  }
}

/** A chain in memory: rows of both kinds under numbers with gaps, in links of five. */
function chain(count = 43): { rows: AuditedRow[]; links: AuditLink[] } {
  const rows = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? act(i * 3 + 1) : attempt(i * 3 + 1)))
  const links: AuditLink[] = []
  for (let i = 0; i < rows.length; i += 5) {
    const some = rows.slice(i, i + 5)
    links.push(linkOf({ tenantId: TENANT, head: links.at(-1) ?? null, rows: some, upTo: some.at(-1)?.id ?? 0 }))
  }
  return { rows, links }
}

/** What the store would answer. */
function reading({ rows, links }: ReturnType<typeof chain>, purgedBefore: number | null = null) {
  const inOrder = (some: readonly AuditedRow[]): AuditedRow[] => some.toSorted((a, b) => a.id - b.id)
  return {
    links: async (_: string, after: number, limit: number) =>
      links
        .filter(({ number }) => number > after)
        .toSorted((a, b) => a.number - b.number)
        .slice(0, limit),
    rows: async (_: string, after: number, upTo: number) => inOrder(rows.filter(({ id }) => id > after && id <= upTo)),
    countBehind: async (_: string, after: number) => rows.filter(({ id }) => id > after).length,
    purgedBefore: async () => purgedBefore,
  }
}

describe('verifying a chain', () => {
  it('finds nothing wrong with one that is whole, and says where it ends', async () => {
    const whole = chain()

    const found = await verifyChain(reading(whole), TENANT)

    const last = whole.links.at(-1)
    assert.ok(last)
    const { number, toId, hash } = last
    assert.deepEqual(found.head, { tenantId: TENANT, number, toId, hash })
    assert.deepEqual([found.fault, found.rows, found.unchained, found.purged], [null, 43, 0, 0])
  })

  it('finds every one of a thousand tamperings, of each kind', async () => {
    const random = seeded(11)
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
    const kinds = new Map<string, number>()
    for (let n = 0; n < 1_000; n += 1) {
      const whole = chain()
      const head = whole.links.at(-1)?.hash
      const kind = pick(Object.keys(TAMPERINGS))
      TAMPERINGS[kind]?.(whole, pick)
      const found = await verifyChain(reading(whole), TENANT, { expectedHead: head })
      assert.ok(found.fault, `${kind} in round ${n}`)
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
    assert.equal(kinds.size, Object.keys(TAMPERINGS).length)
  })

  it('names the first row that is wrong', async () => {
    const whole = chain()
    const [changed, gone] = [whole.rows[20], whole.rows[30]]
    assert.ok(changed && gone)
    whole.rows = whole.rows.filter((row) => row !== gone)
    Object.assign(changed, { reason: 'another' })

    const { fault } = await verifyChain(reading(whole), TENANT)

    assert.deepEqual([fault?.kind, fault?.rowId, fault?.link], ['changed', changed.id, 5])
  })

  it('accounts for what retention has removed, and for nothing younger', async () => {
    const whole = chain()
    const cutoff = 60 * HOUR
    whole.rows = whole.rows.filter((row) => leafOf(row).at >= cutoff)

    const purged = await verifyChain(reading(whole, cutoff), TENANT)
    const unaccounted = await verifyChain(reading(whole, cutoff - 3 * HOUR), TENANT)
    const links = whole.links.filter(({ number }) => number > 2)
    const begun = await verifyChain(reading({ rows: whole.rows, links }, cutoff), TENANT)

    assert.deepEqual([purged.fault, purged.purged], [null, 43 - whole.rows.length])
    assert.equal(unaccounted.fault?.kind, 'deleted')
    assert.deepEqual([begun.fault, begun.firstLink], [null, 3])
  })

  it('an old head that was kept is in a chain that has grown since', async () => {
    const whole = chain()
    const kept = whole.links[3]?.hash

    assert.equal((await verifyChain(reading(whole), TENANT, { expectedHead: kept })).fault, null)
  })

  it('leaves hold each row’s number, time and hash', () => {
    const { rows, links } = chain()

    assert.deepEqual(
      links.flatMap(({ leaves }) => decodeLeaves(leaves)),
      rows.map(leafOf),
    )
  })
})

type Pick = <T>(items: readonly T[]) => T
type Whole = ReturnType<typeof chain>

const TAMPERINGS: Record<string, (whole: Whole, pick: Pick) => void> = {
  'a fact of a row is changed': ({ rows }, pick) => {
    const row = pick(rows)
    const fields = Object.keys(row).filter(
      (field) => !['kind', 'id', 'salt', 'digest', 'before', 'after', 'note'].includes(field),
    )
    Object.assign(row, { [pick(fields)]: 'forged' })
  },
  'the words of a row are changed': ({ rows }, pick) => {
    const worded = rows.filter((row) => row.kind === 'act' && row.note !== null)
    Object.assign(pick(worded), { note: 'forged' })
  },
  'words are put into a row that had none': ({ rows }, pick) => {
    Object.assign(pick(rows.filter((row) => row.kind === 'act' && row.note === null)), { after: { status: 'forged' } })
  },
  'a row is deleted': (whole, pick) => {
    const gone = pick(whole.rows)
    whole.rows = whole.rows.filter((row) => row !== gone)
  },
  'a row is inserted': (whole, pick) => {
    whole.rows.push(act(pick(whole.rows.slice(0, -1)).id + 1))
  },
  'a row is inserted before the first': (whole) => {
    whole.rows.push(act(0))
  },
  'two rows are swapped': ({ rows }, pick) => {
    const one = pick(rows)
    const other = pick(rows.filter((row) => row !== one))
    ;[one.id, other.id] = [other.id, one.id]
  },
  'a row is made anew with its leaf and link, and not the links after it': (whole, pick) => {
    const place = whole.links.indexOf(pick(whole.links.slice(0, -1)))
    const link = whole.links[place]
    assert.ok(link)
    const rows = whole.rows.filter(({ id }) => id > link.fromId && id <= link.toId)
    Object.assign(pick(rows), { reason: 'forged' })
    whole.links[place] = linkOf({ tenantId: TENANT, head: whole.links[place - 1] ?? null, rows, upTo: link.toId })
  },
  'a link is deleted': (whole, pick) => {
    const gone = pick(whole.links.slice(1, -1))
    whole.links = whole.links.filter((link) => link !== gone)
  },
  'two links are swapped': ({ links }, pick) => {
    const one = pick(links)
    const other = pick(links.filter((link) => link !== one))
    ;[one.number, other.number] = [other.number, one.number]
  },
  'the end is cut off, rows and links': (whole, pick) => {
    const keep = 1 + whole.links.indexOf(pick(whole.links.slice(0, -1)))
    whole.links = whole.links.slice(0, keep)
    whole.rows = whole.rows.filter(({ id }) => id <= (whole.links.at(-1)?.toId ?? 0))
  },
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

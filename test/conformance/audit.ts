import assert from 'node:assert/strict'
import type { AuditEntry } from '../../packages/pillarbox/src/model/audit.ts'
import type { AuditFilter } from '../../packages/pillarbox/src/operate/audit-store.ts'
import { verifyChain } from '../../packages/pillarbox/src/operate/verify-audit.ts'
import { chainAudit } from '../support/audit.ts'
import { at, type Bench, completion, type Lane, only, type Rule } from './fixtures.ts'

const ACTOR = 'key:ada'

/** The whole list, by pages of `limit`. */
async function listAll({ store }: Pick<Bench, 'store'>, filter: AuditFilter, limit = 50): Promise<AuditEntry[]> {
  const found: AuditEntry[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.audit.list(filter, { limit, ...(cursor !== undefined && { cursor }) })
    assert.ok(page.items.length <= limit)
    found.push(...page.items)
    cursor = page.nextCursor
  }
  return found
}

/** Sends what waits on a lane, and answers the ids of the notifications. */
async function sendAll(bench: Bench, lane: Lane, count: number): Promise<string[]> {
  const ids = await bench.enqueue(lane, count)
  const worker = await bench.worker()
  const claims = await bench.claim(worker, lane, count)
  await bench.store.dispatch.complete(
    worker,
    claims.map((claim) => completion(claim, 'sent')),
  )
  return ids
}

/** A notification that was parked by its attempt, with what an operator then did to it. */
async function parkAndRetry(bench: Bench, lane: Lane, note: string): Promise<string> {
  const id = only(await bench.enqueue(lane))
  const worker = await bench.worker()
  const claim = only(await bench.claim(worker, lane))
  await bench.store.dispatch.complete(worker, [completion(claim, 'parked')])
  await bench.store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: ACTOR, note })
  return id
}

export function auditRules(rule: Rule): void {
  rule('an attempt is the entry of its call with its duration, and that of its transition', async (bench) => {
    const lane = await bench.lane()
    const { tenantId } = lane
    const id = await parkAndRetry(bench, lane, 'the number was mended')

    const entries = await listAll(bench, { tenantId, notificationId: id })

    assert.deepEqual(
      entries.map((entry) => {
        const { actor, action, from, to, attempt, durationMs, reason, note, notificationId, correlationId } = entry
        const isOfIt = notificationId === id && correlationId === id
        return [actor, action, from, to, attempt, durationMs, reason, note, isOfIt]
      }),
      [
        [ACTOR, 'retry', 'parked', 'queued', 1, null, 'invalid_recipient', 'the number was mended', true],
        ['system', 'park', 'sending', 'parked', 1, 7, 'invalid_recipient', null, true],
        ['system', 'attempt', null, null, 1, 7, null, null, true],
      ],
    )
  })

  rule('the ids of a notification’s caller stand in its entries', async (bench) => {
    const lane = await bench.lane()
    const ids = { correlationId: 'c-1', executionId: 'e-1', parentExecutionId: 'p-1' }
    const id = only(await bench.enqueue(lane, 1, ids))
    await bench.store.notifications.act({ tenantId: lane.tenantId, id, action: 'park', actor: ACTOR })

    const { correlationId, executionId, parentExecutionId } = only(
      await listAll(bench, { tenantId: lane.tenantId, notificationId: id }),
    )

    assert.deepEqual({ correlationId, executionId, parentExecutionId }, ids)
  })

  rule('lists are newest first, without gap or repeat in pages of any size, while rows are added', async (bench) => {
    const lane = await bench.lane()
    const { tenantId } = lane
    await sendAll(bench, lane, 5)
    await parkAndRetry(bench, lane, 'x')
    const whole = await listAll(bench, { tenantId })
    const numbers = whole.map(({ id }) => Number.parseInt(id, 10))
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => b - a),
    )
    assert.equal(new Set(whole.map(({ id }) => id)).size, whole.length)

    for (const limit of [1, 2, 3, 7]) {
      const first = await bench.store.audit.list({ tenantId }, { limit })
      await sendAll(bench, lane, 1)
      const rest: string[] = []
      for (let cursor = first.nextCursor; cursor !== null; ) {
        const page = await bench.store.audit.list({ tenantId }, { limit, cursor })
        rest.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor
      }
      const newer = first.items.length + rest.length - whole.length
      const all = [...first.items.map(({ id }) => id), ...rest]
      assert.deepEqual(
        all.slice(newer),
        whole.map(({ id }) => id),
      )
    }
  })

  rule('filters by tenant, actor, action, notification and time, and over all tenants', async (bench) => {
    const [mine, theirs] = [await bench.lane(), await bench.lane()]
    const { tenantId } = mine
    const began = await bench.store.now()
    const [sent] = await sendAll(bench, mine, 2)
    const retried = await parkAndRetry(bench, mine, 'x')
    await parkAndRetry(bench, theirs, 'y')
    const whole = await listAll(bench, { tenantId })
    const all = await listAll(bench, {}, 3)
    const actionsOf = async (filter: AuditFilter) =>
      (await listAll(bench, { tenantId, ...filter }, 1)).map((entry) => entry.action)

    assert.ok(whole.every((entry) => entry.tenantId === tenantId))
    assert.deepEqual(await actionsOf({ actor: ACTOR }), ['retry'])
    assert.deepEqual(await actionsOf({ actor: 'key:nobody' }), [])
    assert.deepEqual(await actionsOf({ action: 'send' }), ['send', 'send'])
    assert.deepEqual(await actionsOf({ action: 'attempt' }), ['attempt', 'attempt', 'attempt'])
    assert.deepEqual(await actionsOf({ action: 'park' }), ['park'])
    assert.deepEqual(await actionsOf({ notificationId: sent ?? '' }), ['send', 'attempt'])
    assert.deepEqual(await actionsOf({ notificationId: retried, action: 'retry' }), ['retry'])
    assert.deepEqual(await actionsOf({ notificationId: 'no id at all' }), [])
    assert.deepEqual(await listAll(bench, { tenantId: theirs.tenantId, notificationId: retried }), [])
    const hour = 3_600_000
    assert.deepEqual(await actionsOf({ to: began - hour }), [])
    assert.deepEqual(await actionsOf({ from: began + hour }), [])
    assert.equal((await actionsOf({ from: began - hour, to: began + hour })).length, whole.length)
    const ids = all.filter((entry) => entry.tenantId === tenantId).map(({ id }) => id)
    assert.deepEqual(
      ids,
      whole.map(({ id }) => id),
    )
    assert.ok(all.some((entry) => entry.tenantId === theirs.tenantId))
  })

  rule('time filters find the same rows when they are chained', async (bench) => {
    const lane = await bench.lane()
    const { tenantId } = lane
    await sendAll(bench, lane, 3)
    await chainAudit(bench.store, 2)
    await sendAll(bench, lane, 2)
    const whole = await listAll(bench, { tenantId })
    const now = await bench.store.now()
    const hour = 3_600_000

    assert.deepEqual(await listAll(bench, { tenantId, from: now - hour, to: now + hour }), whole)
    assert.deepEqual(await listAll(bench, { tenantId, from: now + 30 * 24 * hour }), [])
    assert.deepEqual(await listAll(bench, { tenantId, to: now - 30 * 24 * hour }), [])
  })

  rule('refuses a cursor that no list of the audit gave', async (bench) => {
    for (const key of ['["1"]', '["1","2"]', '["x","0"]', '["-1","0"]', '["1.5","1"]'])
      await assert.rejects(
        bench.store.audit.list({}, { limit: 1, cursor: Buffer.from(key).toString('base64url') }),
        /cursor/,
      )
  })

  rule('chains every row once, in links of any length, and finds them whole', async (bench) => {
    const [mine, theirs] = [await bench.lane(), await bench.lane()]
    for (const lane of [mine, theirs]) await sendAll(bench, lane, 5)
    await chainAudit(bench.store, 3)
    await parkAndRetry(bench, mine, 'later')
    await chainAudit(bench.store, 3)
    await chainAudit(bench.store, 3)

    for (const { tenantId } of [mine, theirs]) {
      const chain = await verifyChain(bench.store.audit, tenantId)
      const entries = await listAll(bench, { tenantId })
      const rows = new Set(entries.map(({ id }) => Number.parseInt(id, 10))).size
      assert.deepEqual([chain.fault, chain.rows, chain.unchained], [null, rows, 0])
      assert.ok((chain.head?.number ?? 0) >= rows / 3)
    }
    const chains = await bench.store.audit.chains()
    assert.ok([mine.tenantId, theirs.tenantId, ''].every((tenantId) => chains.includes(tenantId)))
  })

  rule('what belongs to no tenant has a chain of its own', async (bench) => {
    const { store } = bench
    await store.audit.record({ tenantId: null, actor: 'cli', action: 'rotate', subject: 'master-key:k' })
    await chainAudit(store)

    const chain = await verifyChain(store.audit, '')

    assert.deepEqual([chain.fault, chain.rows], [null, 1])
    assert.deepEqual(
      (await listAll(bench, {})).filter(({ tenantId }) => tenantId === null).map(({ action }) => action),
      ['rotate'],
    )
  })

  rule('of workers that chain at the same time, each link is one’s, and none is missing', async (bench) => {
    const lane = await bench.lane()
    const other = await bench.another()
    await sendAll(bench, lane, 20)

    await Promise.all([bench.store, other, bench.store].map((store) => chainAudit(store, 2)))

    const chain = await verifyChain(bench.store.audit, lane.tenantId)
    assert.equal(chain.fault, null)
    assert.equal(chain.unchained, 0)
  })

  rule('words that are erased leave the chain as it was, and no trace', async (bench) => {
    const lane = await bench.lane()
    const { tenantId } = lane
    const id = await parkAndRetry(bench, lane, 'Ada Lovelace called')
    await chainAudit(bench.store)
    const before = await verifyChain(bench.store.audit, tenantId)

    assert.equal(await bench.store.audit.eraseWords(tenantId, [id]), 1)
    assert.equal(await bench.store.audit.eraseWords(tenantId, [id]), 0)

    const after = await verifyChain(bench.store.audit, tenantId)
    assert.deepEqual([after.fault, after.erased, after.head], [null, 1, before.head])
    assert.equal(at(await listAll(bench, { tenantId, actor: ACTOR }), 0).note, null)
    const tables = await bench.tables()
    if (tables) assert.ok(!JSON.stringify(tables).includes('Lovelace'))
  })

  rule('a sink is fed by one holder at a time, from where it came to', async (bench) => {
    const { sink } = bench.store.audit
    const lane = await bench.lane()
    await sendAll(bench, lane, 3)
    await chainAudit(bench.store, 2)
    const [mine, theirs] = [bench.newId(), bench.newId()]

    assert.deepEqual(await sink.take(mine, 60_000), { position: 0 })
    assert.equal(await sink.take(theirs, 60_000), null)
    const links = await sink.next(0, 100)
    const own = links.filter(({ tenantId }) => tenantId === lane.tenantId)
    assert.deepEqual(
      own.flatMap(({ entries }) => entries.map(({ id }) => id)),
      (await listAll(bench, { tenantId: lane.tenantId })).map(({ id }) => id).toReversed(),
    )
    assert.equal(await sink.advance(theirs, at(links, 0).id), false)
    assert.equal(await sink.advance(mine, at(links, 0).id), true)
    assert.deepEqual(await sink.take(mine, 0), { position: at(links, 0).id })
    await bench.advance(5)
    assert.deepEqual(await sink.take(theirs, 60_000), { position: at(links, 0).id })
    assert.equal(await sink.advance(mine, at(links, 1).id), false)

    assert.equal(await sink.trouble(), null)
    await sink.fail(theirs, 'no answer')
    assert.equal((await sink.trouble())?.error, 'no answer')
    await sink.advance(theirs, at(links, 1).id)
    assert.equal(await sink.trouble(), null)
  })

  rule('every change of configuration says who made it, and what it was before and after', async (bench) => {
    const { store, newId } = bench
    const tenantId = await bench.tenant()
    const lane = await bench.lane({ tenantId })
    const keyId = newId()
    const key = { id: keyId, tenantId, name: 'till', role: 'viewer', site: null, ratePerSecond: null, expiresAt: null }
    await store.tenants.update(tenantId, { name: 'New', settings: { region: 'DE', canary: 'CANARY-1' } }, ACTOR)
    await store.tenants.update(tenantId, { name: 'New' }, ACTOR)
    await store.keys.insert({ ...key, role: 'viewer' }, 'CANARY-2', ACTOR)
    await store.keys.revoke(tenantId, keyId, ACTOR)
    const settings = {
      host: 'mail.example.test',
      endpoint: 'https://user:CANARY-3@vendor.example.test/CANARY-4?k=CANARY-5',
      own: 'CANARY-6',
      oauth2: { clientId: 'CANARY-7' },
    }
    const sealed = { sealedSecrets: 'CANARY-8', secretNames: ['password'] }
    await store.accounts.update(tenantId, lane.id, { settings, ...sealed }, { actor: ACTOR })
    await store.accounts.remove(tenantId, lane.id, ACTOR)

    const entries = await listAll(bench, { tenantId, actor: ACTOR })

    const told = entries.toReversed().map(({ action, subject, before, after }) => [action, subject, before, after])
    const [changed, issued, revoked, updated, removed] = told
    assert.equal(told.length, 5)
    assert.deepEqual(changed, [
      'update',
      `tenant:${tenantId}`,
      { name: tenantId, settings: {} },
      { name: 'New', settings: { region: 'DE', canary: 'set' } },
    ])
    const shownKey = { name: 'till', role: 'viewer', site: null, ratePerSecond: null, expiresAt: null }
    assert.deepEqual(issued, ['issue', `key:${keyId}`, null, shownKey])
    assert.deepEqual(revoked, ['revoke', `key:${keyId}`, shownKey, null])
    assert.deepEqual(updated, [
      'update',
      `account:${lane.id}`,
      { settings: {}, secretNames: [] },
      {
        settings: {
          host: 'mail.example.test',
          endpoint: 'https://vendor.example.test/***',
          own: 'set',
          oauth2: 'set',
        },
        secretNames: ['password'],
        secrets: 'changed',
      },
    ])
    assert.deepEqual(removed?.slice(0, 2), ['remove', `account:${lane.id}`])
    assert.ok(!JSON.stringify(await listAll(bench, {})).includes('CANARY'))
    const tables = await bench.tables()
    if (tables) assert.ok(!JSON.stringify(tables['audit']).includes('CANARY'))
  })
}

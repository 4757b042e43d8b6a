import assert from 'node:assert/strict'
import type { InboxStore } from '../../packages/pillarbox/src/channels/in_app/inbox-store.ts'
import type { InboxMessage } from '../../packages/pillarbox/src/model/inbox.ts'
import type { ReceiptKind } from '../../packages/pillarbox/src/model/receipt.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import {
  allPages,
  assertBetween,
  at,
  type Bench,
  completion,
  type Lane,
  only,
  REACHABLE,
  type Reachable,
  type Rule,
  reach,
} from './fixtures.ts'

/** The inbox of each user: nothing in it is lost, seen by somebody else, or told twice. */
export function inboxRules(rule: Rule): void {
  rule('keeps a message for its user', async (bench) => {
    const { store, newId } = bench
    const owner = await ownerOf(bench)
    const id = newId()
    const before = await store.now()

    await store.inbox.put({ id, ...owner, sealed: 'words' })

    const { createdAt, ...message } = (await store.inbox.find(owner.tenantId, owner.userId, id)) ?? assert.fail()
    assert.deepEqual(message, { id, ...owner, sealed: 'words', arrival: 1, revision: 1, seenAt: null, readAt: null })
    assertBetween(createdAt, before, await store.now())
  })

  rule('lists messages in the order they came, newest first, page by page', async (bench) => {
    const owner = await ownerOf(bench)
    const ids = await fill(bench, owner, 25)
    // Made before the others, and late because it had to be tried again.
    const late = `00000000${at(ids, 0).slice(8)}`
    await bench.store.inbox.put({ id: late, ...owner, sealed: 'late' })

    const listed = await allPages((page) => bench.store.inbox.list(owner.tenantId, owner.userId, {}, page), 4)

    assert.deepEqual(
      listed.map(({ id }) => id),
      [late, ...ids.toReversed()],
    )
  })

  rule('keeps the pages of a list apart while more messages come', async (bench) => {
    const owner = await ownerOf(bench)
    const ids = await fill(bench, owner, 10)

    const listed = await allPages(
      (page) => bench.store.inbox.list(owner.tenantId, owner.userId, {}, page),
      3,
      () => fill(bench, owner, 1),
    )

    assert.deepEqual(
      listed.map(({ id }) => id),
      ids.toReversed(),
    )
  })

  rule('lists and counts unread messages', async (bench) => {
    const { inbox } = bench.store
    const { tenantId, userId } = await ownerOf(bench)
    const [first = '', second = '', third = ''] = await fill(bench, { tenantId, userId }, 3)
    await inbox.mark(tenantId, userId, 'read', [second])
    await inbox.mark(tenantId, userId, 'seen', [third])

    const of = async (isUnread: boolean) =>
      (await inbox.list(tenantId, userId, { isUnread }, { limit: 10 })).items.map(({ id }) => id)
    assert.deepEqual(await of(true), [third, first])
    assert.deepEqual(await of(false), [second])
    assert.equal(await inbox.countUnread(tenantId, userId), 2)
    await inbox.remove(tenantId, userId, first)
    assert.equal(await inbox.countUnread(tenantId, userId), 1)
  })

  rule('a message that is put again changes nothing, by however many at once', async (bench) => {
    const { store, another, newId } = bench
    const owner = await ownerOf(bench)
    const other = await another()
    const id = newId()
    const put = (on: Store, sealed: string) => on.inbox.put({ id, ...owner, sealed })

    await put(store, 'first')
    await Promise.all([put(store, 'second'), put(other, 'third'), put(store, 'fourth')])

    const { items } = await store.inbox.list(owner.tenantId, owner.userId, {}, { limit: 10 })
    assert.deepEqual(
      items.map(({ sealed }) => sealed),
      ['first'],
    )
  })

  rule(
    'a message that was removed is gone with its words, and a repeated call does not bring it back',
    async (bench) => {
      const { inbox } = bench.store
      const { tenantId, userId } = await ownerOf(bench)
      const id = only(await fill(bench, { tenantId, userId }, 1))

      assert.equal(await inbox.remove(tenantId, userId, id), true)
      assert.equal(await inbox.remove(tenantId, userId, id), false)
      await inbox.put({ id, tenantId, userId, sealed: 'again' })

      assert.equal(await inbox.find(tenantId, userId, id), null)
      assert.deepEqual((await inbox.list(tenantId, userId, {}, { limit: 10 })).items, [])
      assert.deepEqual(await inbox.mark(tenantId, userId, 'read', [id]), [])
      const change = only(await inbox.since(tenantId, userId, 0, 10))
      assert.deepEqual([change.id, change.sealed], [id, null])
    },
  )

  rule('another user, and the same user of another tenant, see and change nothing', async (bench) => {
    const { inbox } = bench.store
    const owner = await ownerOf(bench)
    const id = only(await fill(bench, owner, 1))
    const before = await inbox.find(owner.tenantId, owner.userId, id)

    for (const [tenantId, userId] of [
      [owner.tenantId, 'somebody-else'],
      [await bench.tenant(), owner.userId],
    ] as const) {
      assert.equal(await inbox.find(tenantId, userId, id), null)
      assert.deepEqual((await inbox.list(tenantId, userId, {}, { limit: 10 })).items, [])
      assert.deepEqual(await inbox.since(tenantId, userId, 0, 10), [])
      assert.deepEqual(await inbox.revisions([{ tenantId, userId }]), [0])
      assert.equal(await inbox.countUnread(tenantId, userId), 0)
      // With an inbox of their own, too.
      await inbox.put({ id: bench.newId(), tenantId, userId, sealed: 'own' })
      assert.deepEqual(await inbox.mark(tenantId, userId, 'seen', [id]), [])
      assert.deepEqual(await inbox.mark(tenantId, userId, 'read', [id]), [])
      assert.equal(await inbox.remove(tenantId, userId, id), false)
    }
    assert.deepEqual(await inbox.find(owner.tenantId, owner.userId, id), before)
  })

  rule('marks each message once, and answers which', async (bench) => {
    const { store, another, newId } = bench
    const { tenantId, userId } = await ownerOf(bench)
    const ids = await fill(bench, { tenantId, userId }, 3)
    const other = await another()

    const wanted = [...ids, ...ids, newId(), 'no id']
    const answers = await Promise.all([store, other].map((on) => on.inbox.mark(tenantId, userId, 'read', wanted)))

    assert.deepEqual(answers.flat().sort(), ids)
    for (const id of ids) {
      const message = await store.inbox.find(tenantId, userId, id)
      assert.ok(message?.readAt != null && message.seenAt === message.readAt)
    }
    assert.deepEqual(await store.inbox.mark(tenantId, userId, 'seen', ids), [])
  })

  rule('marks the oldest 200 at a time, until there are none', async (bench) => {
    const { inbox } = bench.store
    const { tenantId, userId } = await ownerOf(bench)
    const ids = await fill(bench, { tenantId, userId }, 205)

    assert.deepEqual(await inbox.mark(tenantId, userId, 'read', 'oldest'), ids.slice(0, 200))
    assert.equal(await inbox.countUnread(tenantId, userId), 5)
    assert.deepEqual(await inbox.mark(tenantId, userId, 'read', 'oldest'), ids.slice(200))
    assert.deepEqual(await inbox.mark(tenantId, userId, 'read', 'oldest'), [])
  })

  rule('a message that is seen makes its notification delivered, and one that is read, read', async (bench) => {
    const { store, view } = bench
    const { tenantId, userId, id } = await sentOne(bench)

    await store.inbox.mark(tenantId, userId, 'seen', [id])
    const seen = await view(id)
    await store.inbox.mark(tenantId, userId, 'read', [id])
    const read = await view(id)

    const message = (await store.inbox.find(tenantId, userId, id)) ?? assert.fail()
    assert.deepEqual([seen.status, seen.deliveredAt], ['delivered', message.seenAt])
    assert.deepEqual([read.status, read.deliveredAt, read.readAt], ['read', message.seenAt, message.readAt])
    assert.deepEqual(
      (await store.receipts.list(id)).map(({ kind, provider, providerMessageId }) => [
        kind,
        provider,
        providerMessageId,
      ]),
      [
        ['delivered', 'inbox', id],
        ['read', 'inbox', id],
      ],
    )
  })

  for (const mark of ['seen', 'read'] as const)
    rule(
      `${mark} messages move their notifications exactly as receipts do, from wherever they stand`,
      async (bench) => {
        const { store, view } = bench
        const kind = mark === 'seen' ? 'delivered' : 'read'
        const userId = 'ada'
        for (const standing of [...REACHABLE, 'parked by a receipt', 'delivered', 'read'] as const) {
          const { tenantId } = await ownerOf(bench)
          const status = (REACHABLE as readonly string[]).includes(standing) ? (standing as Reachable) : 'sent'
          const [byMark, byReceipt] = [await reach(bench, status, tenantId), await reach(bench, status, tenantId)]
          for (const { id } of [byMark, byReceipt]) {
            if (standing === 'parked by a receipt') await store.receipts.merge(receiptOf(tenantId, id, 'failed'))
            if (standing === 'delivered' || standing === 'read')
              await store.receipts.merge(receiptOf(tenantId, id, standing, `vendor-${id}`))
          }
          await store.inbox.put({ id: byMark.id, tenantId, userId, sealed: 'words' })
          await store.inbox.mark(tenantId, userId, mark, [byMark.id])
          await store.receipts.merge(receiptOf(tenantId, byReceipt.id, kind))

          assert.deepEqual(await told(byMark.id), await told(byReceipt.id), standing)
        }

        async function told(id: string) {
          const { status, reason, lastError, deliveredAt, readAt, possibleDuplicate, attemptCount } = await view(id)
          const times = [deliveredAt !== null, readAt !== null]
          const audit = await store.notifications.audit(id)
          const steps = audit.map(({ actor, action, attempt, from, to, reason: why }) => [
            actor,
            action,
            attempt,
            from,
            to,
            why,
          ])
          const receipts = (await store.receipts.list(id)).map((receipt) => [
            receipt.kind,
            receipt.recipient,
            receipt.code,
          ])
          return { status, reason, lastError, times, possibleDuplicate, attemptCount, steps, receipts }
        }
      },
    )

  rule('what is read while its notification is still being sent is told once that is over', async (bench) => {
    const { store, view } = bench
    const sending = await sendingOne(bench)
    const { tenantId, userId, id } = sending

    await store.inbox.mark(tenantId, userId, 'seen', [id])
    await store.inbox.mark(tenantId, userId, 'read', [id])
    assert.deepEqual(await store.inbox.settleOwed(null, 10), { settled: 0, next: null })
    assert.equal((await view(id)).status, 'sending')
    await sending.complete()
    assert.equal((await view(id)).status, 'sent')

    assert.deepEqual(await store.inbox.settleOwed(null, 10), { settled: 1, next: null })
    const { status, readAt } = await view(id)
    assert.deepEqual([status, readAt], ['read', (await store.inbox.find(tenantId, userId, id))?.readAt])
    assert.deepEqual(await store.inbox.settleOwed(null, 10), { settled: 0, next: null })
  })

  rule('goes through what is owed a part at a time, past what has to wait', async (bench) => {
    const { store, view } = bench
    const owed = []
    for (let i = 0; i < 5; i++) {
      const one = await sendingOne(bench)
      await store.inbox.mark(one.tenantId, one.userId, 'seen', [one.id])
      owed.push(one)
    }
    const last = at(owed, 4)
    await last.complete()

    const first = await store.inbox.settleOwed(null, 2)
    const second = await store.inbox.settleOwed(first.next, 2)
    const third = await store.inbox.settleOwed(second.next, 2)

    assert.deepEqual(
      [first, second, third].map(({ settled }) => settled),
      [0, 0, 1],
    )
    assert.equal(third.next, null)
    assert.equal((await view(last.id)).status, 'delivered')
  })

  rule('a removed message leaves its notification as it is', async (bench) => {
    const { store, view } = bench
    const { tenantId, userId, id } = await sentOne(bench)

    await store.inbox.remove(tenantId, userId, id)

    assert.equal((await view(id)).status, 'sent')
  })

  rule('tells what has changed since a revision, each message once, in the order of the changes', async (bench) => {
    const { inbox } = bench.store
    const { tenantId, userId } = await ownerOf(bench)
    const [first = '', second = '', third = ''] = await fill(bench, { tenantId, userId }, 3)
    const [before = 0] = await inbox.revisions([{ tenantId, userId }])

    await inbox.mark(tenantId, userId, 'seen', [first, second, third])
    assert.deepEqual(await inbox.revisions([{ tenantId, userId }]), [before])
    await inbox.mark(tenantId, userId, 'read', [second])
    await inbox.remove(tenantId, userId, first)
    const fourth = only(await fill(bench, { tenantId, userId }, 1))

    const tell = async (after: number, limit = 10) =>
      (await inbox.since(tenantId, userId, after, limit)).map(({ id }) => id)
    assert.deepEqual(await tell(0), [third, second, first, fourth])
    assert.deepEqual(await tell(before), [second, first, fourth])
    assert.deepEqual(await tell(before, 2), [second, first])
    assert.deepEqual(await tell(before + 3), [])
    assert.deepEqual(await inbox.revisions([{ tenantId, userId }]), [before + 3])
  })

  rule('whoever follows an inbox misses nothing, however many write to it at once', async (bench) => {
    const { store, another } = bench
    const owner = await ownerOf(bench)
    const other = await another()
    const ids = Array.from({ length: 60 }, bench.newId)
    const writers = [store, other].map(async (on, i) => {
      const own = ids.filter((_, n) => n % 2 === i)
      // Some one by one, some together.
      for (const id of own.slice(0, 10)) await on.inbox.put({ id, ...owner, sealed: id })
      await Promise.all(own.slice(10).map((id) => on.inbox.put({ id, ...owner, sealed: id })))
      await on.inbox.mark(owner.tenantId, owner.userId, 'read', own.slice(0, 5))
    })
    let isOver = false
    const written = Promise.all(writers).then(() => {
      isOver = true
    })

    const told = new Map<string, InboxMessage['readAt']>()
    let after = 0
    for (let isLast = false; !isLast; ) {
      isLast = isOver
      const changes = await store.inbox.since(owner.tenantId, owner.userId, after, 7)
      for (const { id, revision, readAt } of changes) {
        assert.ok(revision > after)
        after = revision
        told.set(id, readAt)
      }
      if (changes.length > 0) isLast = false
      // The writers need a turn, too.
      await new Promise((resolve) => setImmediate(resolve))
    }
    await written

    assert.deepEqual([...told.keys()].sort(), ids)
    assert.equal([...told.values()].filter((readAt) => readAt !== null).length, 10)
  })

  rule('says where any number of inboxes stand, in the given order', async (bench) => {
    const { inbox } = bench.store
    const [a, b] = [await ownerOf(bench), await ownerOf(bench)]
    await fill(bench, a, 2)
    await fill(bench, b, 1)

    assert.deepEqual(await inbox.revisions([b, { ...a, userId: 'nobody' }, a, b]), [1, 0, 2, 1])
    assert.deepEqual(await inbox.revisions([]), [])
  })

  rule('takes users by any name', async (bench) => {
    const { inbox } = bench.store
    const tenantId = await bench.tenant()
    const names = ["o'hara", 'a b', 'Ä', '用户', '😀', '%', '_', '"', '\\', 'x'.repeat(200), '{}', 'NULL', 'a\u0000b']
    for (const userId of names)
      await inbox.put({ id: bench.newId(), tenantId, userId, sealed: userId.length.toString() })

    for (const userId of names) {
      const { items } = await inbox.list(tenantId, userId, {}, { limit: 10 })
      assert.equal(only(items).sealed, userId.length.toString(), userId)
      assert.equal(await inbox.countUnread(tenantId, userId), 1, userId)
      assert.deepEqual(await inbox.revisions([{ tenantId, userId }]), [1], userId)
      assert.equal((await inbox.mark(tenantId, userId, 'read', 'oldest')).length, 1, userId)
    }
  })

  rule('refuses a cursor that is none', async (bench) => {
    const { tenantId, userId } = await ownerOf(bench)
    const list = (cursor: string): ReturnType<InboxStore['list']> =>
      bench.store.inbox.list(tenantId, userId, {}, { limit: 1, cursor })

    for (const cursor of ['x', Buffer.from('["x"]').toString('base64url'), Buffer.from('["-1"]').toString('base64url')])
      await assert.rejects(list(cursor), { code: 'invalid_query' })
  })
}

function receiptOf(tenantId: string, notificationId: string, kind: ReceiptKind, providerMessageId = notificationId) {
  const error = { reason: 'unreachable', code: '1', error: 'gone', to: 'parked' } as const
  const failure = kind === 'failed' ? error : null
  const at = 1_767_225_600_000
  return {
    tenantId,
    notificationId,
    provider: 'inbox',
    providerMessageId,
    kind,
    recipient: null,
    failure,
    at,
    next: null,
  }
}

interface Owner {
  tenantId: string
  userId: string
}

async function ownerOf({ tenant }: Bench): Promise<Owner> {
  return { tenantId: await tenant(), userId: 'ada' }
}

/** Puts messages into an inbox, one after the other, and answers their ids. */
async function fill({ store, newId }: Bench, owner: Owner, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId)
  for (const id of ids) await store.inbox.put({ id, ...owner, sealed: `words of ${id}` })
  return ids
}

/** A notification whose message is in the inbox, and whose call has not been reported yet. */
async function sendingOne(bench: Bench): Promise<Owner & { id: string; complete(): Promise<void> }> {
  const lane: Lane = await bench.lane({ channel: 'in_app' })
  const owner = { tenantId: lane.tenantId, userId: 'ada' }
  const id = only(await bench.enqueue(lane, 1, { to: { userId: owner.userId } }))
  const worker = await bench.worker()
  const claim = only(await bench.claim(worker, lane))
  await bench.store.inbox.put({ id, ...owner, sealed: 'words' })
  return {
    ...owner,
    id,
    async complete() {
      const sent = completion(claim, 'sent', { provider: 'inbox', providerMessageId: id })
      await bench.store.dispatch.complete(worker, [sent])
    },
  }
}

async function sentOne(bench: Bench): Promise<Owner & { id: string }> {
  const { complete, ...sent } = await sendingOne(bench)
  await complete()
  return sent
}

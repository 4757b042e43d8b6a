import assert from 'node:assert/strict'
import type { Claim, Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import { CHANNELS } from '../../packages/pillarbox/src/model/channel.ts'
import type { AuditView } from '../../packages/pillarbox/src/model/notification.ts'
import {
  assertBetween,
  assertConserved,
  at,
  type Bench,
  bornParked,
  completion,
  content,
  FAR_MS,
  type Lane,
  only,
  type Rule,
  reach,
} from './fixtures.ts'

/** Claims are exclusive and fenced; results are written once, whole, and with their history. */
export function dispatchRules(rule: Rule): void {
  dueRules(rule)
  claimRules(rule)
  completeRules(rule)
  moveRules(rule)
  fenceRules(rule)
  releaseRules(rule)
  orphanRules(rule)
  stopRules(rule)
}

function dueRules(rule: Rule): void {
  rule('names the lanes with due work, the longest waiting first', async (bench) => {
    const { store, lane, enqueue, claim, worker, advance } = bench
    const lanes = [await lane({ channel: 'sms' }), await lane({ channel: 'email' }), await lane({ channel: 'push' })]
    const [a, b, c] = [at(lanes, 0), at(lanes, 1), at(lanes, 2)]
    for (const target of [b, c, a]) {
      await enqueue(target, 2)
      await advance(3)
    }

    assert.deepEqual(await store.dispatch.dueLanes(null, 10), [
      { accountId: b.id, channel: 'email', breaker: 'closed' },
      { accountId: c.id, channel: 'push', breaker: 'closed' },
      { accountId: a.id, channel: 'sms', breaker: 'closed' },
    ])
    await claim(await worker(), b, 2)
    await enqueue(b, 50)
    assert.deepEqual(await dueIds(bench), [c.id, a.id, b.id])
  })

  rule('names at most as many due lanes as asked for, and only of the channels asked for', async (bench) => {
    const { store, lane, enqueue, advance } = bench
    const lanes: Lane[] = []
    for (const channel of CHANNELS) {
      const target = await lane({ channel })
      lanes.push(target)
      await enqueue(target)
      await advance(2)
    }
    const ids = async (channels: Parameters<typeof store.dispatch.dueLanes>[0], limit: number): Promise<string[]> =>
      (await store.dispatch.dueLanes(channels, limit)).map(({ accountId }) => accountId)
    const of = (channel: string): string | undefined => lanes.find((lane) => lane.channel === channel)?.id

    assert.deepEqual(await ids(null, 2), [of('whatsapp'), of('sms')])
    assert.deepEqual(await ids(['webhook', 'sms'], 10), [of('sms'), of('webhook')])
    assert.deepEqual(await ids(['webhook', 'sms'], 1), [of('sms')])
    assert.deepEqual(await ids([], 10), [])
  })

  rule('a lane whose work is claimed, later, stopped or done is not due', async (bench) => {
    const { store, lane, enqueue } = bench
    for (const status of ['sending', 'retrying', 'sent', 'parked', 'cancelled'] as const) await reach(bench, status)
    await enqueue(await lane(), 1, { dueAt: (await store.now()) + FAR_MS })
    await enqueue(await lane(), 1, bornParked())

    assert.deepEqual(await store.dispatch.dueLanes(null, 10), [])
  })

  rule('a paused account’s work waits out its hold, a suspended one’s is named whatever held it', async (bench) => {
    const { store, lane, enqueue } = bench
    const [paused, suspended] = [await lane(), await lane()]
    await enqueue(paused)
    await enqueue(suspended)
    await store.lanes.hold(suspended.id, FAR_MS, 'throttled')
    assert.deepEqual(await dueIds(bench), [paused.id])

    await store.lanes.hold(paused.id, FAR_MS, 'paused')
    await store.accounts.setStatus(paused.id, 'paused', 'the credentials were refused', 'system')
    await store.accounts.setStatus(suspended.id, 'suspended', 'by hand', 'key:ada')

    assert.deepEqual(await dueIds(bench), [suspended.id])
    await store.lanes.closeBreaker(paused.id)
    assert.deepEqual((await dueIds(bench)).toSorted(), [paused.id, suspended.id].toSorted())
  })
}

function claimRules(rule: Rule): void {
  rule(
    'a claim of chained rows takes those that another channel may take over, and leaves the others',
    async (bench) => {
      const { store, lane, enqueue, claim, worker } = bench
      const target = await lane()
      const workerId = await worker()
      await enqueue(target, 1, { fallback: ['email'] })
      const doubtful = only(await claim(workerId, target))
      const again = completion(doubtful, 'retrying', { outcome: 'unknown', possibleDuplicate: true, delayMs: 0 })
      await store.dispatch.complete(workerId, [again])
      await enqueue(target, 3)
      const ids = await enqueue(target, 2, { fallback: ['email'] })
      const taken = async (chained: boolean): Promise<string[]> => {
        const answer = await store.dispatch.claim(workerId, [{ accountId: target.id, limit: 10, chained }])
        assert.ok(!answer.fenced)
        return answer.claims.map(({ notificationId }) => notificationId).toSorted()
      }

      assert.deepEqual(await taken(true), ids.toSorted())
      assert.deepEqual(await taken(true), [])
      assert.equal((await taken(false)).length, 4)
    },
  )

  rule('a claim carries all that one provider call needs', async ({ store, lane, notification, worker, view }) => {
    const target = await lane({ channel: 'sms' })
    const asked = await store.now()
    const expiresAt = asked + FAR_MS
    const given = notification(target, {
      to: { phone: '+49151', name: 'Ada' },
      content: { subject: null, body: 'Hi $1 {{x}}', data: { deep: [{ a: null }] } },
      policy: { retry: { delays: ['PT1M'] }, onUndeliverable: 'park' },
      eventType: 'trip.late',
      entity: { type: 'trip', id: '7' },
      locale: 'de',
      correlationId: 'corr-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      fallback: ['email', 'push'],
      site: 'mill-3',
      wantedAt: expiresAt - 2 * FAR_MS,
      expiresAt,
    })
    await store.notifications.insert([given])
    const before = await store.now()

    const answer = await store.dispatch.claim(await worker(), [{ accountId: target.id, limit: 1 }])

    assert.ok(!answer.fenced)
    const { token, claimedAt, visibleAt, ...claim } = only(answer.claims)
    assert.ok(Number.isSafeInteger(token))
    assertBetween(claimedAt, before, await store.now())
    assertBetween(visibleAt, asked, before)
    assert.deepEqual(claim, {
      notificationId: given.id,
      accountId: target.id,
      attempt: 1,
      spent: 0,
      possibleDuplicate: false,
      tenantId: target.tenantId,
      channel: 'sms',
      to: given.to,
      content: given.content,
      policy: given.policy,
      overridesSuppression: false,
      eventType: 'trip.late',
      entity: { type: 'trip', id: '7' },
      locale: 'de',
      correlationId: 'corr-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      fallback: ['email', 'push'],
      site: 'mill-3',
      wantedAt: expiresAt - 2 * FAR_MS,
      expiresAt,
    })
    assert.equal((await view(given.id)).status, 'sending')
  })

  rule('a claim gives content back exactly as it was planned, whatever is in it', async (bench) => {
    const { lane, enqueue, worker, claim } = bench
    const target = await lane()
    const words = content('nul \u0000, lone \ud800, 👩‍🚀, "quotes", \\, \n')
    await enqueue(target, 1, { content: words })

    assert.deepEqual(only(await claim(await worker(), target)).content, words)
  })

  rule('claims oldest first, and at most the limit of each lane', async ({ store, lane, enqueue, worker, advance }) => {
    const [a, b] = [await lane(), await lane()]
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      ids.push(...(await enqueue(a)))
      await advance(2)
    }
    await enqueue(b, 5)
    const by = await worker()

    const answer = await store.dispatch.claim(by, [
      { accountId: a.id, limit: 3 },
      { accountId: b.id, limit: 1 },
    ])
    const rest = await store.dispatch.claim(by, [{ accountId: a.id, limit: 10 }])

    assert.ok(!answer.fenced && !rest.fenced)
    const ofA = answer.claims.filter(({ accountId }) => accountId === a.id)
    // Which rows are claimed is decided by their age; in which order a claim answers them, by the database.
    assert.deepEqual(ofA.map(({ notificationId }) => notificationId).toSorted(), ids.slice(0, 3).toSorted())
    assert.equal(answer.claims.length, 4)
    assert.deepEqual(rest.claims.map(({ notificationId }) => notificationId).toSorted(), ids.slice(3).toSorted())
  })

  rule('claims nothing from a lane that is empty, unknown or asked for nothing', async (bench) => {
    const { store, lane, enqueue, worker, newId } = bench
    const [empty, full] = [await lane(), await lane()]
    await enqueue(full)
    const by = await worker()

    const claim = (lanes: { accountId: string; limit: number }[]) => store.dispatch.claim(by, lanes)

    assert.deepEqual(await claim([]), { fenced: false, claims: [] })
    assert.deepEqual(await claim([{ accountId: empty.id, limit: 5 }]), { fenced: false, claims: [] })
    assert.deepEqual(await claim([{ accountId: newId(), limit: 5 }]), { fenced: false, claims: [] })
    assert.deepEqual(await claim([{ accountId: full.id, limit: 0 }]), { fenced: false, claims: [] })
  })

  rule('never gives one row to two workers', async ({ store, lane, enqueue, worker }) => {
    const lanes = [await lane(), await lane(), await lane(), await lane()]
    const ids = (await Promise.all(lanes.map((target) => enqueue(target, 30)))).flat()
    const drain = async (): Promise<Claim[]> => {
      const by = await worker()
      const claims: Claim[] = []
      for (;;) {
        const wanted = lanes.map(({ id }) => ({ accountId: id, limit: 3 }))
        const answer = await store.dispatch.claim(by, wanted)
        assert.ok(!answer.fenced)
        for (const { accountId, limit } of wanted)
          assert.ok(
            answer.claims.filter((claim) => claim.accountId === accountId).length <= limit,
            'more than the limit',
          )
        if (answer.claims.length === 0) return claims
        claims.push(...answer.claims)
      }
    }

    const claims = (await Promise.all(Array.from({ length: 6 }, drain))).flat()

    assert.deepEqual(claims.map(({ notificationId }) => notificationId).sort(), ids.sort())
    assert.equal((await store.notifications.countByStatus(null)).sending, ids.length)
  })

  rule(
    'a row is not claimed before it is due, and is afterwards',
    async ({ store, lane, enqueue, worker, claim, advance }) => {
      const target = await lane()
      const soon = only(await enqueue(target, 1, { dueAt: (await store.now()) + 20 }))
      await enqueue(target, 1, { dueAt: (await store.now()) + FAR_MS })
      await advance(30)

      const claims = await claim(await worker(), target, 10)

      assert.deepEqual(
        claims.map(({ notificationId }) => notificationId),
        [soon],
      )
    },
  )

  rule('every row claimed gets a token never used before', async (bench) => {
    const { store, lane, enqueue, worker } = bench
    const lanes = [await lane(), await lane()]
    for (const target of lanes) await enqueue(target, 2)
    const tokens: number[] = []
    for (let round = 0; round < 6; round++) {
      const by = await worker()
      const answer = await store.dispatch.claim(
        by,
        lanes.map(({ id }) => ({ accountId: id, limit: 2 })),
      )
      assert.ok(!answer.fenced && answer.claims.length === 4)
      tokens.push(...tokensOf(answer.claims))
      if (round % 2) await store.dispatch.release(by, answer.claims)
      else {
        const results = answer.claims.map((claim) => completion(claim, 'retrying', { delayMs: 0 }))
        await store.dispatch.complete(by, results)
      }
    }

    assert.equal(new Set(tokens).size, tokens.length, 'a token was used twice')
  })

  rule('a worker that was never registered, or has left, claims nothing', async (bench) => {
    const { store, lane, enqueue, worker, newId, view } = bench
    const target = await lane()
    const id = only(await enqueue(target))
    const left = await worker()
    await store.workers.remove(left)

    for (const by of [newId(), left])
      assert.deepEqual(await store.dispatch.claim(by, [{ accountId: target.id, limit: 1 }]), { fenced: true })
    assert.equal((await view(id)).status, 'queued')
  })
}

function completeRules(rule: Rule): void {
  rule('an accepted call leaves the notification sent, with its attempt', async (bench) => {
    const { store, view } = bench
    const { by, claim } = await claimed(bench)
    const before = await store.now()
    const result = completion(claim, 'sent', { providerMessageId: 'wamid.1', code: '202', ageMs: 30, durationMs: 25 })

    const answer = await store.dispatch.complete(by, [result])

    const after = await store.now()
    assert.deepEqual(answer.fenced, [])
    const sent = await view(claim.notificationId)
    assert.deepEqual(
      [sent.status, sent.providerMessageId, sent.attemptCount, sent.nextAttemptAt, sent.reason],
      ['sent', 'wamid.1', 1, null, null],
    )
    assertBetween(sent.sentAt, before - 30, after)
    const { startedAt, ...attempt } = only(await store.notifications.attempts(claim.notificationId))
    assertBetween(startedAt, before - 30, after - 30)
    assert.deepEqual(attempt, {
      number: 1,
      outcome: 'accepted',
      late: false,
      code: '202',
      error: null,
      provider: 'sandbox',
      providerMessageId: 'wamid.1',
      accountId: claim.accountId,
      answer: null,
      refused: null,
      durationMs: 25,
      workerId: by,
    })
  })

  rule('whom a list stood for is told by the last attempt that counts', async (bench) => {
    const { store, view, lane, enqueue, worker, claim: take } = bench
    const target = await lane()
    const id = only(await enqueue(target, 1, { to: { list: 'ops-team' } }))
    const by = await worker()
    const retried = only(await take(by, target))
    await store.dispatch.complete(by, [completion(retried, 'retrying', { delayMs: 0, resolvedTargets: ['a@x.test'] })])
    assert.deepEqual((await view(id)).resolvedTargets, ['a@x.test'])

    const last = only(await take(by, target))
    await store.dispatch.complete(by, [completion(last, 'sent', { resolvedTargets: ['a@x.test', 'b@x.test'] })])
    await store.dispatch.complete(by, [
      completion({ ...last, token: -1 }, 'sent', { resolvedTargets: ['late@x.test'] }),
    ])

    const { status, resolvedTargets, providerMessageId } = await view(id)
    assert.deepEqual([status, resolvedTargets], ['sent', ['a@x.test', 'b@x.test']])
    assert.equal(providerMessageId, `accepted-${id}`)
  })

  rule('an attempt keeps its account and what the provider said, and whom it refused warns of it', async (bench) => {
    const { store, lane, enqueue, claim, worker, view } = bench
    const target = await lane()
    const [plain = '', listed = ''] = await enqueue(target, 2)
    const by = await worker()
    const claims = await claim(by, target, 2)
    const of = (id: string): Claim => claims.find(({ notificationId }) => notificationId === id) ?? assert.fail()
    const refused = [{ recipient: 'b@x.test', error: '550 5.1.1 no such user' }]
    await store.dispatch.complete(by, [completion(of(plain), 'sent', { answer: '200 {"id":"ä"}' })])
    await store.dispatch.complete(by, [completion(of(listed), 'sent', { answer: '250 ok', refused })])

    const kept = async (id: string) => {
      const { accountId, answer, refused: members } = only(await store.notifications.attempts(id))
      return { accountId, answer, refused: members }
    }
    assert.deepEqual(await kept(plain), { accountId: target.id, answer: '200 {"id":"ä"}', refused: null })
    assert.deepEqual(await kept(listed), { accountId: target.id, answer: '250 ok', refused })
    assert.deepEqual((await view(plain)).warnings, [])
    assert.deepEqual((await view(listed)).warnings, [
      { code: 'members_refused', message: 'The provider did not take it for b@x.test.' },
    ])
  })

  rule('an attempt without a list tells of no targets, though the one before had some', async (bench) => {
    const { store, view, lane, enqueue, worker, claim: take } = bench
    const target = await lane()
    const id = only(await enqueue(target))
    const by = await worker()
    const first = only(await take(by, target))
    await store.dispatch.complete(by, [completion(first, 'retrying', { delayMs: 0, resolvedTargets: ['a@x.test'] })])

    await store.dispatch.complete(by, [completion(only(await take(by, target)), 'sent')])

    assert.equal((await view(id)).resolvedTargets, null)
  })

  rule('a transient failure waits out its delay, then is claimed as the next attempt', async (bench) => {
    const { store, worker, claim: claimFrom, view, advance } = bench
    const { by, claim, lane } = await claimed(bench)
    const before = await store.now()

    await store.dispatch.complete(by, [completion(claim, 'retrying', { delayMs: 20, error: 'try later' })])

    const waiting = await view(claim.notificationId)
    assert.deepEqual([waiting.status, waiting.lastError, waiting.attemptCount], ['retrying', 'try later', 1])
    assertBetween(waiting.nextAttemptAt, before + 20, (await store.now()) + 20)
    await advance(30)
    const again = only(await claimFrom(await worker(), lane))
    assert.deepEqual([again.attempt, again.spent, again.possibleDuplicate], [2, 1, false])
  })

  rule('a row that is to be tried again is not claimed before its delay is over', async (bench) => {
    const { store, worker, claim: claimFrom } = bench
    const { by, claim, lane } = await claimed(bench)

    await store.dispatch.complete(by, [completion(claim, 'retrying', { delayMs: FAR_MS })])

    assert.deepEqual(await claimFrom(await worker(), lane), [])
    assert.deepEqual(await dueIds(bench), [])
  })

  rule('a call that burned no attempt is the next number but spends nothing', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, lane } = await claimed(bench)
    const throttled = completion(claim, 'retrying', { outcome: 'throttled', code: '429', delayMs: 0, spent: 0 })

    await store.dispatch.complete(by, [throttled])

    assert.equal((await view(claim.notificationId)).status, 'retrying')
    const again = only(await claimFrom(await worker(), lane))
    assert.deepEqual([again.attempt, again.spent], [2, 0])
  })

  rule('the mark of a possible duplicate stays through every further attempt', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, lane } = await claimed(bench)
    await store.dispatch.complete(by, [
      completion(claim, 'retrying', { outcome: 'unknown', delayMs: 0, possibleDuplicate: true }),
    ])

    const again = only(await claimFrom(await worker(), lane))
    assert.equal(again.possibleDuplicate, true)
    await store.dispatch.complete(by, [completion(again, 'sent')])

    assert.equal((await view(claim.notificationId)).possibleDuplicate, true)
  })

  for (const [to, reason, error] of [
    ['parked', 'attempts_exhausted', 'the fifth attempt failed'],
    ['uncertain', 'outcome_unknown', 'no answer came'],
    ['failed', 'fallback_triggered:sms', 'no such user'],
    ['cancelled', 'expired', 'it was not sent in time'],
  ] as const)
    rule(`a result that ends ${to} shows its reason and its error, and leaves no work`, async (bench) => {
      const { store, view } = bench
      const { by, claim, lane } = await claimed(bench)

      await store.dispatch.complete(by, [completion(claim, to, { reason, error })])

      const stopped = await view(claim.notificationId)
      assert.deepEqual(
        [stopped.status, stopped.reason, stopped.lastError, stopped.nextAttemptAt, stopped.sentAt],
        [to, reason, error, null, null],
      )
      assert.deepEqual(await bench.claim(await bench.worker(), lane), [])
    })

  rule('a result without a provider call is no attempt, but is on record', async (bench) => {
    const { store } = bench
    const { by, claim } = await claimed(bench)

    await store.dispatch.complete(by, [completion(claim, 'cancelled', { outcome: null, reason: 'expired' })])

    assert.deepEqual(await store.notifications.attempts(claim.notificationId), [])
    const last = (await store.notifications.audit(claim.notificationId)).at(-1)
    assert.deepEqual([last?.from, last?.to, last?.reason], ['sending', 'cancelled', 'expired'])
  })

  rule('a fallback begins with the failure it follows, in one transaction', async (bench) => {
    const { store, lane: newLane, notification, worker, claim: claimFrom, view } = bench
    const { by, claim, lane } = await claimed(bench)
    const sms = await newLane({ tenantId: lane.tenantId, channel: 'sms' })
    const next = notification(sms, { fallbackOf: claim.notificationId, correlationId: 'corr-1' })

    const answer = await store.dispatch.complete(by, [completion(claim, 'failed', { next })])

    assert.deepEqual(answer.fenced, [])
    assert.ok(answer.lanes.includes(sms.id))
    const [failed, taken] = [await view(claim.notificationId), await view(next.id)]
    assert.deepEqual([failed.status, failed.reason, failed.fallbackTo], ['failed', 'fallback_triggered:sms', next.id])
    assert.deepEqual([taken.status, taken.fallbackOf, taken.correlationId], ['queued', claim.notificationId, 'corr-1'])
    assert.equal(only(await claimFrom(await worker(), sms)).notificationId, next.id)
  })

  rule('a fallback whose key exists already is not begun twice', async (bench) => {
    const { store, lane: newLane, notification, enqueue, view } = bench
    const { by, claim, lane } = await claimed(bench)
    const sms = await newLane({ tenantId: lane.tenantId, channel: 'sms' })
    const first = only(await enqueue(sms, 1, { idempotencyKey: 'fallback:1:sms' }))

    await store.dispatch.complete(by, [
      completion(claim, 'failed', { next: notification(sms, { idempotencyKey: 'fallback:1:sms' }) }),
    ])

    const failed = await view(claim.notificationId)
    assert.equal(failed.status, 'failed')
    assert.equal(failed.fallbackTo, first)
    assert.equal((await store.notifications.countByStatus(null)).queued, 1)
  })

  rule('a fallback of a fenced result is not begun', async (bench) => {
    const { store, lane: newLane, notification } = bench
    const { by, claim, lane } = await claimed(bench)
    const sms = await newLane({ tenantId: lane.tenantId, channel: 'sms' })
    await store.dispatch.release(by, [claim])
    const next = notification(sms)

    const { fenced } = await store.dispatch.complete(by, [completion(claim, 'failed', { next })])

    assert.deepEqual(fenced, [claim.notificationId])
    assert.equal(await store.notifications.find(null, next.id), null)
  })

  rule('a fallback that is refused takes the whole batch back', async (bench) => {
    const { store, lane: newLane, enqueue, worker, claim: claimFrom, notification, view } = bench
    const lane = await newLane()
    await enqueue(lane, 2)
    const by = await worker()
    const claims = await claimFrom(by, lane, 2)
    const refused = notification(lane, { accountId: null })

    await assert.rejects(
      store.dispatch.complete(by, [
        completion(at(claims, 0), 'sent'),
        completion(at(claims, 1), 'failed', { next: refused }),
      ]),
    )

    for (const { notificationId } of claims) {
      assert.equal((await view(notificationId)).status, 'sending')
      assert.deepEqual(await store.notifications.attempts(notificationId), [])
    }
    assert.deepEqual((await store.dispatch.complete(by, [completion(at(claims, 0), 'sent')])).fenced, [])
  })

  rule('one call writes results of every kind', async (bench) => {
    const { store, lane: newLane, enqueue, worker, claim: claimFrom, view } = bench
    const lane = await newLane()
    const kinds: Completion['to'][] = ['sent', 'retrying', 'parked', 'uncertain', 'failed', 'cancelled']
    await enqueue(lane, kinds.length * 3)
    const by = await worker()
    const claims = await claimFrom(by, lane, kinds.length * 3)
    const results = claims.map((claim, i) => completion(claim, at(kinds, i % kinds.length)))

    const answer = await store.dispatch.complete(by, results.toReversed())

    assert.deepEqual(answer.fenced, [])
    for (const { notificationId, to } of results) assert.equal((await view(notificationId)).status, to)
    const counts = await store.notifications.countByStatus(null)
    for (const to of kinds) assert.equal(counts[to], 3, to)
  })

  rule('writing no results changes nothing', async ({ store, worker }) => {
    assert.deepEqual(await store.dispatch.complete(await worker(), []), { fenced: [], lanes: [] })
  })

  rule('every transition is on record, oldest first, attempts before what they led to', async (bench) => {
    const { store, worker, claim: claimFrom, advance } = bench
    const { by, claim, lane } = await claimed(bench)
    const id = claim.notificationId
    await advance(10)
    await store.dispatch.complete(by, [completion(claim, 'retrying', { delayMs: 0 })])
    await advance(10)
    const again = only(await claimFrom(await worker(), lane))
    await store.dispatch.complete(by, [completion(again, 'parked')])
    await advance(10)
    await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' })
    await advance(10)
    const last = only(await claimFrom(await worker(), lane))
    await store.dispatch.complete(by, [completion(last, 'sent')])

    const audit = await store.notifications.audit(id)

    assert.deepEqual(transitions(audit), ['retrying', 'parked', 'queued', 'sent'])
    const attempts = audit.filter(({ action }) => action === 'attempt')
    assert.deepEqual(
      attempts.map(({ attempt, durationMs }) => [attempt, durationMs]),
      [
        [1, 7],
        [2, 7],
        [3, 7],
      ],
    )
    for (const row of attempts) {
      const next = at(audit, audit.indexOf(row) + 1)
      assert.notEqual(next.action, 'attempt')
      assert.equal(next.from, 'sending')
    }
    for (const [i, row] of audit.entries()) {
      assert.equal(row.notificationId, id)
      assert.notEqual(row.actor, '')
      if (i > 0) assert.ok(row.at >= at(audit, i - 1).at, 'the history is not in order')
    }
  })
}

function moveRules(rule: Rule): void {
  /** A claimed notification, and two more accounts of its channel. */
  async function twoMore(bench: Bench) {
    const { by, claim, lane } = await claimed(bench)
    const another = () => bench.lane({ tenantId: lane.tenantId })
    return { by, claim, first: lane, second: await another(), third: await another() }
  }
  const to = ({ id }: Lane, provider = 'other') => ({ delayMs: 0, spent: 0, moveTo: { accountId: id, provider } })

  rule('a result that moves is due on the other account’s lane, and the ledger has that account', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, first, second } = await twoMore(bench)
    const refused = completion(claim, 'retrying', { outcome: 'unauthorized', error: 'who are you', ...to(second) })

    const answer = await store.dispatch.complete(by, [refused])

    assert.deepEqual(answer, { fenced: [], lanes: [second.id] })
    const { status, accountId, provider, lastError } = await view(claim.notificationId)
    assert.deepEqual([status, accountId, provider, lastError], ['retrying', second.id, 'other', 'who are you'])
    assert.deepEqual(await dueIds(bench), [second.id])
    assert.deepEqual(await claimFrom(await worker(), first), [])
    const again = only(await claimFrom(await worker(), second))
    assert.deepEqual([again.accountId, again.attempt, again.spent], [second.id, 2, 0])
    assert.equal(only(await store.notifications.attempts(claim.notificationId)).provider, 'sandbox')
  })

  rule('a move is on record behind the attempt that led to it, with both accounts', async (bench) => {
    const { store } = bench
    const { by, claim, first, second, third } = await twoMore(bench)
    await store.dispatch.complete(by, [completion(claim, 'retrying', to(second))])
    const again = only(await bench.claim(by, second))
    await store.dispatch.complete(by, [
      completion(again, 'retrying', { outcome: null, reason: 'channel_suspended', ...to(third) }),
    ])

    const audit = await store.notifications.audit(claim.notificationId)

    assert.deepEqual(
      audit.map(({ action, attempt, from, to, reason }) => [action, attempt, from, to, reason]),
      [
        ['attempt', 1, null, null, null],
        ['retry', 1, 'sending', 'retrying', null],
        ['move', 1, null, null, `account:${first.id} → account:${second.id}`],
        ['retry', 2, 'sending', 'retrying', 'channel_suspended'],
        ['move', 2, null, null, `account:${second.id} → account:${third.id}`],
      ],
    )
    assert.equal((await store.notifications.attempts(claim.notificationId)).length, 1)
  })

  rule('results of one batch move and stay, each for itself', async (bench) => {
    const { store, lane: newLane, enqueue, worker, claim: claimFrom, view } = bench
    const first = await newLane()
    const others = [await newLane({ tenantId: first.tenantId }), await newLane({ tenantId: first.tenantId })]
    await enqueue(first, 9)
    const by = await worker()
    const claims = await claimFrom(by, first, 9)
    const results = claims.map((claim, i) => {
      if (i % 3 === 0) return completion(claim, 'sent')
      return completion(claim, 'retrying', i % 3 === 1 ? to(at(others, i % 2)) : { delayMs: 0 })
    })

    const answer = await store.dispatch.complete(by, results)

    assert.deepEqual(answer.fenced, [])
    assert.deepEqual(answer.lanes.toSorted(), [first.id, ...others.map(({ id }) => id)].toSorted())
    for (const { notificationId, moveTo, to } of results) {
      const { status, accountId } = await view(notificationId)
      assert.deepEqual([status, accountId], [to, moveTo?.accountId ?? first.id])
    }
    await assertConserved(bench)
  })

  rule('only what is to be tried again moves', async (bench) => {
    const { store, view } = bench
    for (const status of ['sent', 'parked', 'uncertain', 'failed', 'cancelled'] as const) {
      const { by, claim, first, second } = await twoMore(bench)

      await store.dispatch.complete(by, [completion(claim, status, { moveTo: to(second).moveTo })])

      const { accountId, provider } = await view(claim.notificationId)
      assert.deepEqual([accountId, provider], [first.id, 'sandbox'])
      const audit = await store.notifications.audit(claim.notificationId)
      assert.ok(audit.every(({ action }) => action !== 'move'))
    }
  })

  rule('an old token moves nothing', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, first, second } = await twoMore(bench)
    await store.dispatch.release(by, [claim])
    const current = only(await claimFrom(await worker(), first))

    const { fenced, lanes } = await store.dispatch.complete(by, [completion(claim, 'retrying', to(second))])

    assert.deepEqual([fenced, lanes], [[claim.notificationId], []])
    const { status, accountId, provider } = await view(claim.notificationId)
    assert.deepEqual([status, accountId, provider], ['sending', first.id, 'sandbox'])
    const audit = await store.notifications.audit(claim.notificationId)
    assert.ok(audit.every(({ action }) => action !== 'move'))
    assert.deepEqual((await store.dispatch.complete(by, [completion(current, 'sent')])).fenced, [])
  })

  rule('a move that is repeated because its answer was lost does not undo what happened since', async (bench) => {
    const { store, view } = bench
    const { by, claim, second, third } = await twoMore(bench)
    const result = completion(claim, 'retrying', to(second))
    await store.dispatch.complete(by, [result])
    const again = only(await bench.claim(by, second))
    await store.dispatch.complete(by, [completion(again, 'retrying', to(third))])
    const [before, history] = [await view(claim.notificationId), await store.notifications.audit(claim.notificationId)]

    for (let i = 0; i < 2; i++) assert.deepEqual((await store.dispatch.complete(by, [result])).fenced, [])

    assert.deepEqual(await view(claim.notificationId), before)
    assert.deepEqual(await store.notifications.audit(claim.notificationId), history)
    assert.deepEqual(await dueIds(bench), [third.id])
  })

  rule('of a stale and a current result of one notification in one batch, only the current counts', async (bench) => {
    const { store, worker, claim: claimFrom, notification, view } = bench
    const { by, claim, first, second, third } = await twoMore(bench)
    await store.dispatch.release(by, [claim])
    const current = only(await claimFrom(await worker(), first))

    const moved = await store.dispatch.complete(by, [
      completion(claim, 'retrying', to(second)),
      completion(current, 'retrying', to(third)),
    ])

    assert.deepEqual(moved, { fenced: [claim.notificationId], lanes: [third.id] })
    assert.equal((await view(claim.notificationId)).accountId, third.id)
    const last = only(await claimFrom(by, third))
    const next = notification(first, { fallbackOf: claim.notificationId })
    await store.dispatch.complete(by, [completion(claim, 'sent'), completion(last, 'failed', { next })])
    assert.equal((await view(claim.notificationId)).fallbackTo, next.id)
  })

  rule('the same move from several callers at once is made once', async (bench) => {
    const { store, view } = bench
    const { by, claim, second } = await twoMore(bench)

    const answers = await Promise.all(
      [1, 2, 3].map(() => store.dispatch.complete(by, [completion(claim, 'retrying', to(second))])),
    )

    for (const { fenced } of answers) assert.deepEqual(fenced, [])
    assert.equal((await view(claim.notificationId)).accountId, second.id)
    const moves = (await store.notifications.audit(claim.notificationId)).filter(({ action }) => action === 'move')
    assert.equal(moves.length, 1)
  })

  rule('a move is taken back with the rest of a batch that is refused', async (bench) => {
    const { store, enqueue, notification, claim: claimFrom, view } = bench
    const { by, claim, first, second } = await twoMore(bench)
    await enqueue(first)
    const other = only(await claimFrom(by, first))
    const refused = completion(other, 'failed', { next: notification(first, { accountId: null }) })

    await assert.rejects(store.dispatch.complete(by, [completion(claim, 'retrying', to(second)), refused]))

    const { status, accountId, provider } = await view(claim.notificationId)
    assert.deepEqual([status, accountId, provider], ['sending', first.id, 'sandbox'])
    assert.deepEqual((await store.dispatch.complete(by, [completion(claim, 'retrying', to(second))])).fenced, [])
    assert.equal((await view(claim.notificationId)).accountId, second.id)
  })
}

function fenceRules(rule: Rule): void {
  rule('a result with an old token changes nothing and is kept as a late attempt', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, lane } = await claimed(bench)
    await store.dispatch.release(by, [claim])
    const current = only(await claimFrom(await worker(), lane))
    const before = await view(claim.notificationId)

    const answer = await store.dispatch.complete(by, [completion(claim, 'sent', { providerMessageId: 'late-1' })])

    assert.deepEqual(answer.fenced, [claim.notificationId])
    const { possibleDuplicate: _, ...after } = await view(claim.notificationId)
    const { possibleDuplicate: __, ...unchanged } = before
    assert.deepEqual(after, unchanged)
    const late = only(await store.notifications.attempts(claim.notificationId))
    assert.deepEqual(
      [late.number, late.late, late.outcome, late.providerMessageId, late.workerId],
      [1, true, 'accepted', 'late-1', by],
    )
    assert.deepEqual((await store.dispatch.complete(by, [completion(current, 'parked')])).fenced, [])
    assert.equal((await view(claim.notificationId)).status, 'parked')
  })

  for (const to of ['sent', 'retrying', 'parked', 'uncertain', 'failed', 'cancelled'] as const)
    rule(`an old token cannot move a notification to ${to}`, async (bench) => {
      const { store, worker, claim: claimFrom, view } = bench
      const { by, claim, lane } = await claimed(bench)
      await store.dispatch.release(by, [claim])
      const current = only(await claimFrom(await worker(), lane))

      const { fenced } = await store.dispatch.complete(by, [completion(claim, to)])

      assert.deepEqual(fenced, [claim.notificationId])
      assert.equal((await view(claim.notificationId)).status, 'sending')
      assert.deepEqual((await store.dispatch.complete(by, [completion(current, 'sent')])).fenced, [])
    })

  rule('fences only the results that are late, and writes the others', async (bench) => {
    const { store, lane: newLane, enqueue, worker, claim: claimFrom, view } = bench
    const lane = await newLane()
    await enqueue(lane, 6)
    const by = await worker()
    const claims = await claimFrom(by, lane, 6)
    const [late, good] = [claims.slice(0, 3), claims.slice(3)]
    await store.dispatch.release(by, late)

    const { fenced } = await store.dispatch.complete(by, claims.map((claim) => completion(claim, 'sent')).reverse())

    assert.deepEqual(fenced.toSorted(), late.map(({ notificationId }) => notificationId).toSorted())
    for (const { notificationId } of good) assert.equal((await view(notificationId)).status, 'sent')
    for (const { notificationId } of late) assert.equal((await view(notificationId)).status, 'queued')
  })

  for (const to of ['sent', 'retrying', 'parked', 'uncertain', 'failed'] as const)
    rule(
      `a ${to} result that is repeated because its answer was lost changes nothing and is not fenced`,
      async (bench) => {
        const { store, notification, view } = bench
        const { by, claim, lane } = await claimed(bench)
        const next = to === 'failed' ? notification(lane) : null
        const result = completion(claim, to, { next })
        await store.dispatch.complete(by, [result])
        const [before, history] = [
          await view(claim.notificationId),
          await store.notifications.audit(claim.notificationId),
        ]

        for (let i = 0; i < 3; i++) assert.deepEqual((await store.dispatch.complete(by, [result])).fenced, [])

        assert.deepEqual(await view(claim.notificationId), before)
        assert.deepEqual(await store.notifications.audit(claim.notificationId), history)
        assert.equal((await store.notifications.attempts(claim.notificationId)).length, 1)
      },
    )

  rule('a repeated result does not undo what happened since', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, lane } = await claimed(bench)
    const result = completion(claim, 'retrying', { delayMs: 0 })
    await store.dispatch.complete(by, [result])
    const again = only(await claimFrom(await worker(), lane))

    assert.deepEqual((await store.dispatch.complete(by, [result])).fenced, [])

    assert.equal((await view(claim.notificationId)).status, 'sending')
    assert.deepEqual((await store.dispatch.complete(by, [completion(again, 'sent')])).fenced, [])
    assert.equal((await view(claim.notificationId)).status, 'sent')
  })

  rule('the same result from several callers at once is written once', async (bench) => {
    const { store, view } = bench
    const { by, claim } = await claimed(bench)

    const answers = await Promise.all(
      [1, 2, 3].map(() => store.dispatch.complete(by, [completion(claim, 'retrying', { delayMs: 0 })])),
    )

    for (const { fenced } of answers) assert.deepEqual(fenced, [])
    assert.equal((await view(claim.notificationId)).attemptCount, 1)
    assert.equal((await store.notifications.attempts(claim.notificationId)).length, 1)
  })

  rule('a result for a notification that never was is fenced', async (bench) => {
    const { store, newId } = bench
    const { by, claim } = await claimed(bench)
    const stray = { ...completion(claim, 'sent'), notificationId: newId() }

    const { fenced } = await store.dispatch.complete(by, [stray, completion(claim, 'sent')])

    assert.deepEqual(fenced, [stray.notificationId])
  })

  rule('a late result without a provider call is fenced and leaves no attempt', async (bench) => {
    const { store } = bench
    const { by, claim } = await claimed(bench)
    await store.dispatch.release(by, [claim])

    const { fenced } = await store.dispatch.complete(by, [completion(claim, 'cancelled', { outcome: null })])

    assert.deepEqual(fenced, [claim.notificationId])
    assert.deepEqual(await store.notifications.attempts(claim.notificationId), [])
  })

  rule('a late result after an operator’s cancel changes nothing', async (bench) => {
    const { store, view } = bench
    const { by, claim, lane } = await claimed(bench)
    await store.dispatch.release(by, [claim])
    await store.notifications.act({
      tenantId: lane.tenantId,
      id: claim.notificationId,
      action: 'cancel',
      actor: 'key:ada',
    })

    const { fenced } = await store.dispatch.complete(by, [completion(claim, 'retrying', { delayMs: 0 })])

    assert.deepEqual(fenced, [claim.notificationId])
    assert.equal((await view(claim.notificationId)).status, 'cancelled')
    assert.deepEqual(await dueIds(bench), [])
  })
}

function releaseRules(rule: Rule): void {
  rule('a released claim is as it was before: queued, unattempted, due, first in line', async (bench) => {
    const { store, lane: newLane, enqueue, worker, claim: claimFrom, view, advance } = bench
    const lane = await newLane()
    const first = only(await enqueue(lane))
    await advance(3)
    const second = only(await enqueue(lane))
    const before = await view(first)
    const by = await worker()
    const claim = only(await claimFrom(by, lane))
    await advance(3)

    await store.dispatch.release(by, [claim])

    assert.deepEqual(await view(first), before)
    assert.deepEqual(await store.notifications.attempts(first), [])
    const again = await claimFrom(await worker(), lane, 2)
    assert.deepEqual(
      again.map(({ notificationId, attempt, spent }) => [notificationId, attempt, spent]),
      [
        [first, 1, 0],
        [second, 1, 0],
      ],
    )
    assert.notEqual(again[0]?.token, claim.token)
  })

  rule('a released retry is retrying again, and its attempt is not burned', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, lane } = await claimed(bench)
    await store.dispatch.complete(by, [completion(claim, 'retrying', { delayMs: 0 })])
    const before = await view(claim.notificationId)
    const again = only(await claimFrom(by, lane))

    await store.dispatch.release(by, [again])

    assert.deepEqual(await view(claim.notificationId), before)
    const third = only(await claimFrom(await worker(), lane))
    assert.deepEqual([third.attempt, third.spent], [2, 1])
  })

  rule('a released retry by hand is queued again', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { id, lane } = await reach(bench, 'parked')
    await store.notifications.act({ tenantId: lane.tenantId, id, action: 'retry', actor: 'key:ada' })
    const before = await view(id)
    const by = await worker()

    await store.dispatch.release(by, await claimFrom(by, lane))

    assert.equal(before.status, 'queued')
    assert.deepEqual(await view(id), before)
  })

  for (const whose of ['another worker', 'the same worker'] as const)
    rule(`a release with an old token does not free what ${whose} has claimed since`, async (bench) => {
      const { store, worker, claim: claimFrom, view } = bench
      const { by, claim, lane } = await claimed(bench)
      await store.dispatch.release(by, [claim])
      const current = only(await claimFrom(whose === 'the same worker' ? by : await worker(), lane))

      await store.dispatch.release(by, [claim])
      await store.dispatch.release(by, [{ notificationId: claim.notificationId, token: current.token + 1_000_000 }])

      assert.equal((await view(claim.notificationId)).status, 'sending')
      assert.deepEqual((await store.dispatch.complete(by, [completion(current, 'sent')])).fenced, [])
    })

  rule('a release after the result changes nothing', async (bench) => {
    const { store, view } = bench
    for (const to of ['sent', 'parked', 'retrying'] as const) {
      const { by, claim } = await claimed(bench)
      await store.dispatch.complete(by, [completion(claim, to)])
      const before = await view(claim.notificationId)

      await store.dispatch.release(by, [claim])

      assert.deepEqual(await view(claim.notificationId), before)
    }
  })

  rule('releasing nothing does nothing', async ({ store, worker }) => {
    await store.dispatch.release(await worker(), [])
  })
}

function orphanRules(rule: Rule): void {
  rule('claims whose answer was lost go back as they were', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, claim, lane } = await claimed(bench)
    const known = (await bench.enqueue(lane, 2)).length
    const held = await claimFrom(by, lane, known)
    const before = await Promise.all(held.map(({ notificationId }) => view(notificationId)))

    const inDoubt = await store.dispatch.orphans(by, tokensOf(held))

    assert.deepEqual(inDoubt, [])
    const lost = await view(claim.notificationId)
    assert.deepEqual([lost.status, lost.attemptCount], ['queued', 0])
    assert.deepEqual(await Promise.all(held.map(({ notificationId }) => view(notificationId))), before)
    const again = only(await claimFrom(await worker(), lane, 5))
    assert.deepEqual([again.notificationId, again.attempt], [claim.notificationId, 1])
    assert.deepEqual(
      (
        await store.dispatch.complete(
          by,
          held.map((claim) => completion(claim, 'sent')),
        )
      ).fenced,
      [],
    )
  })

  rule(
    'a release whose answer was lost is found, though the worker still holds what it claimed with it',
    async (bench) => {
      const { store, lane: newLane, enqueue, worker, claim: claimFrom, view } = bench
      const lane = await newLane()
      await enqueue(lane, 2)
      const by = await worker()
      const claims = await claimFrom(by, lane, 2)
      const [held, released] = [at(claims, 0), at(claims, 1)]

      assert.deepEqual(await store.dispatch.orphans(by, [held.token]), [])

      assert.equal((await view(released.notificationId)).status, 'queued')
      assert.equal((await view(held.notificationId)).status, 'sending')
    },
  )

  rule('a row is an orphan unless the worker knows its present token; an earlier one does not count', async (bench) => {
    const { store, lane, enqueue, worker, claim } = bench
    const [target, by] = [await lane(), await worker()]
    const id = only(await enqueue(target))
    const first = only(await claim(by, target))
    await store.dispatch.release(by, [first])
    await claim(by, target)

    assert.deepEqual(await store.dispatch.orphans(by, [first.token]), [])

    assert.equal((await bench.view(id)).status, 'queued')
  })

  rule('what was taken over is reported under its new token alone, whoever reports it', async (bench) => {
    const { store, lane, enqueue, worker, claim } = bench
    const [target, gone, rescuer] = [await lane(), await worker(), await worker()]
    const id = only(await enqueue(target))
    const before = only(await claim(gone, target))
    await store.workers.remove(gone)
    const taken = only(await store.workers.takeOver(rescuer, FAR_MS, 10))

    const stale = await store.dispatch.complete(rescuer, [completion(before, 'sent')])
    await store.dispatch.release(rescuer, [before])
    const held = (await bench.view(id)).status
    const present = await store.dispatch.complete(rescuer, [completion(taken, 'parked')])

    assert.notEqual(taken.token, before.token)
    assert.deepEqual([stale.fenced, held, present.fenced], [[id], 'sending', []])
    assert.equal((await bench.view(id)).status, 'parked')
  })

  rule('finds no orphans where a worker knows all that it holds', async (bench) => {
    const { store, worker, view } = bench
    const { by, claim } = await claimed(bench)

    assert.deepEqual(await store.dispatch.orphans(by, [claim.token]), [])
    assert.deepEqual(
      await store.dispatch.orphans(await worker(), []),
      [],
      'what another holds is no concern of this one',
    )

    assert.equal((await view(claim.notificationId)).status, 'sending')
    assert.deepEqual((await store.dispatch.complete(by, [completion(claim, 'sent')])).fenced, [])
  })

  rule('a take-over whose answer was lost is answered again, under a new token', async (bench) => {
    const { store, worker, view } = bench
    const { by, claim } = await claimed(bench)
    await store.workers.remove(by)
    const rescuer = await worker()
    const lost = only(await store.workers.takeOver(rescuer, FAR_MS, 10))

    const again = only(await store.dispatch.orphans(rescuer, []))

    const { token, claimedAt: _, ...rest } = again
    const { token: lostToken, claimedAt: __, ...expected } = lost
    assert.deepEqual(rest, expected)
    assert.ok(![claim.token, lostToken].includes(token))
    assert.equal((await view(claim.notificationId)).status, 'sending', 'its call may have been made')
    assert.deepEqual((await store.dispatch.complete(rescuer, [completion(lost, 'sent')])).fenced, [lost.notificationId])
    assert.deepEqual((await store.dispatch.complete(rescuer, [completion(again, 'uncertain')])).fenced, [])
  })

  rule('a claim that was settled is in doubt no longer: its next claim can be released', async (bench) => {
    const { store, worker, claim: claimFrom, view } = bench
    const { by, lane } = await claimed(bench)
    await store.workers.remove(by)
    const rescuer = await worker()
    const taken = only(await store.workers.takeOver(rescuer, FAR_MS, 10))
    await store.dispatch.complete(rescuer, [completion(taken, 'retrying', { outcome: 'unknown', delayMs: 0 })])

    await store.dispatch.release(rescuer, await claimFrom(rescuer, lane))

    assert.equal((await view(taken.notificationId)).status, 'retrying')
    assert.equal(only(await claimFrom(rescuer, lane)).attempt, 2)
  })
}

function stopRules(rule: Rule): void {
  rule('what waits past its expiry is cancelled on record, whatever it waits for, and nothing else', async (bench) => {
    const { store, lane, enqueue, claim, worker, view, advance } = bench
    const [held, retried] = [await lane(), await lane()]
    const workerId = await worker()
    const expiresAt = (await store.now()) + 5
    const early = await enqueue(held, 2, { expiresAt: expiresAt - 5_000 })
    assert.equal(await store.dispatch.expire(10), 2, 'the first look is at all that waits')
    await store.lanes.hold(held.id, FAR_MS, 'paused')
    const waiting = await enqueue(held, 2, { expiresAt })
    const later = await enqueue(held, 1, { expiresAt: expiresAt + FAR_MS })
    const [again, sending] = await enqueue(retried, 2, { expiresAt })
    const claims = await claim(workerId, retried, 2)
    const first = claims.find(({ notificationId }) => notificationId === again) ?? assert.fail()
    await store.dispatch.complete(workerId, [completion(first, 'retrying', { delayMs: FAR_MS })])
    await advance(20)

    assert.equal(await store.dispatch.expire(2), 2)
    assert.equal(await store.dispatch.expire(2), 1)
    assert.equal(await store.dispatch.expire(2), 0)

    for (const id of [...early, ...waiting, again ?? '']) {
      const { status, reason, lastError } = await view(id)
      assert.deepEqual([status, reason, lastError], ['cancelled', 'expired', 'not sent before its expiry'])
    }
    const { actor, action, from, to, reason } = only((await store.notifications.audit(waiting[0] ?? '')).slice(-1))
    assert.deepEqual([actor, action, from, to, reason], ['system', 'cancel', 'queued', 'cancelled', 'expired'])
    assert.equal((await view(only(later))).status, 'queued')
    assert.equal((await view(sending ?? '')).status, 'sending', 'a call under way is its worker’s')
  })

  rule('stopping a lane parks what waits on it, at most the limit at a time', async (bench) => {
    const { store, lane: newLane, enqueue, worker, claim: claimFrom, view } = bench
    const [lane, other] = [await newLane(), await newLane()]
    await enqueue(lane, 2)
    const by = await worker()
    const claims = await claimFrom(by, lane, 2)
    const [sending, retrying] = [at(claims, 0).notificationId, at(claims, 1).notificationId]
    await store.dispatch.complete(by, [completion(at(claims, 1), 'retrying')])
    const waiting = [
      retrying,
      ...(await enqueue(lane, 3)),
      ...(await enqueue(lane, 1, { dueAt: (await store.now()) + FAR_MS })),
    ]
    const untouched = only(await enqueue(other))
    const stop = (limit: number): Promise<number> =>
      store.dispatch.stopLane(lane.id, 'channel_suspended', 'the account was suspended', 'key:ada', limit)

    const stopped = [await stop(3), await stop(3), await stop(3)]

    assert.deepEqual(stopped, [3, 2, 0])
    for (const id of waiting) {
      const row = await view(id)
      assert.deepEqual(
        [row.status, row.reason, row.lastError],
        ['parked', 'channel_suspended', 'the account was suspended'],
      )
      const last = (await store.notifications.audit(id)).at(-1)
      assert.deepEqual([last?.actor, last?.to, last?.reason], ['key:ada', 'parked', 'channel_suspended'])
    }
    assert.equal((await view(sending)).status, 'sending', 'a call that is under way is not stopped')
    assert.equal((await view(untouched)).status, 'queued')
  })

  rule('what a stopped lane parked can be retried, and keeps its attempts', async (bench) => {
    const { store, worker, claim: claimFrom } = bench
    const { by, claim, lane } = await claimed(bench)
    await store.dispatch.complete(by, [completion(claim, 'retrying', { possibleDuplicate: true })])
    await store.dispatch.stopLane(lane.id, 'channel_suspended', 'suspended', 'key:ada', 10)

    await store.notifications.act({
      tenantId: lane.tenantId,
      id: claim.notificationId,
      action: 'retry',
      actor: 'key:ada',
    })

    const again = only(await claimFrom(await worker(), lane))
    assert.deepEqual([again.attempt, again.spent, again.possibleDuplicate], [2, 0, true])
  })
}

/** One notification on a lane of its own, claimed by a worker of its own. */
async function claimed(bench: Bench): Promise<{ by: string; claim: Claim; lane: Lane }> {
  const lane = await bench.lane()
  await bench.enqueue(lane)
  const by = await bench.worker()
  return { by, claim: only(await bench.claim(by, lane)), lane }
}

function tokensOf(claims: readonly Claim[]): number[] {
  return claims.map(({ token }) => token)
}

async function dueIds({ store }: Bench): Promise<string[]> {
  return (await store.dispatch.dueLanes(null, 100)).map(({ accountId }) => accountId)
}

/** Where each recorded step after the first claim led to; the steps into and out of a claim are not of interest here. */
function transitions(audit: readonly AuditView[]): (string | null)[] {
  return audit
    .filter(({ action, from, to }) => action !== 'attempt' && from !== null && to !== null && to !== 'sending')
    .map(({ to }) => to)
}

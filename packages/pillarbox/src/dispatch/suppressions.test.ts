import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock, START } from '../../../../test/support/manual-clock.ts'
import {
  recordingLogger,
  sampleAccount,
  sampleClaim,
  sampleNotification,
  silent,
} from '../../../../test/support/samples.ts'
import type { SendRequest } from '../channels/channel.ts'
import { CHANNELS } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Outcome } from '../model/outcome.ts'
import type { Suppression } from '../model/suppression.ts'
import { createIdSource } from '../runtime/ids.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { attempt } from './attempt.ts'
import { createDeadline } from './deadline.ts'
import type { Claim } from './dispatch-store.ts'
import type { ListTargets } from './list-targets.ts'
import type { SuppressionStore } from './suppression-store.ts'
import { createSuppressionBook } from './suppressions.ts'

const MAX_AGE_MS = 1_000
/** One that a store takes for an id. */
const NOTIFICATION_ID = '019b76da-a800-7000-8000-000000000001'
const AWAY = new PillarboxError('store_unavailable', 'The store is away')

/** A book over a real store that counts what it is asked, and fails on demand. */
async function setup(t: TestContext) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const ids = createIdSource(clock, () => 0.5)
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const asked: (readonly string[])[] = []
  const state = { looks: 0, failure: null as Error | null }
  const failing = async (): Promise<void> => {
    if (state.failure) throw state.failure
  }
  const suppressions: Pick<SuppressionStore, 'insert' | 'any' | 'among'> = {
    async any(...request) {
      state.looks += 1
      await failing()
      return store.suppressions.any(...request)
    },
    async among(tenantId, channel, addresses) {
      asked.push(addresses)
      await failing()
      return store.suppressions.among(tenantId, channel, addresses)
    },
    async insert(suppression) {
      await failing()
      return store.suppressions.insert(suppression)
    },
  }
  const book = createSuppressionBook({ suppressions, clock, ids, logger, maxAgeMs: MAX_AGE_MS })
  /** As an operator, or another process, does it. */
  const suppress = async (changes: Partial<Suppression> = {}): Promise<string> => {
    const id = ids()
    const made = {
      id,
      tenantId: 'acme',
      channel: 'sms',
      address: '+15550100',
      cause: 'operator',
      error: null,
      notificationId: null,
      createdBy: 'key:ada',
      ...changes,
    } as const
    assert.ok(await store.suppressions.insert(made))
    return id
  }
  const sift = (to: Claim['to'] = { phone: '+15550100' }, changes: Partial<Claim> = {}) =>
    book.sift(sampleClaim({ to, ...changes }), null)
  return { clock, logger, store, state, asked, book, suppress, sift }
}

const isSuppressed = (sifted: object): boolean => 'reason' in sifted && sifted.reason === 'suppressed'

describe('the suppression book', () => {
  it('asks a tenant without suppressions about nobody, and only now and then whether there are any', async (t) => {
    const { sift, state, asked, clock } = await setup(t)

    await Promise.all(Array.from({ length: 50 }, () => sift()))
    await clock.advance(MAX_AGE_MS - 1)
    assert.deepEqual(await sift(), { targets: null })
    assert.equal(state.looks, 1)

    await clock.advance(1)
    await Promise.all([sift(), sift()])
    assert.equal(state.looks, 2)
    assert.deepEqual(asked, [])
  })

  it('puts what is asked in one turn as one question', async (t) => {
    const { sift, suppress, asked } = await setup(t)
    await suppress()
    const phones = ['+15550100', '+15550101', '+15550100', '+15550102']

    const first = await Promise.all(phones.map((phone) => sift({ phone })))
    const second = await Promise.all(phones.map((phone) => sift({ phone })))

    for (const answers of [first, second]) assert.deepEqual(answers.map(isSuppressed), [true, false, true, false])
    const distinct = ['+15550100', '+15550101', '+15550102']
    assert.deepEqual(asked, [distinct, distinct])
  })

  it('keeps tenants and channels apart', async (t) => {
    const { sift, suppress } = await setup(t)
    await suppress()

    assert.equal(isSuppressed(await sift()), true)
    assert.equal(isSuppressed(await sift({ phone: '+15550100' }, { channel: 'whatsapp' })), false)
    assert.equal(isSuppressed(await sift({ phone: '+15550100' }, { tenantId: 'other' })), false)
  })

  it('says what to do about it, and not the address', async (t) => {
    const { sift, suppress } = await setup(t)
    const id = await suppress({ cause: 'complained' })

    const sifted = await sift()

    assert.ok('error' in sifted)
    assert.equal(
      sifted.error,
      `the address is suppressed (complained, since ${new Date(START).toISOString()}): lift suppression ${id} with DELETE /api/suppressions/${id}, then retry`,
    )
  })

  it('learns of a first suppression within the age of what it knows, and of later ones and of liftings at once', async (t) => {
    const { sift, suppress, store, clock } = await setup(t)
    assert.equal(isSuppressed(await sift()), false)
    const id = await suppress()

    await clock.advance(MAX_AGE_MS)
    assert.equal(isSuppressed(await sift()), true)

    await suppress({ address: '+15550101' })
    assert.equal(isSuppressed(await sift({ phone: '+15550101' })), true)
    await store.suppressions.remove('acme', id, 'key:ada')
    assert.equal(isSuppressed(await sift()), false)
  })

  it('takes an email for the same in either case', async (t) => {
    const { sift, suppress } = await setup(t)
    await suppress({ channel: 'email', address: 'Ada@example.com' })

    assert.equal(isSuppressed(await sift({ email: 'aDA@example.com' }, { channel: 'email' })), true)
  })

  it('leaves members of a list out, and stops it when nobody is left', async (t) => {
    const { book, suppress } = await setup(t)
    for (const address of ['a@example.com', 'c@example.com']) await suppress({ channel: 'email', address })
    const claim = sampleClaim({ channel: 'email', to: { list: 'ops' } })

    assert.deepEqual(await book.sift(claim, ['A@example.com', 'b@example.com', 'c@example.com']), {
      targets: ['b@example.com'],
    })
    const nobody = await book.sift(claim, ['a@example.com', 'c@example.com'])
    assert.ok('error' in nobody && nobody.reason === 'suppressed')
    assert.match(nobody.error, /every address of the recipient list \(2\) is suppressed/)
  })

  it('lets pass what has no address of its own', async (t) => {
    const { book, suppress, state } = await setup(t)
    await suppress({ channel: 'webhook', address: '' })

    assert.deepEqual(await book.sift(sampleClaim({ channel: 'webhook', to: {} }), null), { targets: null })
    assert.equal(state.looks, 0)
  })

  it('remembers a dead address at once, with what the provider said', async (t) => {
    const { book, sift, store } = await setup(t)
    assert.equal(isSuppressed(await sift()), false)
    const notificationId = NOTIFICATION_ID

    await book.remember(sampleClaim({ notificationId }), 'no such number')

    assert.equal(isSuppressed(await sift()), true)
    const [{ id: _id, ...rest } = assert.fail()] = (await store.suppressions.list('acme', {}, { limit: 10 })).items
    assert.deepEqual(rest, {
      tenantId: 'acme',
      channel: 'sms',
      address: '+15550100',
      cause: 'dead_address',
      error: 'no such number',
      notificationId,
      createdBy: 'system',
      createdAt: START,
    })
  })

  it('does not let a look that began before deny what was remembered meanwhile', async (t) => {
    const { book, store, clock, logger } = await setup(t)
    let answer = (_hasAny: boolean): void => assert.fail('was not asked')
    const slow = createSuppressionBook({
      suppressions: { ...store.suppressions, any: () => new Promise((resolve) => (answer = resolve)) },
      clock,
      ids: createIdSource(clock, () => 0.25),
      logger,
      maxAgeMs: MAX_AGE_MS,
    })
    const looking = slow.sift(sampleClaim(), null)
    await slow.remember(sampleClaim(), 'gone')

    answer(false)

    assert.equal(isSuppressed(await looking), true)
    assert.equal(isSuppressed(await book.sift(sampleClaim(), null)), true)
  })

  it('goes by what it knew while the store is away, and says so where it knows nothing', async (t) => {
    const { sift, state, clock } = await setup(t)
    await sift()
    state.failure = AWAY
    await clock.advance(MAX_AGE_MS)

    assert.deepEqual(await sift(), { targets: null })
    await assert.rejects(sift({ email: 'a@example.com' }, { channel: 'email' }), AWAY)
  })

  it('waits for a store that is away before it lets the result be written', async (t) => {
    const { book, sift, state, clock } = await setup(t)
    state.failure = AWAY
    let isOver = false

    const remembering = book.remember(sampleClaim(), 'gone').then(() => (isOver = true))
    await clock.advance(5_000)
    assert.equal(isOver, false)
    state.failure = null
    await clock.advance(1_000)
    await remembering

    assert.equal(isSuppressed(await sift()), true)
  })

  it('logs what cannot be remembered for another reason, and goes on', async (t) => {
    const { book, state, logger } = await setup(t)
    state.failure = new Error('broken')

    await book.remember(sampleClaim(), 'gone')

    assert.deepEqual(
      logger.lines.map(({ level, message }) => [level, message]),
      [['error', 'a dead address could not be remembered']],
    )
  })
})

describe('an attempt at a suppressed address', () => {
  const NEXT = sampleNotification({ id: 'notification-2', channel: 'email' })
  const DEAD: Outcome = {
    kind: 'permanent',
    code: '404',
    error: 'token=hush is gone',
    reason: 'invalid_recipient',
    isDead: true,
  }

  async function attempts(t: TestContext, answer: Outcome = { kind: 'accepted', providerMessageId: 'm1' }) {
    const given = await setup(t)
    const { clock, book } = given
    const sent: SendRequest[] = []
    const seen: Outcome[] = []
    const run = (
      changes: Partial<Claim> = {},
      { settings = {}, list }: { settings?: Record<string, unknown>; list?: ListTargets } = {},
    ) =>
      attempt(
        {
          registry: () => ({
            name: 'vendor',
            channels: CHANNELS,
            capability: () => 'none',
            send: async (request) => {
              sent.push(request)
              return answer
            },
          }),
          clock,
          logger: silent,
          random: () => 0.5,
          mayStart: () => true,
          holdMs: () => 1_000,
          saw: async (_account, outcome) => void seen.push(outcome),
          isBreakerOpen: () => false,
          earlierCalls: async () => [],
          standIn: () => assert.fail('no other account is looked for'),
          fallBack: async (claim) => (claim.fallback.length > 0 ? NEXT : null),
          scrub: (text) => text.replaceAll('hush', '…'),
          openContent: () => assert.fail('nothing is sealed here'),
          listTargets: async () => list ?? assert.fail('no list is addressed'),
          suppressions: book,
        },
        sampleClaim(changes),
        sampleAccount({ settings }),
        createDeadline(clock, { callTimeoutMs: 1_000, callGraceMs: 0 }, new AbortController().signal),
      )
    return { ...given, run, sent, seen }
  }

  it('makes no call and parks it, no attempt spent', async (t) => {
    const { run, suppress, sent, seen } = await attempts(t)
    const id = await suppress()

    const completion = await run({ attempt: 2, spent: 1 })

    assert.deepEqual([sent, seen], [[], []])
    assert.equal(completion?.to, 'parked')
    assert.equal(completion?.reason, 'suppressed')
    assert.equal(completion?.outcome, null)
    assert.equal(completion?.spent, 1)
    assert.match(completion?.error ?? '', new RegExp(`DELETE /api/suppressions/${id}, then retry$`))
  })

  it('is made where somebody said so by hand', async (t) => {
    const { run, suppress, sent } = await attempts(t)
    await suppress()

    const completion = await run({ overridesSuppression: true })

    assert.deepEqual([completion?.to, sent.length], ['sent', 1])
  })

  it('falls back, unless an earlier call may have arrived', async (t) => {
    const { run, suppress } = await attempts(t)
    await suppress()

    const first = await run({ fallback: ['email'] })
    const flagged = await run({ fallback: ['email'], possibleDuplicate: true })

    assert.deepEqual([first?.to, first?.reason, first?.next], ['failed', 'fallback_triggered:email', NEXT])
    assert.deepEqual([flagged?.to, flagged?.reason, flagged?.next], ['parked', 'suppressed', null])
    assert.equal(flagged?.possibleDuplicate, true)
  })

  it('leaves it at that where an undeliverable address needs nobody to look', async (t) => {
    const { run, suppress } = await attempts(t)
    await suppress()

    for (const completion of [
      await run({}, { settings: { onUndeliverable: 'fail' } }),
      await run({ policy: { retry: null, onUndeliverable: 'fail' } }),
    ])
      assert.deepEqual([completion?.to, completion?.reason], ['failed', 'suppressed'])
  })

  it('is what a dead address comes to the next time, its words scrubbed', async (t) => {
    const { run, sent, store } = await attempts(t, DEAD)
    const notificationId = NOTIFICATION_ID

    const first = await run({ notificationId })
    const second = await run()

    assert.deepEqual([first?.reason, second?.reason, sent.length], ['invalid_recipient', 'suppressed', 1])
    const [kept] = (await store.suppressions.list('acme', {}, { limit: 10 })).items
    assert.deepEqual([kept?.error, kept?.notificationId], ['token=… is gone', notificationId])
  })

  it('does not come of a refusal that says nothing of the address, nor of a call to a list', async (t) => {
    const { run, store } = await attempts(t, DEAD)
    const { isDead: _isDead, ...unreachable } = DEAD
    const other = await attempts(t, unreachable)

    await run({ channel: 'email', to: { list: 'ops' } }, { list: { targets: ['a@example.com'] } })
    await other.run()

    for (const each of [store, other.store])
      assert.deepEqual((await each.suppressions.list('acme', {}, { limit: 10 })).items, [])
  })

  it('sends to the others on a list, and says to whom', async (t) => {
    const { run, suppress, sent } = await attempts(t)
    await suppress({ channel: 'email', address: 'a@example.com' })
    const list = { targets: ['a@example.com', 'b@example.com'] }

    const completion = await run({ channel: 'email', to: { list: 'ops' } }, { list })

    assert.deepEqual(sent[0]?.to.bcc, ['b@example.com'])
    assert.deepEqual([completion?.to, completion?.resolvedTargets], ['sent', ['b@example.com']])
  })

  it('is tried again later when nobody can say whether it is one, which is not the provider’s fault', async (t) => {
    const { run, state, sent, seen } = await attempts(t)
    state.failure = AWAY

    const completion = await run()

    assert.deepEqual([sent, seen], [[], []])
    assert.deepEqual([completion?.to, completion?.outcome], ['retrying', 'transient'])
    assert.match(completion?.error ?? '', /the suppression list could not be read/)
  })
})

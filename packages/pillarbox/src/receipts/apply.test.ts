import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  awsSmsEvent,
  eventGridCallback,
  interaktCallback,
  metaCallback,
  msg91Report,
  sesEvent,
  snsDelivery,
  snsMessage,
  type VendorCallback,
} from '@pillarbox/vendors'
import { ENGINES } from '../../../../test/support/engines.ts'
import { createManualClock, type ManualClock, START } from '../../../../test/support/manual-clock.ts'
import { closedOutbound } from '../../../../test/support/providers.ts'
import {
  recordingLogger,
  recordingMeters,
  sampleCompletion,
  sampleNotification,
  silent,
  storedAccount,
} from '../../../../test/support/samples.ts'
import type { Claim, Completion } from '../dispatch/dispatch-store.ts'
import { createSuppressionBook } from '../dispatch/suppressions.ts'
import type { StoredCallback } from '../model/callback.ts'
import type { Channel } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import type { NewNotification, NotificationView } from '../model/notification.ts'
import { noTracing } from '../model/ports.ts'
import { createContextBook } from '../plan/context-book.ts'
import { createEventBook } from '../plan/event-book.ts'
import { nextInChain } from '../plan/next-in-chain.ts'
import { createSkipReport } from '../plan/skip-report.ts'
import { createHub, type Hub } from '../runtime/hub.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock } from '../runtime/system.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import type { Store } from '../store/store.ts'
import { createAccountBook } from '../tenant/account-book.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { createReceiptApplier, type ReceiptApplier, type ReceiptApplierDeps } from './apply.ts'
import { createReceiptSources } from './sources.ts'

const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
const PHONE = '+919876543210'
const DAY_MS = 86_400_000
const at = START

interface Sent {
  id: string
  accountId: string
  messageId: string
}

interface Bench {
  clock: ManualClock
  store: Store
  hub: Hub
  logger: ReturnType<typeof recordingLogger>
  meters: ReturnType<typeof recordingMeters>
  applier: ReceiptApplier
  /** Another process over the same store, or over what the test makes of it. */
  another(changes?: Partial<ReceiptApplierDeps>): ReceiptApplier
  account(channel: Channel, provider: string, settings?: Record<string, unknown>): Promise<string>
  /** A notification whose call is under way. */
  claimed(provider: string, changes?: Partial<NewNotification>): Promise<{ claim: Claim; accountId: string }>
  complete(claim: Claim, provider: string, changes?: Partial<Completion>): Promise<void>
  /** A notification that the provider accepted. */
  sent(provider: string, changes?: Partial<NewNotification>, result?: Partial<Completion>): Promise<Sent>
  /** Keeps a callback that speaks for these accounts. */
  arrive(source: string, callback: VendorCallback, accountIds: readonly string[]): Promise<void>
  view(id: string): Promise<NotificationView>
  /** The newest callback. */
  callback(): Promise<StoredCallback>
  suppressed(): Promise<string[]>
}

const CHANNEL_OF: Record<string, Channel> = {
  meta: 'whatsapp',
  interakt: 'whatsapp',
  msg91: 'sms',
  sns: 'sms',
  'aws-sms': 'sms',
  ses: 'email',
  acs: 'email',
}

async function setup(t: TestContext, engine: Store['engine'] = 'sqlite'): Promise<Bench> {
  const manual = createManualClock()
  const clock: ManualClock = engine === 'sqlite' ? manual : { ...manual, ...systemClock }
  const logger = recordingLogger()
  const ids = createIdSource(clock, () => 0.5)
  const open = ENGINES.find((one) => one.engine === engine)?.open ?? assert.fail()
  const store = await open({ clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const worker = ids()
  await store.workers.register({ id: worker, host: 'host', pid: 1, version: '1', channels: null })
  const meters = recordingMeters()
  const hub = createHub(clock, store.wake)
  const sealing = createPayloadSeal(Buffer.alloc(32, 7))
  const snapshots = createTenantSnapshots(store, clock, 1_000)
  const events = createEventBook({
    store,
    contexts: createContextBook(store, snapshots),
    sealing,
    resolve: null,
    clock,
  })
  const suppressions = createSuppressionBook({ suppressions: store.suppressions, clock, ids, logger, maxAgeMs: 1_000 })
  const chain = { store, events, suppressions, untrusted: createUntrustedInProcess(), sealing, clock, ids }
  const deps: ReceiptApplierDeps = {
    store,
    sources: createReceiptSources({ outbound: closedOutbound().outbound, clock, certHosts: [] }),
    accounts: createAccountBook({
      accounts: store.accounts,
      lanes: store.lanes,
      snapshots,
      registry: () => null,
      openSecrets: () => ({}),
      clock,
      logger,
      maxAgeMs: 1_000,
    }),
    fallBack: ({ tenantId, id, fallback }) => nextInChain(chain, { tenantId, notificationId: id }, fallback),
    hub,
    skips: createSkipReport({ logger, meters }),
    clock,
    random: () => 0.5,
    ids,
    logger,
    meters,
    tracing: noTracing,
    settings: { pollMaxMs: 200, leaseMs: 120_000 },
  }
  let accounts = 0
  const bench: Bench = {
    clock,
    store,
    hub,
    logger,
    meters,
    applier: createReceiptApplier(deps),
    another: (changes = {}) => createReceiptApplier({ ...deps, ...changes }),
    async account(channel, provider, settings = {}) {
      const id = ids()
      const name = `account-${++accounts}`
      assert.ok(await store.accounts.insert(storedAccount({ id, channel, provider, name, settings })))
      return id
    },
    async claimed(provider, changes = {}) {
      const channel = CHANNEL_OF[provider] ?? assert.fail()
      const accountId = changes.accountId ?? (await bench.account(channel, provider))
      const to = { phone: PHONE, email: ADA }
      const id = ids()
      const given = { id, idempotencyKey: id, channel, provider, to, ...changes, accountId }
      await store.notifications.insert([sampleNotification(given)])
      const answer = await store.dispatch.claim(worker, [{ accountId, limit: 1 }])
      const claim = answer.fenced ? undefined : answer.claims[0]
      assert.ok(claim)
      return { claim, accountId }
    },
    async complete(claim, provider, changes = {}) {
      const { notificationId, accountId, token, attempt } = claim
      const providerMessageId = `message-${notificationId}`
      const given = { notificationId, accountId, token, attempt, provider, providerMessageId, ...changes }
      await store.dispatch.complete(worker, [sampleCompletion(given)])
    },
    async sent(provider, changes = {}, result = {}) {
      const { claim, accountId } = await bench.claimed(provider, changes)
      await bench.complete(claim, provider, result)
      return { id: claim.notificationId, accountId, messageId: `message-${claim.notificationId}` }
    },
    async arrive(source, { body = '', headers }, accountIds) {
      assert.ok(await store.receipts.keep({ source, tenantId: 'acme', accountIds, headers, body: Buffer.from(body) }))
    },
    async view(id) {
      return (await store.notifications.find('acme', id)) ?? assert.fail()
    },
    async callback() {
      return (await store.receipts.callbacks({}, { limit: 1 })).items[0] ?? assert.fail()
    },
    async suppressed() {
      const { items } = await store.suppressions.list('acme', {}, { limit: 10 })
      return items.map(({ cause, channel, address }) => `${cause} ${channel} ${address}`).sort()
    },
  }
  return bench
}

const sns = (message: unknown) =>
  snsMessage({ certificateUrl: 'https://sns.us-east-1.amazonaws.com/x.pem', topicArn: 'arn', at, message })

function meta({ id, messageId }: Sent, status: 'sent' | 'delivered' | 'read' | 'failed', errorCode?: number) {
  const report = { id: messageId, status, at, callbackData: id, ...(errorCode === undefined ? {} : { errorCode }) }
  return metaCallback('secret', [report])
}

function ses(
  { messageId }: Sent,
  type: Parameters<typeof sesEvent>[0],
  event: Partial<Parameters<typeof sesEvent>[1]>,
) {
  return sns(sesEvent(type, { messageId, recipients: [ADA], at, form: 'notification', ...event }))
}

/** A delivery as each vendor tells it, in every form there is. */
const DELIVERIES: [name: string, source: string, provider: string, callback: (sent: Sent) => VendorCallback][] = [
  ['meta', 'meta', 'meta', (sent) => meta(sent, 'delivered')],
  [
    'meta, by the message’s id alone',
    'meta',
    'meta',
    ({ messageId }) => metaCallback('secret', [{ id: messageId, status: 'delivered', at }]),
  ],
  [
    'interakt',
    'interakt',
    'interakt',
    ({ id, messageId }) => interaktCallback({ id: messageId, type: 'message_api_delivered', at, callbackData: id }),
  ],
  ...(['v2', 'v3', 'v4', 'new'] as const).map((shape): (typeof DELIVERIES)[number] => [
    `msg91 ${shape}`,
    'msg91',
    'msg91',
    ({ id, messageId }) =>
      msg91Report(shape, { requestId: messageId, number: PHONE.slice(1), status: 1, at, crqid: id }),
  ]),
  ...(['event-grid', 'cloud-events'] as const).map((schema): (typeof DELIVERIES)[number] => [
    `acs ${schema}`,
    'acs',
    'acs',
    ({ id }) => eventGridCallback([{ messageId: id, recipient: ADA, status: 'Delivered', at }], schema),
  ]),
  [
    'ses, of a configuration set',
    'ses',
    'ses',
    (sent) => ses({ ...sent, messageId: 'unknown' }, 'Delivery', { form: 'event', tags: { notificationId: sent.id } }),
  ],
  ['ses, of an identity', 'ses', 'ses', (sent) => ses(sent, 'Delivery', {})],
  [
    'aws-sms',
    'sns-sms',
    'aws-sms',
    ({ id, messageId }) =>
      sns(awsSmsEvent('TEXT_DELIVERED', { messageId, phone: PHONE, at, context: { notificationId: id } })),
  ],
  [
    'aws-sms, by the message’s id alone',
    'sns-sms',
    'aws-sms',
    ({ messageId }) => sns(awsSmsEvent('TEXT_DELIVERED', { messageId, phone: PHONE, at })),
  ],
  ['sns', 'sns-sms', 'sns', ({ messageId }) => sns(snsDelivery({ messageId, phone: PHONE, at, status: 'SUCCESS' }))],
]

for (const { engine } of ENGINES)
  describe(`receipts on ${engine}`, () => {
    it('move what was sent to delivered, whoever reports it', async (t) => {
      const { sent, arrive, applier, view, callback } = await setup(t, engine)
      for (const [name, source, provider, made] of DELIVERIES) {
        const message = await sent(provider)
        await arrive(source, made(message), [message.accountId])

        assert.equal(await applier.round(), 1, name)

        assert.equal((await view(message.id)).status, 'delivered', name)
        const { status, result } = await callback()
        assert.deepEqual([status, result], ['applied', { reports: 1, matched: 1, moved: 1, unreadable: 0 }], name)
      }
      assert.equal(await applier.round(), 0)
    })

    it('let the next channel take over from what failed for good', async (t) => {
      const { sent, arrive, applier, view, account, hub } = await setup(t, engine)
      const sms = await account('sms', 'msg91')
      const message = await sent('meta', { fallback: ['sms', 'email'] })
      await arrive('meta', meta(message, 'failed', 131_026), [message.accountId])

      await applier.round()

      const failed = await view(message.id)
      assert.deepEqual([failed.status, failed.reason], ['failed', 'fallback_triggered:sms'])
      assert.match(failed.lastError ?? '', /Meta reported 131026/)
      const next = await view(failed.fallbackTo ?? '')
      assert.deepEqual(
        [next.status, next.accountId, next.fallbackOf, next.fallback, next.correlationId],
        ['queued', sms, message.id, ['email'], message.id],
      )
      assert.deepEqual(hub.takeLanes(), [sms])
    })

    it('come to the same end when several workers apply them at once, and again', async (t) => {
      const { sent, arrive, another, view, store, account, callback } = await setup(t, engine)
      await account('sms', 'msg91')
      const message = await sent('meta', { fallback: ['sms'] })
      for (const status of ['read', 'delivered', 'sent'] as const)
        await arrive('meta', meta(message, status), [message.accountId])
      const workers = [another(), another(), another()]
      const replayAll = async (): Promise<void> => {
        for (const { id } of (await store.receipts.callbacks({}, { limit: 10 })).items)
          await store.receipts.replay(id, 'key:ada')
      }

      await Promise.all(workers.map((worker) => worker.round()))
      await replayAll()
      await Promise.all(workers.map((worker) => worker.round()))

      assert.equal((await view(message.id)).status, 'read')
      assert.equal((await store.receipts.list(message.id)).length, 3)
      assert.equal((await callback()).status, 'applied')
    })
  })

describe('a callback', () => {
  it('with several reports moves each of their notifications, and keeps count', async (t) => {
    const { sent, arrive, applier, view, callback } = await setup(t)
    const [one, other] = [await sent('meta'), await sent('meta')]
    const statuses = [
      { id: one.messageId, status: 'delivered', at, callbackData: one.id },
      { id: other.messageId, status: 'read', at, callbackData: other.id },
      { id: other.messageId, status: 'delivered', at, callbackData: other.id },
      { id: 'wamid.foreign', status: 'read', at, callbackData: '01a1e348-0b10-7343-9563-2a0725c37f8e' },
    ] as const
    await arrive('meta', metaCallback('secret', statuses), [one.accountId, other.accountId])

    await applier.round()

    assert.deepEqual([(await view(one.id)).status, (await view(other.id)).status], ['delivered', 'read'])
    const { status, result } = await callback()
    assert.deepEqual([status, result], ['unmatched', { reports: 4, matched: 3, moved: 2, unreadable: 0 }])
  })

  it('in which nothing is said is over, with no reports', async (t) => {
    const { arrive, applier, callback } = await setup(t)
    await arrive('meta', { method: 'POST', headers: {}, body: '{"object":"whatsapp_business_account"}' }, ['a'])

    await applier.round()

    assert.deepEqual(
      [(await callback()).status, (await callback()).result],
      ['applied', { reports: 0, matched: 0, moved: 0, unreadable: 0 }],
    )
  })

  it('that nobody can read is over, and counted', async (t) => {
    const { arrive, applier, callback } = await setup(t)
    await arrive('meta', { method: 'POST', headers: {}, body: 'garbage' }, ['a'])

    await applier.round()

    assert.deepEqual([(await callback()).status, (await callback()).result?.unreadable], ['applied', 1])
  })

  it('that is read again keeps the count of what it once moved', async (t) => {
    const { sent, arrive, applier, callback, store } = await setup(t)
    const message = await sent('meta')
    await arrive('meta', meta(message, 'read'), [message.accountId])
    await applier.round()

    await store.receipts.replay((await callback()).id, 'key:ada')
    await applier.round()

    assert.deepEqual((await callback()).result, { reports: 1, matched: 1, moved: 1, unreadable: 0 })
  })

  it('of a source that this version does not know is left to one that does', async (t) => {
    const { arrive, applier, callback, another, logger, clock } = await setup(t)
    await arrive('later', { method: 'POST', headers: {}, body: '{}' }, ['a'])

    await applier.round()

    assert.equal((await callback()).status, 'pending')
    assert.equal(logger.lines.at(-1)?.level, 'warn')
    const newer = another({ sources: new Map([['later', { parse: () => ({ events: [], unreadable: 0 }) }]]) })
    await clock.advance(1_000)
    assert.equal(await newer.round(), 1)
    assert.equal((await callback()).status, 'applied')
  })

  it('changes nothing about a notification of an account that it does not speak for', async (t) => {
    const { store, sent, arrive, applier, view, callback, account } = await setup(t)
    const message = await sent('meta')
    await arrive('meta', meta(message, 'read'), [await account('whatsapp', 'meta')])

    await applier.round()

    assert.equal((await view(message.id)).status, 'sent')
    assert.deepEqual([(await callback()).status, (await callback()).result?.matched], ['unmatched', 0])
    assert.deepEqual(
      (await store.receipts.refused()).map(({ why, count }) => [why, count]),
      [['foreign', 1]],
    )
  })
})

describe('a report that comes too early', () => {
  it('is applied once the call it speaks of is answered, by our own reference', async (t) => {
    const { claimed, complete, arrive, applier, view, callback, clock } = await setup(t)
    const { claim, accountId } = await claimed('meta')
    const message = { id: claim.notificationId, messageId: `message-${claim.notificationId}`, accountId }
    await arrive('meta', meta(message, 'delivered'), [accountId])

    await applier.round()
    assert.deepEqual([(await callback()).status, (await callback()).result?.matched], ['pending', 1])
    await complete(claim, 'meta')
    assert.equal(await applier.round(), 0)
    await clock.advance(1_000)
    await applier.round()

    assert.equal((await view(message.id)).status, 'delivered')
    assert.deepEqual([(await callback()).status, (await callback()).result?.moved], ['applied', 1])
  })

  it('is applied once the message’s id is known, where that is all there is', async (t) => {
    const { claimed, complete, arrive, applier, view, callback, clock } = await setup(t)
    const { claim, accountId } = await claimed('ses')
    const message = { id: claim.notificationId, messageId: `message-${claim.notificationId}`, accountId }
    await arrive('ses', ses(message, 'Delivery', {}), [accountId])

    await applier.round()
    assert.deepEqual([(await callback()).status, (await callback()).result?.matched], ['pending', 0])
    await complete(claim, 'ses')
    await clock.advance(1_000)
    await applier.round()

    assert.equal((await view(message.id)).status, 'delivered')
    assert.equal((await callback()).status, 'applied')
  })

  it('is looked for after a second, then ever more rarely, and after a day no more', async (t) => {
    const { arrive, applier, callback, clock, account } = await setup(t)
    const accountId = await account('email', 'ses')
    await arrive('ses', ses({ id: '', messageId: 'of-somebody-else', accountId }, 'Delivery', {}), [accountId])
    const started = clock.now()
    const looks: number[] = []

    while ((await callback()).status === 'pending' && looks.length < 100) {
      if ((await applier.round()) > 0) looks.push(Math.round((clock.now() - started) / 1_000))
      // Finely at first, to see when exactly it looks.
      await clock.advance(clock.now() - started < 100_000 ? 500 : 60_000)
    }

    assert.deepEqual(looks.slice(0, 6), [0, 1, 3, 7, 15, 31])
    assert.ok(looks.length < 45, `${looks.length} looks`)
    const last = looks.at(-1) ?? 0
    assert.ok(last * 1_000 >= DAY_MS && last * 1_000 <= DAY_MS + 3_600_000, `${last} s`)
    assert.equal((await callback()).status, 'unmatched')
  })

  it('waits for as long as its notification is being sent, however long that is', async (t) => {
    const { claimed, complete, arrive, applier, view, clock } = await setup(t)
    const { claim, accountId } = await claimed('meta')
    const message = { id: claim.notificationId, messageId: 'm', accountId }
    await arrive('meta', meta(message, 'read'), [accountId])
    await applier.round()

    for (let hours = 0; hours < 50; hours++) {
      await clock.advance(3_600_000)
      await applier.round()
    }
    await complete(claim, 'meta')
    await clock.advance(3_600_000)
    await applier.round()

    assert.equal((await view(message.id)).status, 'read')
  })

  it('is over at once where our own reference is not ours', async (t) => {
    const { arrive, applier, callback, account } = await setup(t)
    const accountId = await account('email', 'ses')
    const foreign = { id: '018f0000-0000-7000-8000-0000000000ff', messageId: 'm', accountId }
    const tags = { notificationId: foreign.id }
    await arrive('ses', ses(foreign, 'Delivery', { form: 'event', tags }), [accountId])

    await applier.round()

    assert.equal((await callback()).status, 'unmatched')
  })
})

describe('a failure that is reported', () => {
  const failing = async (
    t: TestContext,
    errorCode: number,
    changes: Partial<NewNotification> = {},
    result: Partial<Completion> = {},
  ): Promise<NotificationView> => {
    const { sent, arrive, applier, view, account } = await setup(t)
    await account('sms', 'msg91')
    const message = await sent('meta', { fallback: ['sms'], ...changes }, result)
    await arrive('meta', meta(message, 'failed', errorCode), [message.accountId])
    await applier.round()
    return view(message.id)
  }

  it('falls back also where a call could have been tried again: the vendor has given up', async (t) => {
    for (const errorCode of [131_000, 130_429, 131_049]) {
      const { status, reason } = await failing(t, errorCode)
      assert.deepEqual([status, reason], ['failed', 'fallback_triggered:sms'], String(errorCode))
    }
  })

  it('lets the next channel take over where the template was rejected, or the account needs mending', async (t) => {
    for (const code of [132_000, 131_042]) {
      const { status, reason } = await failing(t, code)

      assert.deepEqual([status, reason], ['failed', 'fallback_triggered:sms'], String(code))
    }
  })

  it('is parked with its own reason where there is no next channel', async (t) => {
    const rejected = await failing(t, 132_000, { fallback: [] })
    const unpaid = await failing(t, 131_042, { fallback: [] })

    assert.deepEqual([rejected.status, rejected.reason], ['parked', 'template_rejected'])
    assert.deepEqual([unpaid.status, unpaid.reason], ['parked', 'auth_failed'])
  })

  it('is parked where another call may have arrived', async (t) => {
    const { status, reason } = await failing(t, 131_026, {}, { possibleDuplicate: true })

    assert.deepEqual([status, reason], ['parked', 'unreachable'])
  })

  it('is parked where the chain has come to its end, or has nobody to go on with', async (t) => {
    assert.equal((await failing(t, 131_026, { fallback: [] })).status, 'parked')
    assert.equal((await failing(t, 131_026, { fallback: ['push'] })).status, 'parked')
  })

  it('tells of the channels that a chain ends on, and counts them', async (t) => {
    const { sent, arrive, another, view, meters, logger } = await setup(t)
    const message = await sent('meta', { fallback: ['sms'] })
    const stopped = { status: 'skipped', reason: 'no_address', error: 'no address for sms' } as const
    const id = message.id.replace(/^./, 'f')
    const { tenantId } = await view(message.id)
    const skipped = [sampleNotification({ id, tenantId, channel: 'sms', accountId: null, content: null, stopped })]
    await arrive('meta', meta(message, 'failed', 131_026), [message.accountId])

    await another({ fallBack: async () => ({ skipped }) }).round()

    assert.equal((await view(id)).status, 'skipped')
    assert.deepEqual(meters.counts, {
      'notifications_settled whatsapp parked': 1,
      'notifications_stopped unreachable': 1,
      'notifications_skipped no_address': 1,
      'receipts meta failed moved': 1,
    })
    assert.ok(logger.lines.some(({ level, fields }) => level === 'warn' && fields['notificationId'] === id))
  })

  it('is parked where planning the next channel fails', async (t) => {
    const { sent, arrive, another, view, logger } = await setup(t)
    const message = await sent('meta', { fallback: ['sms'] })
    await arrive('meta', meta(message, 'failed', 131_026), [message.accountId])

    await another({ fallBack: () => Promise.reject(new Error('a broken template')) }).round()

    assert.equal((await view(message.id)).status, 'parked')
    assert.equal(logger.lines.at(-1)?.fields['error'], 'a broken template')
  })

  it('waits where nobody can make the words of the next channel now', async (t) => {
    const { sent, arrive, another, applier, view, clock } = await setup(t)
    const message = await sent('meta', { fallback: ['sms'] })
    await arrive('meta', meta(message, 'failed', 131_026), [message.accountId])
    const { status } = await view(message.id)

    const busy = () => Promise.reject(new PillarboxError('overloaded', 'no process answers'))
    await assert.rejects(another({ fallBack: busy }).round(), { code: 'overloaded' })

    assert.equal((await view(message.id)).status, status)
    await clock.advance(120_000)
    assert.equal(await applier.round(), 1)
    assert.notEqual((await view(message.id)).status, status)
  })

  it('ends a notification whose address is no good where its event type or its account says so', async (t) => {
    const { sent, arrive, applier, view, account } = await setup(t)
    const blocked = ({ id, messageId }: Sent) =>
      msg91Report('v3', { requestId: messageId, number: PHONE.slice(1), status: 17, at, crqid: id })
    const ends = async (message: Sent): Promise<unknown> => {
      await arrive('msg91', blocked(message), [message.accountId])
      await applier.round()
      const { status, reason } = await view(message.id)
      return [status, reason]
    }
    const failing = await account('sms', 'msg91', { onUndeliverable: 'fail' })

    assert.deepEqual(await ends(await sent('msg91')), ['parked', 'invalid_recipient'])
    assert.deepEqual(await ends(await sent('msg91', { accountId: failing })), ['failed', 'invalid_recipient'])
    assert.deepEqual(await ends(await sent('msg91', { policy: { onUndeliverable: 'fail' } })), [
      'failed',
      'invalid_recipient',
    ])
    assert.deepEqual(await ends(await sent('msg91', { accountId: failing, policy: { onUndeliverable: 'park' } })), [
      'parked',
      'invalid_recipient',
    ])
  })

  it('does not fall back once it was delivered, but a bounce does', async (t) => {
    const { sent, arrive, applier, view, account } = await setup(t)
    await account('sms', 'msg91')
    const message = await sent('ses', { fallback: ['sms'] })
    const then = async (callback: VendorCallback): Promise<string> => {
      await arrive('ses', callback, [message.accountId])
      await applier.round()
      return (await view(message.id)).status
    }

    assert.equal(await then(ses(message, 'Delivery', {})), 'delivered')
    assert.equal(await then(ses(message, 'Reject', {})), 'delivered')
    assert.equal(await then(ses(message, 'Bounce', { bounce: 'Transient/General' })), 'delivered')
    assert.equal(await then(ses(message, 'Bounce', { bounce: 'Permanent/General' })), 'failed')
  })
})

describe('an address', () => {
  const heard = async (t: TestContext, provider: string, source: string, made: (sent: Sent) => VendorCallback) => {
    const bench = await setup(t)
    const message = await bench.sent(provider)
    await bench.arrive(source, made(message), [message.accountId])
    await bench.applier.round()
    return { ...bench, message }
  }

  it('that bounced for good is not used again', async (t) => {
    const { suppressed, view, message } = await heard(t, 'ses', 'ses', (sent) =>
      ses(sent, 'Bounce', { bounce: 'Permanent/NoEmail', recipients: ['Ada@Example.com'] }),
    )

    assert.deepEqual(await suppressed(), [`bounced email ${ADA}`])
    assert.equal((await view(message.id)).reason, 'bounced')
  })

  it('that complained is not used again', async (t) => {
    const { suppressed } = await heard(t, 'ses', 'ses', (sent) => ses(sent, 'Complaint', {}))

    assert.deepEqual(await suppressed(), [`complained email ${ADA}`])
  })

  it('that is dead is not used again', async (t) => {
    const { suppressed } = await heard(t, 'msg91', 'msg91', ({ id, messageId }) =>
      msg91Report('v2', { requestId: messageId, number: PHONE.slice(1), status: 17, at, crqid: id }),
    )

    assert.deepEqual(await suppressed(), [`dead_address sms ${PHONE}`])
  })

  it('that was only out of reach is used again', async (t) => {
    const { suppressed } = await heard(t, 'ses', 'ses', (sent) => ses(sent, 'Bounce', { bounce: 'Transient/General' }))

    assert.deepEqual(await suppressed(), [])
  })

  it('is not banned again by a repetition, once somebody has lifted the ban', async (t) => {
    const { store, suppressed, callback, applier } = await heard(t, 'ses', 'ses', (sent) => ses(sent, 'Complaint', {}))
    const [ban] = (await store.suppressions.list('acme', {}, { limit: 1 })).items
    await store.suppressions.remove('acme', ban?.id ?? '', 'key:ada')

    await store.receipts.replay((await callback()).id, 'key:ada')
    await applier.round()

    assert.deepEqual(await suppressed(), [])
  })

  it('is banned also where the worker that merged the receipt died before it could', async (t) => {
    const { sent, arrive, another, applier, store, suppressed, clock } = await setup(t)
    const message = await sent('ses')
    await arrive('ses', ses(message, 'Complaint', {}), [message.accountId])
    const insert = () => Promise.reject(new PillarboxError('store_unavailable', 'gone'))
    const dying = another({ store: { ...store, suppressions: { ...store.suppressions, insert } } })
    await assert.rejects(dying.round(), { code: 'store_unavailable' })
    assert.deepEqual(await suppressed(), [])

    await clock.advance(120_000)
    await applier.round()

    assert.deepEqual(await suppressed(), [`complained email ${ADA}`])
  })
})

describe('a mail to a list', () => {
  const toList = { to: { list: 'crew' }, fallback: ['sms'] } satisfies Partial<NewNotification>
  const targets = { resolvedTargets: [ADA, BOB] }

  it('of which one bounced has not bounced, but that address is not used again', async (t) => {
    const { sent, arrive, applier, view, suppressed, store } = await setup(t)
    const message = await sent('ses', toList, targets)
    const bounce = { bounce: 'Permanent/NoEmail', recipients: ['BOB@example.com'], destination: [ADA, BOB] } as const
    await arrive('ses', ses(message, 'Bounce', bounce), [message.accountId])

    await applier.round()

    assert.equal((await view(message.id)).status, 'sent')
    assert.deepEqual(await suppressed(), [`bounced email ${BOB}`])
    assert.deepEqual(
      (await store.receipts.list(message.id)).map(({ kind, recipient, code }) => [kind, recipient, code]),
      [['bounced', 'BOB@example.com', 'Permanent/NoEmail']],
    )
  })

  it('is delivered once one of them has it, also where the vendor reports each alone', async (t) => {
    const { sent, arrive, applier, view, store } = await setup(t)
    const message = await sent('acs', toList, targets)
    const report = { messageId: message.id, at }
    const reports = [
      { ...report, recipient: BOB, status: 'Bounced' },
      { ...report, recipient: ADA, status: 'Delivered' },
      { ...report, recipient: ADA, status: 'view' },
    ] as const
    await arrive('acs', eventGridCallback(reports), [message.accountId])

    await applier.round()

    const { status, readAt } = await view(message.id)
    assert.deepEqual([status, readAt], ['delivered', null])
    assert.equal((await store.receipts.list(message.id)).length, 3)
  })

  it('is delivered when it is opened by who knows whom', async (t) => {
    const { sent, arrive, applier, view } = await setup(t)
    const message = await sent('ses', toList, targets)
    await arrive('ses', ses(message, 'Open', { recipients: [ADA, BOB] }), [message.accountId])

    await applier.round()

    assert.equal((await view(message.id)).status, 'delivered')
  })

  it('that the vendor refused as a whole has failed', async (t) => {
    const { sent, arrive, applier, view } = await setup(t)
    const message = await sent('ses', toList, targets)
    await arrive('ses', ses(message, 'Reject', { recipients: [ADA, BOB] }), [message.accountId])

    await applier.round()

    assert.deepEqual([(await view(message.id)).status, (await view(message.id)).reason], ['parked', 'content_rejected'])
  })

  it('with a single member is a mail to that one', async (t) => {
    const { sent, arrive, applier, view } = await setup(t)
    const message = await sent('acs', toList, { resolvedTargets: [ADA] })
    const report = { messageId: message.id, recipient: ADA, status: 'Bounced', at } as const
    await arrive('acs', eventGridCallback([report]), [message.accountId])

    await applier.round()

    assert.equal((await view(message.id)).reason, 'bounced')
  })
})

describe('trouble with one receipt', () => {
  it('stops no other, and is tried again', async (t) => {
    const { sent, arrive, another, applier, view, store, callback, logger, clock } = await setup(t)
    const [bad, good] = [await sent('meta'), await sent('meta')]
    const statuses = [bad, good].map(({ id, messageId }) => {
      return { id: messageId, status: 'read', at, callbackData: id } as const
    })
    await arrive('meta', metaCallback('secret', statuses), [bad.accountId, good.accountId])
    const merge: Store['receipts']['merge'] = (receipt) =>
      receipt.notificationId === bad.id ? Promise.reject(new Error('refused')) : store.receipts.merge(receipt)

    await another({ store: { ...store, receipts: { ...store.receipts, merge } } }).round()

    assert.deepEqual([(await view(bad.id)).status, (await view(good.id)).status], ['sent', 'read'])
    assert.equal((await callback()).status, 'pending')
    assert.equal(logger.lines.at(-1)?.fields['error'], 'refused')
    await clock.advance(1_000)
    await applier.round()
    assert.equal((await view(bad.id)).status, 'read')
    assert.deepEqual((await callback()).result, { reports: 2, matched: 2, moved: 2, unreadable: 0 })
  })

  it('of the store leaves the callback to whoever comes next', async (t) => {
    const { sent, arrive, another, applier, view, store, clock } = await setup(t)
    const message = await sent('meta')
    await arrive('meta', meta(message, 'read'), [message.accountId])
    const locate = () => Promise.reject(new PillarboxError('store_unavailable', 'gone'))

    await assert.rejects(another({ store: { ...store, receipts: { ...store.receipts, locate } } }).round())

    assert.equal(await applier.round(), 0)
    await clock.advance(120_000)
    assert.equal(await applier.round(), 1)
    assert.equal((await view(message.id)).status, 'read')
  })
})

describe('the receipt loop', () => {
  it('applies what is kept as soon as it is told, and what it is not told of soon after', async (t) => {
    const { sent, arrive, applier, view, hub, clock } = await setup(t)
    const [told, untold] = [await sent('meta'), await sent('meta')]
    const stopping = new AbortController()
    const running = applier.run(stopping.signal)
    await clock.advance(10_000)

    await arrive('meta', meta(told, 'read'), [told.accountId])
    hub.nudge('receipts')
    await clock.advance(0)
    assert.equal((await view(told.id)).status, 'read')
    await arrive('meta', meta(untold, 'read'), [untold.accountId])
    await clock.advance(300)

    assert.equal((await view(untold.id)).status, 'read')
    stopping.abort()
    await running
    assert.equal(clock.sleeping(), 0)
  })

  it('goes on when the store has been away', async (t) => {
    const { sent, arrive, another, view, store, clock, logger } = await setup(t)
    const message = await sent('meta')
    await arrive('meta', meta(message, 'read'), [message.accountId])
    let isAway = true
    const take: Store['receipts']['take'] = (...given) =>
      isAway ? Promise.reject(new PillarboxError('store_unavailable', 'gone')) : store.receipts.take(...given)
    const stopping = new AbortController()
    const running = another({ store: { ...store, receipts: { ...store.receipts, take } } }).run(stopping.signal)
    await clock.advance(1_000)
    assert.ok(logger.lines.some(({ message: line }) => line.includes('trying again')))

    isAway = false
    await clock.advance(300)

    assert.equal((await view(message.id)).status, 'read')
    stopping.abort()
    await running
  })
})

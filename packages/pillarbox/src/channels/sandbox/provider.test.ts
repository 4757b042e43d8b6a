import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it, type TestContext } from 'node:test'
import type { Account } from '../../model/account.ts'
import { CHANNELS } from '../../model/channel.ts'
import type { Clock } from '../../model/ports.ts'
import { DEFAULT_RETRY } from '../../model/retry.ts'
import type { SendRequest } from '../channel.ts'
import { MAGIC } from './faults.ts'
import { sandboxProvider } from './provider.ts'
import { FAULT_KINDS } from './settings.ts'
import { createSandboxVendor } from './vendor.ts'

const NEVER = new AbortController().signal

/** A clock whose sleepers wait until the test moves it, or until their signal aborts. */
function createClock() {
  let time = 1_000
  let sleepers: { at: number; wake: () => void }[] = []
  const clock = {
    now: () => time,
    monotonic: () => time,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted) return resolve()
        sleepers.push({ at: time + ms, wake: resolve })
        signal?.addEventListener('abort', () => resolve(), { once: true })
      }),
    async advance(ms: number): Promise<void> {
      await settle()
      time += ms
      for (const { wake } of sleepers.filter((sleeper) => sleeper.at <= time)) wake()
      sleepers = sleepers.filter((sleeper) => sleeper.at > time)
      await settle()
    },
  }
  return clock satisfies Clock
}

/** Lets everything that can go on without time go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function setup(t: TestContext, settings: Record<string, unknown> = {}, random: () => number = () => 0.5) {
  const clock = createClock()
  const vendor = createSandboxVendor({ path: ':memory:', clock })
  t.after(() => vendor.close())
  const provider = sandboxProvider(vendor, { clock, random })
  const account: Account = {
    id: 'account-1',
    tenantId: 'acme',
    channel: 'email',
    provider: 'sandbox',
    name: 'mail',
    settings,
    secrets: {},
    pace: null,
    retry: DEFAULT_RETRY,
    retryWarning: null,
    onUnknown: 'resend',
    breaker: { failures: 5, resetAfterMs: 30_000 },
    priority: 0,
    status: 'active',
    statusReason: null,
    createdAt: 0,
    updatedAt: 0,
  }
  const request = (changes: Partial<SendRequest> = {}): SendRequest => ({
    account,
    channel: 'email',
    key: 'key-1',
    notificationId: 'n-1',
    attempt: 1,
    to: { email: 'ana@example.test' },
    content: { subject: 'Paid', body: 'Thanks', data: { orderId: 7 } },
    correlationId: null,
    exchange: { answer: null, refused: null },
    locale: null,
    signal: NEVER,
    ...changes,
  })
  const recorded = (): number => vendor.count({ tenantId: 'acme' })
  return { clock, vendor, provider, account, request, recorded }
}

it('accepts on every channel', async (t) => {
  const { provider, request, vendor } = setup(t)

  for (const channel of CHANNELS) {
    const outcome = await provider.send(request({ channel, key: channel }))
    assert.equal(outcome.kind, 'accepted', channel)
  }

  assert.deepEqual(provider.channels, CHANNELS)
  assert.equal(vendor.count({ tenantId: 'acme' }), CHANNELS.length)
})

it('hands over exactly what it was given', async (t) => {
  const { provider, request, vendor } = setup(t)

  await provider.send(request({ correlationId: 'c-1', attempt: 3 }))

  const message = vendor.get('acme', 'sbx-000001')
  assert.equal(message?.correlationId, 'c-1')
  assert.equal(message?.attempt, 3)
  assert.deepEqual(message?.data, { orderId: 7 })
  assert.deepEqual([message?.subject, message?.body], ['Paid', 'Thanks'])
})

it('answers a repeated key with the same id, and records once', async (t) => {
  const { provider, request, recorded } = setup(t)

  const first = await provider.send(request())
  const second = await provider.send(request({ attempt: 2 }))

  assert.deepEqual(second, first)
  assert.equal(recorded(), 1)
})

it('tells by its settings what may be done about an unknown outcome', (t) => {
  const capability = (settings: Record<string, unknown>): string => {
    const { provider, account } = setup(t, settings)
    return provider.capability(account)
  }

  assert.equal(capability({}), 'key')
  assert.equal(capability({ honoursKeys: false }), 'none')
  assert.equal(capability({ lookup: true }), 'lookup')
  assert.equal(capability({ honoursKeys: 'nonsense' }), 'none')
})

it('looks up what became of a key', async (t) => {
  const { provider, request } = setup(t, { lookup: true })
  const before = await provider.lookup?.(request())
  await provider.send(request())

  const after = await provider.lookup?.(request())

  assert.equal(before, null)
  assert.deepEqual(after, { kind: 'accepted', providerMessageId: 'sbx-000001' })
})

it('pauses an account whose stored settings are wrong, and says what is', async (t) => {
  const { provider, request, recorded } = setup(t, { latencyMs: 'long' })

  const outcome = await provider.send(request())

  assert.equal(outcome.kind, 'unauthorized')
  assert.match('error' in outcome ? outcome.error : '', /latencyMs must be a whole number/)
  assert.equal(recorded(), 0)
})

it('takes as long as its latency', async (t) => {
  const { provider, request, clock, recorded } = setup(t, { latencyMs: 200 })

  const sent = provider.send(request())
  await clock.advance(199)
  const early = recorded()
  await clock.advance(1)

  assert.equal(early, 0)
  assert.equal((await sent).kind, 'accepted')
})

it('answers transient when it is given up before the vendor had it', async (t) => {
  const { provider, request, recorded } = setup(t, { latencyMs: 200 })
  const abort = new AbortController()

  const sent = provider.send(request({ signal: abort.signal }))
  abort.abort()

  assert.equal((await sent).kind, 'transient')
  assert.equal(recorded(), 0)
})

it('refuses what goes beyond the limit, and says how long to wait', async (t) => {
  const { provider, request, recorded } = setup(t, { limit: { perSecond: 2 } })

  const outcomes = await Promise.all(['a', 'b', 'c'].map((key) => provider.send(request({ key }))))

  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['accepted', 'accepted', 'throttled'],
  )
  assert.equal((outcomes[2] as { retryAfterMs?: number }).retryAfterMs, 1_000)
  assert.equal(recorded(), 2)
})

it('refuse: transient, nothing recorded', async (t) => {
  const { provider, request, recorded } = setup(t, { faults: [{ kind: 'refuse' }] })

  const outcome = await provider.send(request())

  assert.deepEqual([outcome.kind, 'code' in outcome && outcome.code], ['transient', 'connection_refused'])
  assert.equal(recorded(), 0)
})

it('slow: accepted after the delay', async (t) => {
  const { provider, request, clock, recorded } = setup(t, { faults: [{ kind: 'slow', delayMs: 500 }] })

  const sent = provider.send(request())
  await clock.advance(499)
  const early = recorded()
  await clock.advance(1)

  assert.equal(early, 0)
  assert.equal((await sent).kind, 'accepted')
  assert.equal(recorded(), 1)
})

it('slow: unknown when given up while the vendor has it', async (t) => {
  const { provider, request, clock } = setup(t, { faults: [{ kind: 'slow', delayMs: 500 }] })
  const abort = new AbortController()

  const sent = provider.send(request({ signal: abort.signal }))
  await clock.advance(100)
  abort.abort()

  assert.equal((await sent).kind, 'unknown')
})

it('timeout_before_accept: unknown, nothing recorded', async (t) => {
  const { provider, request, clock, recorded } = setup(t, {
    faults: [{ kind: 'timeout_before_accept', delayMs: 300 }],
  })

  const sent = provider.send(request())
  await clock.advance(300)

  const outcome = await sent
  assert.deepEqual([outcome.kind, 'code' in outcome && outcome.code], ['unknown', 'timeout'])
  assert.equal(recorded(), 0)
})

it('timeout_after_accept: recorded, then unknown once the caller gives up', async (t) => {
  const { provider, request, recorded } = setup(t, { faults: [{ kind: 'timeout_after_accept', times: 1 }] })
  const abort = new AbortController()

  const sent = provider.send(request({ signal: abort.signal }))
  await settle()
  const whileWaiting = recorded()
  abort.abort()
  const first = await sent
  const second = await provider.send(request({ attempt: 2 }))

  assert.equal(whileWaiting, 1)
  assert.equal(first.kind, 'unknown')
  assert.deepEqual(second, { kind: 'accepted', providerMessageId: 'sbx-000001' })
  assert.equal(recorded(), 1)
})

it('timeout_after_accept: a second message where keys are not honoured', async (t) => {
  const { provider, request, vendor, clock } = setup(t, {
    honoursKeys: false,
    faults: [{ kind: 'timeout_after_accept', times: 1, delayMs: 0 }],
  })
  const first = provider.send(request())
  await clock.advance(0)

  await provider.send(request({ attempt: 2 }))

  assert.equal((await first).kind, 'unknown')
  assert.equal(vendor.get('acme', 'sbx-000002')?.duplicateOf, 'sbx-000001')
})

it('rate_limited: throttled, with the wait it asks for', async (t) => {
  const { provider, request, recorded } = setup(t, { faults: [{ kind: 'rate_limited', retryAfterMs: 1_500 }] })

  const outcome = await provider.send(request())

  assert.equal(outcome.kind, 'throttled')
  assert.equal('retryAfterMs' in outcome && outcome.retryAfterMs, 1_500)
  assert.equal(recorded(), 0)
})

it('rate_limited: names no wait unless told to', async (t) => {
  const { provider, request } = setup(t, { faults: [{ kind: 'rate_limited' }] })

  assert.equal('retryAfterMs' in (await provider.send(request())), false)
})

it('server_error: transient, nothing recorded', async (t) => {
  const { provider, request, recorded } = setup(t, { faults: [{ kind: 'server_error' }] })

  const outcome = await provider.send(request())

  assert.deepEqual([outcome.kind, 'code' in outcome && outcome.code], ['transient', '503'])
  assert.equal(recorded(), 0)
})

it('permanent: refused for good with the reason, and another channel may try', async (t) => {
  const { provider, request, recorded } = setup(t, {
    faults: [
      { kind: 'permanent', to: 'a*' },
      { kind: 'permanent', reason: 'content_rejected' },
    ],
  })

  const standard = await provider.send(request())
  const chosen = await provider.send(request({ to: { email: 'bo@example.test' } }))

  assert.deepEqual([standard.kind, 'reason' in standard && standard.reason], ['permanent', 'invalid_recipient'])
  assert.equal('reason' in chosen && chosen.reason, 'content_rejected')
  assert.equal(recorded(), 0)
})

it('unauthorized: nothing recorded', async (t) => {
  const { provider, request, recorded } = setup(t, { faults: [{ kind: 'unauthorized' }] })

  assert.equal((await provider.send(request())).kind, 'unauthorized')
  assert.equal(recorded(), 0)
})

it('malformed: unknown although recorded, never a success', async (t) => {
  const { provider, request, recorded } = setup(t, { faults: [{ kind: 'malformed' }] })

  const outcome = await provider.send(request())

  assert.deepEqual([outcome.kind, 'code' in outcome && outcome.code], ['unknown', 'malformed_reply'])
  assert.equal(recorded(), 1)
})

it('lets the first fault that applies decide, and the next one when that is used up', async (t) => {
  const faults = [
    { kind: 'refuse', times: 2 },
    { kind: 'server_error', times: 1 },
  ]
  const { provider, request } = setup(t, { faults })

  const codes = []
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    const outcome = await provider.send(request({ attempt }))
    codes.push('code' in outcome ? outcome.code : outcome.kind)
  }

  assert.deepEqual(codes, ['connection_refused', 'connection_refused', '503', 'accepted'])
})

it('applies a fault to its addresses and channel only, and counts no other call', async (t) => {
  const faults = [{ kind: 'refuse', to: 'A*@example.*', channel: 'email', times: 1 }]
  const { provider, request } = setup(t, { faults })
  const kinds = []

  kinds.push((await provider.send(request({ key: 'a', to: { email: 'bo@example.test' } }))).kind)
  kinds.push((await provider.send(request({ key: 'b', channel: 'in_app', to: { userId: 'a@example.test' } }))).kind)
  kinds.push((await provider.send(request({ key: 'c' }))).kind)
  kinds.push((await provider.send(request({ key: 'd' }))).kind)

  assert.deepEqual(kinds, ['accepted', 'accepted', 'transient', 'accepted'])
})

it('applies a fault to its share of the calls', async (t) => {
  const draws = [0.1, 0.3, 0.29, 0.9]
  const { provider, request } = setup(t, { faults: [{ kind: 'refuse', ratio: 0.3 }] }, () => draws.shift() ?? 0)

  const kinds = []
  for (const key of ['a', 'b', 'c', 'd']) kinds.push((await provider.send(request({ key }))).kind)

  assert.deepEqual(kinds, ['transient', 'accepted', 'transient', 'accepted'])
})

it('goes on counting a rule whose fields come back in another order', async (t) => {
  const { provider, request, account } = setup(t, { faults: [{ kind: 'refuse', times: 1, to: '*' }] })
  await provider.send(request())
  account.settings = { faults: [{ to: '*', times: 1, kind: 'refuse' }] }

  assert.equal((await provider.send(request())).kind, 'accepted')
})

it('misbehaves for special addresses without any setting', async (t) => {
  const { provider, request, clock } = setup(t)
  const outcomes = async (email: string, phone: string): Promise<string[]> => {
    const kinds = []
    for (const attempt of [1, 2])
      for (const to of [
        { channel: 'email', to: { email } },
        { channel: 'sms', to: { phone } },
      ] as const) {
        const sent = provider.send(request({ ...to, key: email, attempt }))
        await clock.advance(3_000)
        kinds.push((await sent).kind)
      }
    return kinds
  }

  assert.deepEqual(await outcomes('ana+bounce@example.test', MAGIC.bounce.phone), Array(4).fill('permanent'))
  assert.deepEqual(await outcomes('ana+FAIL@example.test', MAGIC.fail.phone), Array(4).fill('transient'))
  assert.deepEqual(await outcomes('a+slow@example.test', MAGIC.slow.phone), Array(4).fill('accepted'))
  const flaky = await outcomes('a+flaky@example.test', MAGIC.flaky.phone)
  assert.deepEqual(flaky, ['transient', 'transient', 'accepted', 'accepted'])
  const timeout = await outcomes('a+timeout@example.test', MAGIC.timeout.phone)
  assert.deepEqual(timeout, ['unknown', 'unknown', 'accepted', 'accepted'])
  assert.deepEqual(await outcomes('a+slowly@example.test', '+12025550100'), Array(4).fill('accepted'))
})

it('answers transient when the vendor’s file cannot be used', async (t) => {
  const { account, request, clock } = setup(t)
  const vendor = createSandboxVendor({ path: ':memory:', clock })
  const provider = sandboxProvider(vendor, { clock, random: () => 0 })
  vendor.close()

  const outcome = await provider.send(request({ account }))
  const asked = await provider.lookup?.(request({ account }))

  assert.equal(outcome.kind, 'transient')
  assert.equal(asked?.kind, 'unknown')
})

it('is described by its guide: every fault and every special address', () => {
  const guide = readFileSync(new URL('../../../../../docs/guides/sandbox.md', import.meta.url), 'utf8')

  for (const [kind, { does }] of Object.entries(FAULT_KINDS))
    assert.ok(guide.includes(`| \`${kind}\` | ${does} |`), kind)
  for (const [word, { phone }] of Object.entries(MAGIC))
    assert.ok(guide.includes(`| \`+${word}\` | \`${phone}\` |`), word)
})

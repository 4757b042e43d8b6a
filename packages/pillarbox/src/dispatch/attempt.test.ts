import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock, START } from '../../../../test/support/manual-clock.ts'
import {
  noSuppressions,
  recordingLogger,
  sampleAccount,
  sampleClaim,
  sampleNotification,
} from '../../../../test/support/samples.ts'
import type { Capability, Provider, SendRequest } from '../channels/channel.ts'
import { traceHeaders } from '../channels/trace.ts'
import type { Account } from '../model/account.ts'
import { CHANNELS } from '../model/channel.ts'
import { PillarboxError } from '../model/errors.ts'
import type { AttemptView, Content, EndedChain, NewNotification } from '../model/notification.ts'
import type { Outcome } from '../model/outcome.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import { type AttemptDeps, attempt } from './attempt.ts'
import { createDeadline } from './deadline.ts'
import type { Claim } from './dispatch-store.ts'
import type { ListTargets } from './list-targets.ts'
import { settleLost } from './settle.ts'

const ACCEPTED: Outcome = { kind: 'accepted', providerMessageId: 'm1' }
const REFUSED: Outcome = {
  kind: 'permanent',
  code: '400',
  error: 'no such number',
  reason: 'invalid_recipient',
}
const NEXT = sampleNotification({ id: 'notification-2', channel: 'email' })
const CALL_MS = 1_000

interface Given {
  claim?: Partial<Claim>
  /** Null: the account is gone. */
  account?: Partial<Account> | null
  capability?: Capability | (() => Capability)
  send?: (request: SendRequest) => Promise<Outcome>
  lookup?: (request: SendRequest) => Promise<Outcome | null>
  provider?: null
  mayStart?: boolean | (() => boolean)
  isBreakerOpen?: boolean
  standIn?: () => Promise<Account | null>
  fallBack?: () => Promise<NewNotification | EndedChain | null>
  list?: () => Promise<ListTargets>
  windows?: Pick<Provider, 'keyWindowMs' | 'lookupLagMs'>
  earlierCalls?: AttemptDeps['earlierCalls']
}

const seal = createPayloadSeal(Buffer.alloc(32, 7))

function setup(given: Given = {}) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const sent: SendRequest[] = []
  const asked: SendRequest[] = []
  const seen: Outcome[] = []
  const wantedStandIn: string[] = []
  const fellBack: { claim: Claim; chain: readonly string[] }[] = []
  const { capability = 'none', send = async () => ACCEPTED, lookup } = given
  const provider: Provider = {
    name: 'vendor',
    channels: CHANNELS,
    ...given.windows,
    capability: () => (typeof capability === 'string' ? capability : capability()),
    send: (request) => {
      sent.push(request)
      return send(request)
    },
    ...(lookup && {
      lookup: (request: SendRequest) => {
        asked.push(request)
        return lookup(request)
      },
    }),
  }
  const deps: AttemptDeps = {
    registry: (_channel, name) => (name === 'vendor' && given.provider !== null ? provider : null),
    clock,
    logger,
    random: () => 0.5,
    mayStart: () => (typeof given.mayStart === 'function' ? given.mayStart() : (given.mayStart ?? true)),
    holdMs: () => 4_000,
    saw: async (_account, outcome) => void seen.push(outcome),
    isBreakerOpen: () => given.isBreakerOpen ?? false,
    earlierCalls: given.earlierCalls ?? (async () => []),
    standIn: async (account, wanted) => {
      wantedStandIn.push(`${wanted} for ${account.id}`)
      return given.standIn ? given.standIn() : null
    },
    fallBack: async (claim, chain) => {
      fellBack.push({ claim, chain })
      return given.fallBack ? given.fallBack() : NEXT
    },
    scrub: (text, secrets = []) => {
      let clean = text.replaceAll('password', '…')
      for (const secret of secrets) clean = clean.replaceAll(secret, '…')
      return clean
    },
    openContent: seal.openContent,
    listTargets: given.list ?? (() => assert.fail('no list is addressed')),
    suppressions: noSuppressions,
  }
  const claim = sampleClaim(given.claim)
  const account = given.account === null ? null : sampleAccount(given.account)
  const calls = new AbortController()
  const deadline = createDeadline(clock, { callTimeoutMs: CALL_MS, callGraceMs: 0 }, calls.signal)
  return {
    clock,
    logger,
    claim,
    sent,
    asked,
    seen,
    wantedStandIn,
    fellBack,
    run: () => attempt(deps, claim, account, deadline),
    settleLost: () => settleLost(deps, claim, account),
    calls,
  }
}

describe('an ordinary attempt', () => {
  it('is made in the trace that its notification came with', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const seen: unknown[] = []
    const send = async (request: SendRequest): Promise<Outcome> => {
      seen.push([request.traceparent, traceHeaders()])
      return { kind: 'accepted', providerMessageId: 'm1' }
    }

    await setup({ claim: { traceparent }, send }).run()
    await setup({ send }).run()

    assert.deepEqual(seen, [
      [traceparent, { traceparent }],
      [null, {}],
    ])
  })

  it('hands the provider all it needs, under a key that stays the same for every attempt', async () => {
    const { run, sent, claim } = setup({ claim: { attempt: 3, spent: 2, correlationId: 'c-1' } })

    await run()

    const [request] = sent
    assert.equal(sent.length, 1)
    assert.equal(request?.key, claim.notificationId)
    assert.equal(request?.attempt, 3)
    assert.equal(request?.correlationId, 'c-1')
    assert.equal(request?.account.id, claim.accountId)
    assert.deepEqual([request?.to, request?.content, request?.channel], [claim.to, claim.content, 'sms'])
  })

  it('reports what was accepted as sent, with the claim’s token and the time it took', async () => {
    const { run, clock, seen } = setup({
      send: async () => {
        await clock.sleep(120)
        return ACCEPTED
      },
    })

    const running = run()
    await clock.advance(120)

    assert.deepEqual(await running, {
      notificationId: 'notification-1',
      tenantId: 'acme',
      correlationId: null,
      accountId: 'account-1',
      counted: sampleClaim(),
      token: 7,
      attempt: 1,
      provider: 'vendor',
      outcome: 'accepted',
      code: null,
      error: null,
      providerMessageId: 'm1',
      resolvedTargets: null,
      answer: null,
      refused: null,
      ageMs: 120,
      durationMs: 120,
      to: 'sent',
      reason: null,
      delayMs: 0,
      moveTo: null,
      spent: 1,
      possibleDuplicate: false,
      next: null,
    })
    assert.deepEqual(seen, [ACCEPTED])
  })

  it('waits as long as its lane is held when it was throttled, and spends nothing', async () => {
    const { run } = setup({ send: async () => ({ kind: 'throttled', code: '429', error: 'slow down' }) })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.delayMs, completion?.spent], ['retrying', 4_000, 0])
  })
})

describe('what must not be sent', () => {
  it('is cancelled without a call when it has expired', async () => {
    const { run, sent, seen } = setup({ claim: { expiresAt: START, claimedAt: START } })

    const completion = await run()

    assert.equal(sent.length, 0)
    assert.equal(seen.length, 0)
    assert.deepEqual([completion?.to, completion?.reason, completion?.outcome], ['cancelled', 'expired', null])
    assert.equal(completion?.spent, 0)
  })

  it('is still sent in the last millisecond before its expiry', async () => {
    const { run, sent } = setup({ claim: { expiresAt: START + 1, claimedAt: START } })

    assert.equal((await run())?.to, 'sent')
    assert.equal(sent.length, 1)
  })

  it('is parked without a call when its account is suspended and no channel is left', async () => {
    const { run, sent, fellBack } = setup({
      account: { status: 'suspended' },
      claim: { fallback: ['email'] },
      fallBack: async () => null,
    })

    const completion = await run()

    assert.equal(sent.length, 0)
    assert.equal(fellBack.length, 1)
    assert.deepEqual([completion?.to, completion?.reason, completion?.outcome], ['parked', 'channel_suspended', null])
  })

  it('moves on to the next channel when its account is suspended', async () => {
    const { run, sent, fellBack } = setup({ account: { status: 'suspended' }, claim: { fallback: ['email', 'push'] } })

    const completion = await run()

    assert.equal(sent.length, 0)
    assert.deepEqual(fellBack[0]?.chain, ['email', 'push'])
    assert.deepEqual([completion?.to, completion?.reason], ['failed', 'fallback_triggered:email'])
    assert.equal(completion?.next, NEXT)
  })

  it('stays on its channel when its account is suspended and it may have arrived already', async () => {
    const { run, fellBack } = setup({
      account: { status: 'suspended' },
      claim: { fallback: ['email'], possibleDuplicate: true },
    })

    const completion = await run()

    assert.equal(fellBack.length, 0)
    assert.deepEqual([completion?.to, completion?.possibleDuplicate], ['parked', true])
  })

  it('is parked when its account is gone or has a provider this version does not know', async () => {
    const gone = setup({ account: null })
    const missing = setup({ account: { provider: 'telegraph' } })

    assert.equal((await gone.run())?.reason, 'no_active_channels')
    assert.equal((await missing.run())?.reason, 'provider_missing')
    assert.equal(gone.sent.length + missing.sent.length, 0)
  })

  it('goes back when its account was paused meanwhile: its rows wait for better credentials', async () => {
    const { run, sent } = setup({ account: { status: 'paused' } })

    assert.equal(await run(), null)
    assert.equal(sent.length, 0)
  })

  it('moves on to the next channel whatever keeps it from being sent, a paused account included', async () => {
    const chained = { fallback: ['email' as const] }
    for (const given of [
      { account: { status: 'paused' as const } },
      { account: null },
      { account: { provider: 'telegraph' } },
      { claim: { content: null as never } },
      {
        claim: { channel: 'email' as const, to: { list: 'ops' } },
        list: async () => ({ reason: 'list_empty' as const, error: 'x' }),
      },
    ]) {
      const { run, sent } = setup({ ...given, claim: { ...chained, ...given.claim } })

      const completion = await run()

      assert.deepEqual([completion?.to, completion?.next, sent.length], ['failed', NEXT, 0], JSON.stringify(given))
    }
  })

  it('waits for a paused account where no channel of its chain can take over, or it may have arrived', async () => {
    const paused = { account: { status: 'paused' as const } }

    for (const answer of [null, { skipped: [NEXT] }])
      assert.equal(await setup({ ...paused, claim: { fallback: ['email'] }, fallBack: async () => answer }).run(), null)
    assert.equal(await setup({ ...paused, claim: { fallback: ['email'], possibleDuplicate: true } }).run(), null)
  })

  it('is not told on another channel once it has expired', async () => {
    const { run } = setup({ claim: { fallback: ['email'], expiresAt: 5, claimedAt: 5 } })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.reason, completion?.next], ['cancelled', 'expired', null])
  })

  it('moves on to the next channel when its credentials are refused, and spends no attempt', async () => {
    const { run } = setup({
      send: async () => ({ kind: 'unauthorized', code: '190', error: 'revoked' }),
      claim: { fallback: ['email'] },
    })

    const completion = await run()

    assert.deepEqual(
      [completion?.to, completion?.reason, completion?.outcome, completion?.spent],
      ['failed', 'fallback_triggered:email', 'unauthorized', 0],
    )
  })

  it('goes back when the worker has too little lease left to make a call', async () => {
    const { run, sent, asked, seen } = setup({
      mayStart: false,
      capability: 'lookup',
      claim: { possibleDuplicate: true },
      lookup: async () => null,
    })

    assert.equal(await run(), null)
    assert.equal(sent.length + asked.length + seen.length, 0)
  })
})

describe('a provider with a bug', () => {
  const outcomeOf = async (given: Given): Promise<unknown[]> => {
    const completion = await setup(given).run()
    return [completion?.outcome, completion?.code, completion?.to, completion?.possibleDuplicate]
  }

  it('that throws leaves an unknown outcome, whether at once or later', async () => {
    const now = (): never => {
      throw new Error('oops')
    }
    const later = async (): Promise<Outcome> => {
      await Promise.resolve()
      throw new Error('oops')
    }

    assert.deepEqual(await outcomeOf({ send: now }), ['unknown', 'provider_threw', 'retrying', true])
    assert.deepEqual(await outcomeOf({ send: later }), ['unknown', 'provider_threw', 'retrying', true])
  })

  it('that answers or throws what has no words is written down all the same (P7)', async () => {
    const wordless: unknown = Object.create(null)
    const answers = async (): Promise<Outcome> => ({ kind: 'transient', code: wordless as string, error: 'away' })
    const throws = async (): Promise<Outcome> => {
      throw wordless
    }

    const hasNoWords = 'the provider gave a value that has no words'
    assert.deepEqual(await outcomeOf({ send: answers }), ['transient', hasNoWords, 'retrying', false])
    assert.deepEqual(await outcomeOf({ send: throws }), ['unknown', 'provider_threw', 'retrying', true])
  })

  it('that accepts without naming the message leaves an unknown outcome', async () => {
    const nameless = async (): Promise<Outcome> => ({ kind: 'accepted', providerMessageId: '' })

    assert.deepEqual(await outcomeOf({ send: nameless }), ['unknown', 'malformed_reply', 'retrying', true])
  })

  it('that answers something that is no outcome leaves an unknown one', async () => {
    for (const nonsense of [undefined, null, 'accepted', {}, { kind: 'delivered' }]) {
      const send = async (): Promise<Outcome> => nonsense as unknown as Outcome
      const [outcome, , to, flagged] = await outcomeOf({ send })
      assert.deepEqual([outcome, to, flagged], ['unknown', 'retrying', true], `answered ${JSON.stringify(nonsense)}`)
    }
  })

  it('that cannot even say what it is capable of is taken to be capable of nothing', async () => {
    const capability = (): never => {
      throw new Error('oops')
    }

    assert.equal((await setup({ capability }).run())?.to, 'sent')
    const doubtful = setup({ capability, claim: { possibleDuplicate: true }, lookup: async () => ACCEPTED })
    assert.equal((await doubtful.run())?.to, 'sent')
    assert.equal(doubtful.asked.length, 0)
  })

  it('that ignores the abort of its call is given up', async () => {
    const { run, clock } = setup({ send: () => new Promise(() => {}) })

    const running = run()
    await clock.advance(CALL_MS)

    const completion = await running
    assert.deepEqual([completion?.outcome, completion?.code, completion?.durationMs], ['unknown', 'timeout', CALL_MS])
  })
})

describe('a call in doubt', () => {
  const doubtful = { attempt: 2, spent: 1, possibleDuplicate: true }

  it('is asked about before it is made again, and not made again when it is found', async () => {
    const { run, sent, asked } = setup({ capability: 'lookup', lookup: async () => ACCEPTED, claim: doubtful })

    const completion = await run()

    assert.equal(asked.length, 1)
    assert.equal(sent.length, 0)
    assert.deepEqual([completion?.to, completion?.providerMessageId], ['sent', 'm1'])
  })

  it('loses its flag when it is found after a single call, and only then (P4)', async () => {
    const found = (attempt: number) =>
      setup({ capability: 'lookup', lookup: async () => ACCEPTED, claim: { ...doubtful, attempt } }).run()

    assert.equal((await found(2))?.possibleDuplicate, false)
    assert.equal((await found(3))?.possibleDuplicate, true)
  })

  it('is made again, still flagged, when the vendor has never seen it', async () => {
    const { run, sent } = setup({ capability: 'lookup', lookup: async () => null, claim: doubtful })

    const completion = await run()

    assert.equal(sent.length, 1)
    assert.deepEqual([completion?.to, completion?.possibleDuplicate], ['sent', true])
  })

  it('goes back unsent when so little of the lease is left after asking that a call could outlast it', async () => {
    let hasLease = true
    const { run, asked, sent } = setup({
      capability: 'lookup',
      claim: doubtful,
      mayStart: () => hasLease,
      lookup: async () => {
        hasLease = false
        return null
      },
    })

    assert.equal(await run(), null)
    assert.deepEqual([asked.length, sent.length], [1, 0])
  })

  it('keeps its flag and is not made again while the vendor cannot be asked (P4)', async () => {
    const unable = [
      async (): Promise<never> => {
        throw new Error('connection reset')
      },
      async (): Promise<Outcome> => ({ kind: 'transient', code: '503', error: 'away' }),
      async (): Promise<Outcome> => ({ kind: 'throttled', code: '429', error: 'slow down' }),
      async (): Promise<Outcome> => ({ kind: 'unauthorized', code: '401', error: 'who are you' }),
      async (): Promise<Outcome> => ({ kind: 'unknown', code: 'timeout', error: 'no answer' }),
      async (): Promise<Outcome> => ({ kind: 'accepted', providerMessageId: '' }),
    ]
    for (const lookup of unable) {
      const { run, sent } = setup({ capability: 'lookup', lookup, claim: doubtful })

      const completion = await run()

      assert.equal(sent.length, 0)
      assert.deepEqual([completion?.to, completion?.possibleDuplicate], ['retrying', true])
    }
  })

  it('is given up when the vendor does not answer the question, and stays in doubt', async () => {
    const { run, clock, sent } = setup({ capability: 'lookup', lookup: () => new Promise(() => {}), claim: doubtful })

    const running = run()
    await clock.advance(CALL_MS)

    const completion = await Promise.race([running, clock.settle()])
    assert.ok(completion, 'the attempt has ended')
    assert.equal(sent.length, 0)
    assert.deepEqual(
      [completion.to, completion.code, completion.possibleDuplicate],
      ['retrying', 'lookup_failed', true],
    )
  })

  it('is not made again once asking has used up the time for the call', async () => {
    const { run, calls, sent } = setup({
      capability: 'lookup',
      lookup: async () => {
        calls.abort()
        return null
      },
      claim: doubtful,
    })

    const completion = await run()

    assert.equal(sent.length, 0)
    assert.deepEqual([completion?.to, completion?.possibleDuplicate], ['retrying', true])
  })

  it('is simply made again where the vendor cannot be asked, and ends where it honours our key', async () => {
    for (const [capability, flagged] of [
      ['key', false],
      ['none', true],
    ] as const) {
      const { run, sent, asked } = setup({ capability, lookup: async () => ACCEPTED, claim: doubtful })

      assert.equal((await run())?.possibleDuplicate, flagged)
      assert.deepEqual([sent.length, asked.length], [1, 0])
    }
  })

  it('is not asked about without a doubt', async () => {
    const { run, asked, sent } = setup({ capability: 'lookup', lookup: async () => ACCEPTED })

    await run()

    assert.deepEqual([sent.length, asked.length], [1, 0])
  })
})

describe('a permanent failure', () => {
  it('closes the notification and carries the one that takes over', async () => {
    const { run, fellBack } = setup({ send: async () => REFUSED, claim: { fallback: ['email'] } })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.reason], ['failed', 'fallback_triggered:email'])
    assert.equal(completion?.next, NEXT)
    assert.deepEqual(fellBack[0]?.chain, ['email'])
  })

  it('names the channel that really takes over, which may be a later one of the chain', async () => {
    const push = sampleNotification({ channel: 'push' })
    const { run } = setup({
      send: async () => REFUSED,
      claim: { fallback: ['email', 'push'] },
      fallBack: async () => push,
    })

    assert.equal((await run())?.reason, 'fallback_triggered:push')
  })

  it('parks when the chain has ended or no channel of it reaches the recipient', async () => {
    const ended = setup({ send: async () => REFUSED })
    const unreachable = setup({ send: async () => REFUSED, claim: { fallback: ['email'] }, fallBack: async () => null })

    for (const { run } of [ended, unreachable]) {
      const completion = await run()
      assert.deepEqual([completion?.to, completion?.reason, completion?.next], ['parked', 'invalid_recipient', null])
    }
    assert.equal(ended.fellBack.length, 0)
  })

  it('carries what says of each channel of its chain why it cannot take over', async () => {
    const ended = { claim: { fallback: ['email' as const] }, fallBack: async () => ({ skipped: [NEXT] }) }
    const called = await setup({ ...ended, send: async () => REFUSED }).run()
    const uncalled = await setup({ ...ended, account: null }).run()

    for (const completion of [called, uncalled])
      assert.deepEqual([completion?.to, completion?.next, completion?.skipped], ['parked', null, [NEXT]])
  })

  it('waits for a store that is away to say who takes over, and falls back all the same', async () => {
    let away = 3
    const { run, clock } = setup({
      send: async () => REFUSED,
      claim: { fallback: ['email'] },
      fallBack: async () => {
        if (away-- > 0) throw new PillarboxError('store_unavailable', 'connection reset')
        return NEXT
      },
    })

    const running = run()
    await clock.advance(500)

    assert.equal((await running)?.to, 'failed')
  })

  it('waits for somebody to make the words of whoever takes over, and falls back all the same', async () => {
    let busy = 3
    const { run, clock } = setup({
      send: async () => REFUSED,
      claim: { fallback: ['email'] },
      fallBack: async () => {
        if (busy-- > 0) throw new PillarboxError('overloaded', 'no process answers')
        return NEXT
      },
    })

    const running = run()
    await clock.advance(500)

    assert.equal((await running)?.to, 'failed')
  })

  it('parks when whoever takes over cannot be planned, and logs why', async () => {
    const { run, claim, logger } = setup({
      send: async () => REFUSED,
      claim: { fallback: ['email'] },
      fallBack: async () => {
        throw new TypeError('a bug in planning')
      },
    })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.reason], ['parked', 'invalid_recipient'])
    const { notificationId, correlationId } = claim
    assert.deepEqual(logger.lines.at(-1)?.fields, { notificationId, correlationId, error: 'a bug in planning' })
  })
})

describe('another account of the channel', () => {
  const away: Outcome = { kind: 'transient', code: '503', error: 'away' }
  const deferred: Outcome = { ...away, isDeferred: true, retryAfterMs: 3_600_000 }
  const refusedUs: Outcome = { kind: 'unauthorized', code: '401', error: 'who are you' }
  const second = sampleAccount({ id: 'account-2', provider: 'other', name: 'second' })
  const standIn = async () => second
  const moveTo = { accountId: 'account-2', provider: 'other' }

  it('takes over when the credentials are refused, at once and with all its attempts', async () => {
    const { run, seen, wantedStandIn, fellBack } = setup({
      send: async () => refusedUs,
      standIn,
      claim: { spent: 2, attempt: 3, fallback: ['email'] },
    })

    const completion = await run()

    assert.deepEqual(
      [completion?.to, completion?.delayMs, completion?.spent, completion?.reason, completion?.next],
      ['retrying', 0, 0, null, null],
    )
    assert.deepEqual(completion?.moveTo, moveTo)
    assert.deepEqual(
      [completion?.outcome, completion?.provider, completion?.accountId],
      ['unauthorized', 'vendor', 'account-1'],
    )
    assert.deepEqual([seen, wantedStandIn, fellBack], [[refusedUs], ['any for account-1'], []])
  })

  it('takes over once the attempts are used up, before another channel does', async () => {
    const { run, fellBack, wantedStandIn } = setup({
      send: async () => away,
      standIn,
      claim: { spent: 2, attempt: 3, fallback: ['email'] },
    })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.reason, completion?.spent], ['retrying', null, 0])
    assert.deepEqual(completion?.moveTo, moveTo)
    assert.deepEqual([wantedStandIn, fellBack], [['any for account-1'], []])
  })

  it('takes over while the breaker is open, if it can send now', async () => {
    const { run, wantedStandIn } = setup({ send: async () => away, standIn, isBreakerOpen: true })

    assert.deepEqual((await run())?.moveTo, moveTo)
    assert.deepEqual(wantedStandIn, ['ready for account-1'])
  })

  it('takes over what this one would send in hours only, if it can send now', async () => {
    const { run, wantedStandIn, fellBack } = setup({
      send: async () => deferred,
      standIn,
      claim: { fallback: ['email'] },
    })

    assert.deepEqual((await run())?.moveTo, moveTo)
    assert.deepEqual([wantedStandIn, fellBack], [['ready for account-1'], []])
  })

  it('takes over from one that is suspended or paused, without a call', async () => {
    for (const [status, reason, error] of [
      ['suspended', 'channel_suspended', 'account main is suspended'],
      ['paused', 'auth_failed', 'account main is paused: who are you'],
    ] as const) {
      const { run, sent, seen, fellBack } = setup({
        account: { status, statusReason: 'who are you' },
        standIn,
        claim: { spent: 1, attempt: 2, fallback: ['email'] },
      })

      const completion = await run()

      assert.equal(sent.length + seen.length + fellBack.length, 0)
      assert.deepEqual(completion?.moveTo, moveTo)
      assert.deepEqual(
        [completion?.to, completion?.outcome, completion?.reason, completion?.error],
        ['retrying', null, reason, error],
      )
      assert.deepEqual([completion?.spent, completion?.delayMs, completion?.next], [0, 0, null])
    }
  })

  it('never takes over what may have arrived', async () => {
    const flagged = { possibleDuplicate: true, attempt: 2, spent: 1 }
    const unknown: Outcome = { kind: 'unknown', code: 'timeout', error: 'no answer' }
    for (const given of [
      { send: async () => refusedUs, claim: flagged },
      { send: async () => away, claim: { ...flagged, spent: 2 } },
      { send: async () => deferred, claim: flagged },
      { send: async () => away, claim: flagged, isBreakerOpen: true },
      { account: { status: 'suspended' as const }, claim: flagged },
      { account: { status: 'paused' as const }, claim: flagged },
      { send: async () => unknown, isBreakerOpen: true },
      { send: async () => unknown, claim: { spent: 2, attempt: 3 } },
    ]) {
      const { run, wantedStandIn } = setup({ ...given, standIn })

      const completion = await run()

      assert.deepEqual([wantedStandIn, completion?.moveTo ?? null], [[], null], JSON.stringify(given))
    }
    const lost = await setup({ standIn, isBreakerOpen: true, claim: { spent: 2, attempt: 3 } }).settleLost()
    assert.equal(lost.moveTo, null)
  })

  it('has no part in what concerns the recipient or the message alone', async () => {
    const throttled: Outcome = { kind: 'throttled', code: '429', error: 'slow down' }
    for (const outcome of [ACCEPTED, REFUSED, throttled, { ...throttled, scope: 'recipient' as const }, away]) {
      const { run, wantedStandIn } = setup({ send: async () => outcome, standIn })

      assert.equal((await run())?.moveTo, null)
      assert.deepEqual(wantedStandIn, [])
    }
  })

  it('is not to make up for a list that could not be read', async () => {
    const { run, wantedStandIn } = setup({
      claim: { channel: 'email', to: { list: 'ops-team' }, spent: 2, attempt: 3 },
      list: async () => {
        throw new PillarboxError('store_unavailable', 'connection reset')
      },
      standIn,
      isBreakerOpen: true,
    })

    assert.equal((await run())?.reason, 'attempts_exhausted')
    assert.deepEqual(wantedStandIn, [])
  })

  it('that does not exist leaves everything as it was', async () => {
    const paused = await setup({ account: { status: 'paused' } }).run()
    const unauthorized = await setup({ send: async () => refusedUs, claim: { spent: 1, attempt: 2 } }).run()
    const broken = await setup({ send: async () => away, isBreakerOpen: true }).run()
    const exhausted = await setup({
      send: async () => away,
      claim: { spent: 2, attempt: 3, fallback: ['email'] },
    }).run()

    assert.equal(paused, null)
    assert.deepEqual([unauthorized?.to, unauthorized?.spent, unauthorized?.moveTo], ['retrying', 1, null])
    assert.deepEqual([broken?.to, broken?.delayMs, broken?.moveTo], ['retrying', 1_000, null])
    assert.deepEqual([exhausted?.to, exhausted?.reason], ['failed', 'fallback_triggered:email'])
  })

  it('is waited for while the store is away', async () => {
    let isAway = 3
    const { run, clock } = setup({
      send: async () => refusedUs,
      standIn: async () => {
        if (isAway-- > 0) throw new PillarboxError('store_unavailable', 'connection reset')
        return second
      },
    })

    const running = run()
    await clock.advance(500)

    assert.deepEqual((await running)?.moveTo, moveTo)
  })
})

describe('a deferral', () => {
  const deferred: Outcome = {
    kind: 'transient',
    code: '131049',
    error: 'not today',
    retryAfterMs: 7_200_000,
    isDeferred: true,
  }

  it('lets the next channel take over at once', async () => {
    const { run } = setup({ send: async () => deferred, claim: { fallback: ['email'] } })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.reason], ['failed', 'fallback_triggered:email'])
    assert.equal(completion?.next, NEXT)
  })

  it('is waited out where there is no other channel, or none of them reaches the recipient', async () => {
    const alone = await setup({ send: async () => deferred }).run()
    const unreachable = await setup({
      send: async () => deferred,
      claim: { fallback: ['email'] },
      fallBack: async () => null,
    }).run()

    for (const completion of [alone, unreachable])
      assert.deepEqual([completion?.to, completion?.delayMs, completion?.spent], ['retrying', 7_200_000, 1])
  })

  it('is waited out by what may have arrived: another channel would tell it twice', async () => {
    const { run, fellBack } = setup({
      send: async () => deferred,
      claim: { fallback: ['email'], possibleDuplicate: true, attempt: 2, spent: 1 },
    })

    assert.equal((await run())?.to, 'retrying')
    assert.equal(fellBack.length, 0)
  })
})

describe('a recipient who is called too often', () => {
  const tooOften: Outcome = { kind: 'throttled', code: '131056', error: 'not him again', scope: 'recipient' }

  it('is left alone for as long as the provider asks, at no cost', async () => {
    const completion = await setup({ send: async () => ({ ...tooOften, retryAfterMs: 60_000 }) }).run()

    assert.deepEqual([completion?.to, completion?.delayMs, completion?.spent], ['retrying', 60_000, 0])
  })

  it('is left alone twice as long each time where the provider does not say', async () => {
    const delays: (number | undefined)[] = []
    for (const attempt of [2, 3, 4]) {
      const { run } = setup({ send: async () => tooOften, claim: { attempt, spent: 1 } })
      delays.push((await run())?.delayMs)
    }

    assert.deepEqual(delays, [5_000, 10_000, 20_000])
  })
})

describe('secrets (P10)', () => {
  const leaky: Outcome = { kind: 'transient', code: '503', error: 'password: hunter2, key s3cr3t' }

  it('are scrubbed from the error that is stored, those of the account included', async () => {
    const { run } = setup({ send: async () => leaky, account: { secrets: { apiKey: 's3cr3t' } } })

    assert.equal((await run())?.error, '…: hunter2, key …')
  })

  it('are scrubbed with the device token that the vendor repeats', async () => {
    const gone: Outcome = {
      kind: 'permanent',
      code: 'gone',
      error: 'no device device-1:APA91b',
      reason: 'permanent_refusal',
    }
    const claim = { channel: 'push', to: { deviceToken: 'device-1:APA91b', platform: 'fcm' } } as const
    const { run } = setup({ send: async () => gone, claim })

    assert.equal((await run())?.error, 'no device …')
  })

  it('are scrubbed before breaker, hold and pause hear of the outcome', async () => {
    const { run, seen } = setup({ send: async () => leaky, account: { secrets: { apiKey: 's3cr3t' } } })

    await run()

    assert.deepEqual(seen, [{ ...leaky, error: '…: hunter2, key …' }])
  })
})

describe('sealed content (P10)', () => {
  const content: Content = { subject: 'Invited', body: 'https://x.test/rsvp-canary', data: {} }
  const place = { tenantId: 'acme', notificationId: 'notification-1' }
  const sealed = seal.sealContent(content, ['rsvp-canary'], place)

  it('is opened for the provider call', async () => {
    const { run, sent } = setup({ claim: { content: sealed } })

    assert.equal((await run())?.to, 'sent')
    assert.deepEqual(sent[0]?.content, content)
  })

  it('is scrubbed out of what the provider says about it', async () => {
    const echo: Outcome = { ...REFUSED, code: 'bad rsvp-canary', error: 'no: https://x.test/rsvp-canary' }
    const { run, seen } = setup({ send: async () => echo, claim: { content: sealed } })

    const completion = await run()

    assert.deepEqual([completion?.code, completion?.error], ['bad …', 'no: https://x.test/…'])
    assert.ok(!JSON.stringify(seen).includes('canary'))
  })

  it('is scrubbed out of the answer that is kept, which is no longer than it may be', async () => {
    const { run } = setup({
      send: async ({ exchange }) => {
        exchange.answer = `200 {"echo":"rsvp-canary","key":"password"}\u0000${'x'.repeat(5_000)}`
        exchange.refused = [{ recipient: 'a@example.com', error: 'no password for rsvp-canary' }]
        return ACCEPTED
      },
      claim: { content: sealed },
    })

    const completion = await run()

    assert.match(completion?.answer ?? '', /^200 \{"echo":"…","key":"…"\}x+$/)
    assert.equal(completion?.answer?.length, 4_096)
    assert.deepEqual(completion?.refused, [{ recipient: 'a@example.com', error: 'no … for …' }])
  })

  it('that was sealed under another master key is parked unsent, and names that key', async () => {
    const other = createPayloadSeal(Buffer.alloc(32, 8)).sealContent(content, [], place)
    const [, keyId = ''] = other.sealed.split('.')
    const { run, sent, seen } = setup({ claim: { content: other } })

    const completion = await run()

    assert.equal(sent.length + seen.length, 0)
    assert.deepEqual(
      [completion?.to, completion?.reason, completion?.outcome, completion?.spent],
      ['parked', 'content_unreadable', null, 0],
    )
    assert.match(completion?.error ?? '', new RegExp(`master key ${keyId}`))
  })

  it('that was scrubbed meanwhile is not sent', async () => {
    const { run, sent } = setup({ claim: { content: null as never } })

    assert.equal((await run())?.reason, 'content_scrubbed')
    assert.equal(sent.length, 0)
  })
})

describe('the time since a call in doubt', () => {
  const NOW = 10_000_000
  const HOUR_MS = 3_600_000
  const inDoubt = { possibleDuplicate: true, attempt: 2, spent: 1, claimedAt: NOW }
  const call = (changes: Partial<AttemptView> = {}): AttemptView => ({
    number: 1,
    outcome: 'unknown',
    late: false,
    code: 'timeout',
    error: 'no answer',
    provider: 'vendor',
    providerMessageId: null,
    accountId: null,
    answer: null,
    refused: null,
    startedAt: NOW - HOUR_MS,
    durationMs: 1_000,
    workerId: 'w',
    ...changes,
  })
  const repeated = (keyWindowMs: number, earlierCalls: AttemptDeps['earlierCalls'] = async () => [call()]) =>
    setup({ capability: 'key', windows: { keyWindowMs }, earlierCalls, claim: inDoubt }).run()
  const asked = (lookupLagMs: number, found: Outcome | null, calls: readonly AttemptView[] = [call()]) => {
    const windows = { lookupLagMs }
    return setup({
      capability: 'lookup',
      windows,
      lookup: async () => found,
      earlierCalls: async () => calls,
      claim: inDoubt,
    })
  }

  it('leaves a repeat flagged once the window of the vendor’s key is over, and not before', async () => {
    assert.equal((await repeated(HOUR_MS + 1))?.possibleDuplicate, false)
    assert.equal((await repeated(HOUR_MS))?.possibleDuplicate, true)
  })

  it('counts from the first call, and for too long where nobody can tell', async () => {
    const two = async () => [call({ startedAt: NOW - 2 * HOUR_MS }), call({ number: 2 })]
    const unread = () => Promise.reject(new Error('a broken statement'))

    assert.equal((await repeated(2 * HOUR_MS, two))?.possibleDuplicate, true)
    assert.equal((await repeated(2 * HOUR_MS, unread))?.possibleDuplicate, true)
  })

  it('keeps a look-up that found nothing from being believed before the vendor must know, and burns no attempt', async () => {
    const early = asked(HOUR_MS, null)
    const late = asked(HOUR_MS - 1_000, null)

    const waits = await early.run()

    assert.deepEqual([early.sent.length, waits?.to, waits?.code, waits?.spent], [0, 'retrying', 'lookup_too_early', 1])
    assert.deepEqual([waits?.delayMs, waits?.possibleDuplicate], [1_000, true])
    assert.equal((await late.run())?.to, 'sent')
    assert.equal(late.sent.length, 1)
  })

  it('does not matter where the look-up finds the message, the only one of a single call', async () => {
    const waited = [call(), call({ number: 2, outcome: 'throttled', code: 'lookup_too_early' })]
    const found = await asked(HOUR_MS, ACCEPTED, waited).run()
    const several = await asked(HOUR_MS, ACCEPTED, [call(), call({ number: 2 })]).run()

    assert.deepEqual([found?.to, found?.possibleDuplicate], ['sent', false])
    assert.deepEqual([several?.to, several?.possibleDuplicate], ['sent', true])
  })
})

describe('a recipient list', () => {
  const toList: Partial<Claim> = { channel: 'email', to: { list: 'ops-team' } }
  const members = ['a@example.com', 'b@example.com']

  it('is one message to all who are on it now, and says who that was', async () => {
    const { run, sent } = setup({ claim: toList, list: async () => ({ targets: members }) })

    const completion = await run()

    assert.deepEqual(sent[0]?.to, { list: 'ops-team', bcc: members })
    assert.deepEqual([completion?.to, completion?.resolvedTargets], ['sent', members])
  })

  it('says who was addressed when the call failed, too', async () => {
    const { run } = setup({
      claim: toList,
      list: async () => ({ targets: members }),
      send: async () => ({ kind: 'transient', code: '503', error: 'away' }),
    })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.resolvedTargets], ['retrying', members])
  })

  it('that cannot be addressed is parked without a call', async () => {
    for (const reason of ['list_not_found', 'list_empty', 'list_too_large'] as const) {
      const { run, sent } = setup({ claim: toList, list: async () => ({ reason, error: 'because' }) })

      const completion = await run()

      assert.equal(sent.length, 0)
      assert.deepEqual([completion?.to, completion?.reason, completion?.error], ['parked', reason, 'because'])
    }
  })

  it('that cannot be read now is tried again, and the provider is not to blame', async () => {
    const { run, sent, seen } = setup({
      claim: toList,
      list: async () => {
        throw new PillarboxError('store_unavailable', 'connection reset')
      },
    })

    const completion = await run()

    assert.equal(sent.length + seen.length, 0)
    assert.deepEqual([completion?.to, completion?.code], ['retrying', 'list_unavailable'])
  })

  it('is not sent to by a worker whose lease ran out while it was read', async () => {
    const { run, sent } = setup({ claim: toList, list: async () => ({ targets: members }), mayStart: false })

    assert.equal(await run(), null)
    assert.equal(sent.length, 0)
  })
})

describe('the policy of the notification', () => {
  const away: Outcome = { kind: 'transient', code: '503', error: 'away' }

  it('goes before the account’s retry policy', async () => {
    const { run } = setup({ send: async () => away, claim: { policy: { retry: { delays: ['PT7S'] } } } })
    const last = setup({ send: async () => away, claim: { spent: 1, policy: { retry: { delays: ['PT7S'] } } } })

    assert.equal((await run())?.delayMs, 7_000)
    assert.equal((await last.run())?.reason, 'attempts_exhausted')
  })

  it('that makes no sense is clamped: ten attempts, a minute apart', async () => {
    const { run } = setup({ send: async () => away, claim: { spent: 5, policy: { retry: { base: 'never' } } } })

    const completion = await run()

    assert.deepEqual([completion?.to, completion?.delayMs], ['retrying', 60_000])
  })

  it('leaves the account’s in place where it says nothing', async () => {
    for (const policy of [null, {}, { retry: null }]) {
      const { run } = setup({ send: async () => away, claim: { policy } })

      assert.equal((await run())?.delayMs, 1_000)
    }
  })

  it('ends an address that is no good as failed, for the event type or for the account, where no channel is left', async () => {
    const byType = setup({ send: async () => REFUSED, claim: { policy: { onUndeliverable: 'fail' } } })
    const byAccount = setup({ send: async () => REFUSED, account: { settings: { onUndeliverable: 'fail' } } })

    for (const { run } of [byType, byAccount]) {
      const completion = await run()
      assert.deepEqual([completion?.to, completion?.reason, completion?.next], ['failed', 'invalid_recipient', null])
    }
  })

  it('of the event type wins over the account', async () => {
    const { run } = setup({
      send: async () => REFUSED,
      account: { settings: { onUndeliverable: 'fail' } },
      claim: { policy: { onUndeliverable: 'park' } },
    })

    assert.equal((await run())?.to, 'parked')
  })

  it('still lets the next channel take over', async () => {
    const { run } = setup({
      send: async () => REFUSED,
      claim: { policy: { onUndeliverable: 'fail' }, fallback: ['email'] },
    })

    assert.equal((await run())?.reason, 'fallback_triggered:email')
  })
})

describe('a claim whose worker died', () => {
  it('is settled as a call whose outcome is unknown, without making one', async () => {
    const { settleLost, sent } = setup()

    const completion = await settleLost()

    assert.equal(sent.length, 0)
    assert.deepEqual(
      [completion.outcome, completion.code, completion.to, completion.possibleDuplicate, completion.spent],
      ['unknown', 'worker_lost', 'retrying', true, 1],
    )
  })

  it('says nothing about the provider: breaker and hold stay as they are', async () => {
    const { settleLost, seen } = setup()

    await settleLost()

    assert.equal(seen.length, 0)
  })

  it('is held where the policy says so, and in doubt until a vendor that honours our key accepts it', async () => {
    const held = await setup({ account: { onUnknown: 'hold' } }).settleLost()
    const keyed = await setup({ capability: 'key' }).settleLost()

    assert.deepEqual([held.to, held.reason], ['uncertain', 'outcome_unknown'])
    assert.deepEqual([keyed.to, keyed.possibleDuplicate], ['retrying', true])
  })

  it('is not tried on another channel: it may have arrived', async () => {
    const { settleLost, fellBack } = setup({ claim: { spent: 2, attempt: 3, fallback: ['email'] } })

    const completion = await settleLost()

    assert.equal(fellBack.length, 0)
    assert.deepEqual([completion.to, completion.reason], ['parked', 'attempts_exhausted'])
  })

  it('is parked in doubt when its account or provider is gone, so that a retry by hand is flagged (P4)', async () => {
    for (const given of [{ account: null }, { provider: null }] as const) {
      const completion = await setup(given).settleLost()

      assert.deepEqual(
        [completion.to, completion.reason, completion.outcome, completion.possibleDuplicate],
        ['parked', 'provider_missing', 'unknown', true],
      )
    }
  })
})

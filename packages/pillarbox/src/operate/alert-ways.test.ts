import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { startWebhookReceiver } from '@pillarbox/vendors'
import { Webhook } from 'standardwebhooks'
import { createManualClock, START } from '../../../../test/support/manual-clock.ts'
import { testOutbound } from '../../../../test/support/providers.ts'
import type { Outbound } from '../channels/outbound.ts'
import type { AlertMessage } from './alert-store.ts'
import { tellByEvent, tellByWebhook } from './alert-ways.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

function message(changes: Partial<AlertMessage> = {}): AlertMessage {
  return {
    sequence: 1,
    news: 'raised',
    number: 0,
    since: START,
    tries: 0,
    alert: {
      id: 'a-1',
      rule: 'no_worker',
      subject: 'installation',
      subjectId: '',
      tenantId: null,
      status: 'open',
      since: START,
      raisedAt: START,
      goodSince: null,
      clearedAt: null,
      value: 0,
      summary: 'No worker is alive: nothing is sent',
      acknowledgedAt: null,
      acknowledgedBy: null,
      note: null,
      repeats: 0,
      toldAt: START,
    },
    ...changes,
  }
}

const forever = new AbortController().signal

async function setup(t: TestContext) {
  const receiver = await startWebhookReceiver()
  t.after(receiver.close)
  const tell = tellByWebhook({ ...testOutbound(t), url: `${receiver.url}/in`, secret: SECRET })
  return { receiver, tell }
}

describe('the alert webhook', () => {
  it('is signed so that the standard’s own library accepts it, under an id that a repeat has too', async (t) => {
    const { receiver, tell } = await setup(t)

    await tell(message(), forever)
    await tell(message(), forever)
    await tell(message({ news: 'repeated', number: 2 }), forever)

    const [first] = receiver.received
    const { type, data } = new Webhook(SECRET).verify(first?.body ?? '', first?.headers ?? {}) as Record<string, object>
    assert.equal(type, 'alert.raised')
    assert.deepEqual(data, {
      alertId: 'a-1',
      rule: 'no_worker',
      subject: 'installation',
      subjectId: null,
      tenantId: null,
      summary: 'No worker is alive: nothing is sent',
      value: 0,
      raisedAt: new Date(START).toISOString(),
      clearedAt: null,
      advice: 'Start one with "pillarbox start" or "pillarbox worker"; nothing is lost meanwhile.',
    })
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['webhook-id']),
      ['alert-a-1-raised', 'alert-a-1-raised', 'alert-a-1-repeated-2'],
    )
  })

  it('has not been told where the answer is no success', async (t) => {
    const { receiver, tell } = await setup(t)
    receiver.answerWith('too_many')

    await assert.rejects(tell(message(), forever), /answered 429/)
    await receiver.close()
    await assert.rejects(tell(message(), forever), /connect/)
  })

  it('is not waited for longer than ten seconds', async () => {
    const clock = createManualClock()
    const silent: Pick<Outbound, 'request'> = {
      request: ({ signal }) =>
        new Promise((resolve) => {
          const failure = { kind: 'failure', code: 'timeout', error: 'no answer', hasLeft: true } as const
          signal?.addEventListener('abort', () => resolve(failure))
        }),
    }
    const tell = tellByWebhook({ outbound: silent, clock, url: 'https://example.test/', secret: SECRET })
    const told = assert.rejects(tell(message(), forever), /timeout: no answer/)

    await clock.advance(10_000)
    await told
    assert.equal(clock.sleeping(), 0)
  })
})

describe('alerts by event', () => {
  it('are one event for the mails and one for the telephones, each with an id of its own', async () => {
    const published: Record<string, unknown>[] = []
    const tell = tellByEvent(['ops@example.test', '+4915112345678', 'cto@example.test'], async (bodies) => {
      published.push(...bodies)
    })

    await tell(message({ news: 'cleared' }))

    assert.deepEqual(
      published.map(({ id, type, channels, recipients }) => ({ id, type, channels, recipients })),
      [
        {
          id: 'alert-a-1-cleared-email',
          type: 'alert.cleared',
          channels: ['email'],
          recipients: [{ email: 'ops@example.test' }, { email: 'cto@example.test' }],
        },
        {
          id: 'alert-a-1-cleared-sms',
          type: 'alert.cleared',
          channels: ['sms'],
          recipients: [{ phone: '+4915112345678' }],
        },
      ],
    )
  })

  it('that are told again are raised once more, and say so', async () => {
    const published: Record<string, unknown>[] = []
    const tell = tellByEvent(['ops@example.test'], async (bodies) => void published.push(...bodies))

    await tell(message({ news: 'repeated', number: 1 }))

    const { id, type, payload } = published[0] ?? assert.fail()
    assert.deepEqual([id, type], ['alert-a-1-repeated-1-email', 'alert.raised'])
    assert.equal((payload as { isRepeated: boolean }).isRepeated, true)
  })
})

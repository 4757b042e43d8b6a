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
  startAcsServer,
  startAwsSmsServer,
  startInteraktServer,
  startMetaServer,
  startMsg91Server,
  startSesServer,
  startSnsServer,
} from '@pillarbox/vendors'
import { account, sendRequest, testOutbound } from '../../../../test/support/providers.ts'
import type { Provider } from '../channels/channel.ts'
import { acsProvider } from '../channels/email/acs.ts'
import { sesProvider } from '../channels/email/ses.ts'
import { awsSmsProvider } from '../channels/sms/aws-sms.ts'
import { msg91Provider } from '../channels/sms/msg91.ts'
import { snsProvider } from '../channels/sms/sns.ts'
import { interaktProvider } from '../channels/whatsapp/interakt.ts'
import { metaProvider } from '../channels/whatsapp/meta.ts'
import { FOUND_BY_MESSAGE_ID } from '../model/receipt.ts'
import { systemClock } from '../runtime/system.ts'
import { createReceiptSources } from './sources.ts'

const at = Date.UTC(2026, 10, 15, 9)
const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'kept-very-secret' }
const TO = { phone: '+919876543210', email: 'guest@example.com' }

interface Sender {
  provider: Provider
  settings?: Record<string, unknown>
  secrets?: Record<string, string>
  source: string
  /** The bodies of reports about what was sent, of every form the vendor has, as the vendor knows it. */
  reports(): string[]
}

type Start = (t: TestContext, deps: ReturnType<typeof testOutbound>) => Promise<Sender>

const sns = (message: unknown): string =>
  snsMessage({ certificateUrl: 'https://sns.us-east-1.amazonaws.com/x.pem', topicArn: 'arn', at, message }).body

const SENDERS: Record<string, Start> = {
  async meta(t, deps) {
    const server = await startMetaServer({ accessToken: 'token' })
    t.after(server.close)
    return {
      provider: metaProvider(deps),
      settings: { phoneNumberId: '1234567890', endpoint: server.url },
      secrets: { accessToken: 'token' },
      source: 'meta',
      reports: () =>
        server.messages.flatMap(({ id, callbackData }) =>
          [{ callbackData: callbackData ?? '' }, {}].map(
            (reference) => metaCallback('s', [{ id, status: 'delivered', at, ...reference }]).body,
          ),
        ),
    }
  },
  async interakt(t, deps) {
    const server = await startInteraktServer({ apiKey: 'a2V5' })
    t.after(server.close)
    return {
      provider: interaktProvider(deps),
      settings: { endpoint: server.url },
      secrets: { apiKey: 'a2V5' },
      source: 'interakt',
      reports: () =>
        server.messages.map(
          ({ id, callbackData }) =>
            interaktCallback({ id, type: 'message_api_read', at, callbackData: callbackData ?? '' }).body,
        ),
    }
  },
  async msg91(t, deps) {
    const server = await startMsg91Server({ authKey: 'key' })
    t.after(server.close)
    return {
      provider: msg91Provider(deps),
      settings: { endpoint: server.url, senderId: 'ATLASH' },
      secrets: { authKey: 'key' },
      source: 'msg91',
      reports: () =>
        server.messages.flatMap(({ requestId, to: number, reference }) =>
          (['v2', 'v3', 'v4', 'new'] as const).map(
            (shape) => msg91Report(shape, { requestId, number, status: 1, at, crqid: reference ?? '' }).body,
          ),
        ),
    }
  },
  async acs(t, deps) {
    const server = await startAcsServer()
    t.after(server.close)
    return {
      provider: acsProvider(deps),
      settings: { fromAddress: 'info@example.com' },
      secrets: { connectionString: server.connectionString },
      source: 'acs',
      reports: () =>
        server.mails.flatMap(({ id: messageId }) =>
          (['event-grid', 'cloud-events'] as const).map(
            (schema) => eventGridCallback([{ messageId, recipient: TO.email, status: 'Delivered', at }], schema).body,
          ),
        ),
    }
  },
  async ses(t, deps) {
    const server = await startSesServer({ ...KEY, region: 'eu-central-1' })
    t.after(server.close)
    return {
      provider: sesProvider(deps),
      settings: { region: 'eu-central-1', fromAddress: 'info@example.com', endpoint: server.url },
      secrets: KEY,
      source: 'ses',
      reports: () =>
        server.mails.flatMap(({ id: messageId, tags }) =>
          (['event', 'notification'] as const).map((form) =>
            sns(sesEvent('Delivery', { messageId, recipients: [TO.email], at, tags, form })),
          ),
        ),
    }
  },
  async 'aws-sms'(t, deps) {
    const server = await startAwsSmsServer({ ...KEY, region: 'eu-central-1' })
    t.after(server.close)
    return {
      provider: awsSmsProvider(deps),
      settings: { region: 'eu-central-1', endpoint: server.url },
      secrets: KEY,
      source: 'sns-sms',
      reports: () =>
        server.messages.flatMap(({ id: messageId, to: phone, context }) =>
          [{ context }, {}].map((reference) =>
            sns(awsSmsEvent('TEXT_DELIVERED', { messageId, phone, at, ...reference })),
          ),
        ),
    }
  },
  async sns(t, deps) {
    const server = await startSnsServer({ ...KEY, region: 'ap-south-1' })
    t.after(server.close)
    return {
      provider: snsProvider(deps),
      settings: { region: 'ap-south-1', endpoint: server.url },
      secrets: KEY,
      source: 'sns-sms',
      reports: () =>
        server.messages.map(({ id: messageId, to: phone }) =>
          sns(snsDelivery({ messageId, phone, at, status: 'SUCCESS' })),
        ),
    }
  },
}

describe('the reference of a message', () => {
  it('is looked at here for every provider that is reported on', (t) => {
    const { outbound } = testOutbound(t)
    const sources = createReceiptSources({ outbound, clock: systemClock, certHosts: [] })

    const providers = [...sources.values()].flatMap((source) => source.providers)
    assert.deepEqual(providers.toSorted(), Object.keys(SENDERS).toSorted())
  })

  for (const [name, start] of Object.entries(SENDERS))
    it(`that ${name} was sent comes back in its reports${isByMessageId(name) ? ', or else the message’s id' : ''}`, async (t) => {
      const deps = testOutbound(t)
      const { provider, settings = {}, secrets = {}, source: sourceName, reports } = await start(t, deps)
      const sender = account(provider.channels[0] ?? assert.fail(), name, { settings, secrets })
      const request = sendRequest(sender, { to: TO, content: { subject: 'Booked', body: 'See you' } })
      const source = createReceiptSources({ ...deps, certHosts: [] }).get(sourceName) ?? assert.fail()

      const outcome = await provider.send(request)

      assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome))
      const events = reports().flatMap((body) => {
        return source.parse({ rawBody: Buffer.from(body), headers: {}, receivedAt: at }).events
      })
      assert.ok(events.length > 0)
      for (const event of events) {
        assert.equal(event.provider, name)
        if (event.notificationId === null)
          assert.deepEqual([isByMessageId(name), event.providerMessageId], [true, outcome.providerMessageId])
        else assert.equal(event.notificationId, request.notificationId)
      }
      // Otherwise it would not need an index of its own.
      assert.equal(
        events.some(({ notificationId }) => notificationId === null),
        isByMessageId(name),
      )
    })
})

function isByMessageId(provider: string): boolean {
  return (FOUND_BY_MESSAGE_ID as readonly string[]).includes(provider)
}

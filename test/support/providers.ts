import type { TestContext } from 'node:test'
import type { ProviderContent, SendRequest, Target } from '../../packages/pillarbox/src/channels/channel.ts'
import type { Outbound } from '../../packages/pillarbox/src/channels/outbound.ts'
import type { Account } from '../../packages/pillarbox/src/model/account.ts'
import { DEFAULT_BREAKER } from '../../packages/pillarbox/src/model/account.ts'
import type { Channel } from '../../packages/pillarbox/src/model/channel.ts'
import type { Clock } from '../../packages/pillarbox/src/model/ports.ts'
import { DEFAULT_RETRY } from '../../packages/pillarbox/src/model/retry.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { createOutbound } from '../../packages/pillarbox/src/security/outbound.ts'

/** What tests of providers share: the real way out, an account, a request. */
export function testOutbound(t: TestContext): { outbound: Outbound; clock: Clock } {
  const outbound = createOutbound({ clock: systemClock, allowPrivate: true, limits: { firstByteMs: 2_000 } })
  t.after(outbound.close)
  return { outbound, clock: systemClock }
}

/** A way out that lets nothing out, and tells where it was asked to go: for what has to have no other. */
export function closedOutbound(): { outbound: Outbound; asked: readonly string[] } {
  const asked: string[] = []
  const outbound: Outbound = {
    async request({ url }) {
      asked.push(url)
      return { kind: 'failure', code: 'connect_failed', error: 'no way out', hasLeft: false }
    },
  }
  return { outbound, asked }
}

export function account(
  channel: Channel,
  provider: string,
  { settings = {}, secrets = {} }: { settings?: Record<string, unknown>; secrets?: Record<string, string> } = {},
): Account {
  return {
    id: '018f0000-0000-7000-8000-00000000000a',
    tenantId: 'tenant',
    channel,
    provider,
    name: provider,
    settings,
    secrets,
    pace: null,
    retry: DEFAULT_RETRY,
    retryWarning: null,
    onUnknown: 'resend',
    breaker: { ...DEFAULT_BREAKER },
    priority: 0,
    status: 'active',
    statusReason: null,
    createdAt: 0,
    updatedAt: 0,
  }
}

export function sendRequest(
  sender: Account,
  { to, content = {} }: { to: Target; content?: Partial<ProviderContent> },
): SendRequest {
  return {
    account: sender,
    channel: sender.channel,
    key: '018f0000-0000-7000-8000-0000000000ff',
    notificationId: '018f0000-0000-7000-8000-0000000000ff',
    attempt: 1,
    to,
    content: { subject: null, body: 'Hello', data: {}, ...content },
    locale: null,
    correlationId: null,
    signal: new AbortController().signal,
    exchange: { answer: null, refused: null },
  }
}

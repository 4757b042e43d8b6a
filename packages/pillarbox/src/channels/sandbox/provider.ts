import type { Account } from '../../model/account.ts'
import { CHANNELS } from '../../model/channel.ts'
import { errorText } from '../../model/errors.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Clock, Random } from '../../model/ports.ts'
import { addressOf } from '../../model/recipient.ts'
import type { Provider, SendRequest } from '../channel.ts'
import { present, unclear } from '../vendor-answers.ts'
import { pickFault } from './faults.ts'
import { checkSandboxSettings, readSandboxSettings, type SandboxSettings } from './settings.ts'
import { type SandboxVendor, VendorUnavailable } from './vendor.ts'

/** How long a vendor that has stopped answering is waited for where neither the fault nor the caller sets an end. */
const SILENCE_MS = 600_000
const SLOW_MS = 2_000

/**
 * The provider that speaks to the pretend vendor, on every channel. An accepted message can be seen in the vendor's
 * inbox; nothing leaves the machine. Account settings make it misbehave (`settings.ts`), special addresses do so too.
 */
export function sandboxProvider(vendor: SandboxVendor, { clock, random }: { clock: Clock; random: Random }): Provider {
  async function send(request: SendRequest): Promise<Outcome> {
    const read = settingsOf(request.account)
    if ('error' in read) return { kind: 'unauthorized', code: 'invalid_settings', error: read.error }
    const { settings } = read
    if (settings.latencyMs > 0) await clock.sleep(settings.latencyMs, request.signal)
    if (request.signal.aborted)
      return { kind: 'transient', code: 'aborted', error: 'given up before the sandbox had it' }
    return await call(request, settings).catch(unavailable)
  }

  async function call(request: SendRequest, settings: SandboxSettings): Promise<Outcome> {
    const { account, channel, attempt, signal } = request
    const address = addressOf(channel, request.to) ?? request.to.list ?? ''
    const fault = pickFault(
      settings.faults,
      { accountId: account.id, channel, address, attempt },
      { random, take: vendor.takeFault },
    )
    switch (fault?.kind) {
      case undefined:
        return await submit(request, settings)
      case 'refuse':
        return { kind: 'transient', code: 'connection_refused', error: 'the sandbox refused the connection' }
      case 'slow':
        await clock.sleep(fault.delayMs ?? SLOW_MS, signal)
        return signal.aborted ? silence() : await submit(request, settings)
      case 'timeout_before_accept':
        await clock.sleep(fault.delayMs ?? SILENCE_MS, signal)
        return silence()
      case 'timeout_after_accept':
        return await acceptedBut(request, settings, async () => {
          await clock.sleep(fault.delayMs ?? SILENCE_MS, signal)
          return silence()
        })
      case 'malformed':
        return await acceptedBut(request, settings, async () =>
          unclear('the sandbox answered 200 without a message id'),
        )
      case 'rate_limited':
        return {
          kind: 'throttled',
          code: '429',
          error: 'the sandbox says: too many requests',
          ...present({ retryAfterMs: fault.retryAfterMs }),
        }
      case 'server_error':
        return {
          kind: 'transient',
          code: '503',
          error: 'the sandbox says: service unavailable',
          ...present({ retryAfterMs: fault.retryAfterMs }),
        }
      case 'permanent': {
        const reason = fault.reason ?? 'invalid_recipient'
        return { kind: 'permanent', code: reason, error: `the sandbox says: ${reason}`, reason }
      }
      case 'unauthorized':
        return { kind: 'unauthorized', code: '401', error: 'the sandbox refused the credentials' }
    }
  }

  /** The vendor takes the message, and the caller hears something else. A refusal by the limit stays a refusal. */
  async function acceptedBut(
    request: SendRequest,
    settings: SandboxSettings,
    instead: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const outcome = await submit(request, settings)
    return outcome.kind === 'accepted' ? await instead() : outcome
  }

  async function submit(request: SendRequest, settings: SandboxSettings): Promise<Outcome> {
    const { account, channel, key, notificationId, attempt, to, content, correlationId } = request
    const reply = await vendor.accept(
      {
        tenantId: account.tenantId,
        accountId: account.id,
        channel,
        key,
        notificationId,
        attempt,
        to,
        correlationId,
        subject: content.subject,
        body: content.body,
        data: content.data,
        providerTemplate: content.providerTemplate ?? null,
      },
      { honoursKeys: settings.honoursKeys, perSecond: settings.limit?.perSecond ?? null },
    )
    if (reply.kind === 'accepted') return { kind: 'accepted', providerMessageId: reply.id }
    const error = `the sandbox says: more than ${settings.limit?.perSecond ?? 0} messages a second`
    return { kind: 'throttled', code: '429', error, retryAfterMs: reply.retryAfterMs }
  }

  return {
    name: 'sandbox',
    channels: CHANNELS,
    checkSettings: checkSandboxSettings,
    capability(account) {
      const read = settingsOf(account)
      if ('error' in read) return 'none'
      return read.settings.honoursKeys ? 'key' : read.settings.lookup ? 'lookup' : 'none'
    },
    send,
    async lookup({ account, key }) {
      try {
        const id = vendor.lookup(account.id, key)
        return id === null ? null : { kind: 'accepted', providerMessageId: id }
      } catch (error) {
        return { kind: 'unknown', code: 'sandbox_unavailable', error: errorText(error) }
      }
    },
  }
}

/** Settings are checked when an account is saved; ones that are wrong all the same pause the account and say why. */
function settingsOf(account: Account): { settings: SandboxSettings } | { error: string } {
  const read = readSandboxSettings(account.settings)
  if ('settings' in read) return read
  const wrong = read.problems.map(({ path, message }) => `${path || 'settings'} ${message}`).join('; ')
  return { error: `the account’s sandbox settings are wrong: ${wrong}` }
}

function unavailable(error: unknown): Outcome {
  const kind = error instanceof VendorUnavailable && error.mayBeRecorded ? 'unknown' : 'transient'
  return { kind, code: 'sandbox_unavailable', error: errorText(error) }
}

function silence(): Outcome {
  return { kind: 'unknown', code: 'timeout', error: 'the sandbox did not answer' }
}

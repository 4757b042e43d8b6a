import { isEmail } from '../model/address.ts'
import type { AlertMessage } from './alert-store.ts'
import { ADVICE } from './alert-words.ts'
import { alertFacts, alertKey } from './alerting.ts'
import { postSigned, type SignedEndpoint } from './signed-post.ts'

/** How alerts are told. Each may be told again after a crash, under the same id, and whoever receives it has it once. */

/** What an event intake takes; the first that is refused says why. */
export type PublishAlert = (bodies: readonly Record<string, unknown>[]) => Promise<void>

/** By an event of the ops tenant for each kind of address: what becomes of it is the engine's, like any other's. */
export function tellByEvent(to: readonly string[], publish: PublishAlert): (message: AlertMessage) => Promise<void> {
  const emails = to.filter(isEmail).map((email) => ({ email }))
  const phones = to.filter((each) => !isEmail(each)).map((phone) => ({ phone }))
  const kinds = [
    { channel: 'email', recipients: emails },
    { channel: 'sms', recipients: phones },
  ].filter(({ recipients }) => recipients.length > 0)
  return async (message) => {
    const { alert, news } = message
    // One that is told again is still raised; only its id is another.
    const type = news === 'cleared' ? 'alert.cleared' : 'alert.raised'
    const payload = { ...alertFacts(alert), advice: ADVICE[alert.rule], isRepeated: news === 'repeated' }
    const bodies = kinds.map(({ channel, recipients }) => ({
      id: `${alertKey(message)}-${channel}`,
      type,
      entity: { type: 'alert', id: alert.id },
      payload,
      recipients,
      channels: [channel],
    }))
    await publish(bodies)
  }
}

const PATIENCE_MS = 10_000

/** By a signed request, as our own webhooks are; without the engine, so that it works where no worker does. */
export function tellByWebhook(endpoint: SignedEndpoint): (message: AlertMessage, stop: AbortSignal) => Promise<void> {
  return async (message, stop) => {
    const { alert, news } = message
    const data = { ...alertFacts(alert), advice: ADVICE[alert.rule] }
    const [over, ended] = [new AbortController(), new AbortController()]
    void endpoint.clock.sleep(PATIENCE_MS, ended.signal).then(() => over.abort())
    try {
      await postSigned(endpoint, {
        id: alertKey(message),
        type: `alert.${news}`,
        data,
        setting: 'PILLARBOX_ALERT_WEBHOOK_SECRET',
        signal: AbortSignal.any([over.signal, stop]),
      })
    } finally {
      ended.abort()
    }
  }
}

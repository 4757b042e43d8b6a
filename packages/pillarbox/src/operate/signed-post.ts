import type { Outbound } from '../channels/outbound.ts'
import { signedHeaders } from '../channels/webhook/signature.ts'
import type { Clock } from '../model/ports.ts'

/** An endpoint of whoever runs the server. */
export interface SignedEndpoint {
  outbound: Pick<Outbound, 'request'>
  clock: Clock
  url: string
  /** `whsec_…`; several, separated by spaces, while one is changed for another. */
  secret: string
}

/** Posts a message, signed as our own webhooks are; `setting` is what holds the secret. Rejects where it was not taken. */
export async function postSigned(
  { outbound, clock, url, secret }: SignedEndpoint,
  { id, type, data, setting, signal }: { id: string; type: string; data: object; setting: string; signal: AbortSignal },
): Promise<void> {
  const body = JSON.stringify({ type, timestamp: new Date(clock.now()).toISOString(), data })
  const headers = signedHeaders(secret, { id, body, now: clock.now() })
  if (headers === null) throw new Error(`${setting} must be whsec_ and base64 of 24 to 64 bytes`)
  const answer = await outbound.request({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal,
  })
  if (answer.kind === 'failure') throw new Error(`${answer.code}: ${answer.error}`)
  if (answer.status < 200 || answer.status >= 300) throw new Error(`answered ${answer.status}`)
}

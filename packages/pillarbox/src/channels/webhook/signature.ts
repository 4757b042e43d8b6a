import { createHmac } from 'node:crypto'

export const SIGNING_SECRET = 'must be whsec_ and base64 of 24 to 64 bytes'

/** What a signed message carries in the form of Standard Webhooks; null where the secret has not the form of one. */
export function signedHeaders(
  secret: string,
  { id, body, now }: { id: string; body: string; now: number },
): Record<string, string> | null {
  const keys = signingKeys(secret)
  if (keys === null) return null
  const timestamp = Math.floor(now / 1_000)
  const signed = `${id}.${timestamp}.${body}`
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    // One signature per secret, as the standard lists them.
    'webhook-signature': keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' '),
  }
}

/** The keys of a secret, or of several separated by spaces; null where one has not the form. */
export function signingKeys(given: string): Buffer[] | null {
  const secrets = given.split(/\s+/).filter((secret) => secret !== '')
  if (!secrets.every((secret) => /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret))) return null
  const keys = secrets.map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'))
  return keys.length > 0 && keys.every(({ length }) => length >= 24 && length <= 64) ? keys : null
}

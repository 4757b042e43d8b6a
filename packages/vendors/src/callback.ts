/**
 * A vendor's request to a webhook, ready for `fetch`: `await fetch(webhookUrl, callback)`. Where the vendor signs nothing,
 * the webhook's own address carries the token.
 */
export interface VendorCallback {
  method: 'GET' | 'POST' | 'OPTIONS'
  /** Names in lower case. */
  headers: Record<string, string>
  /** Exactly the bytes that were signed. */
  body?: string
}

/** A `POST` with JSON, written once: a signature covers these very bytes. */
export function jsonCallback(json: unknown, headers: Record<string, string> = {}): VendorCallback & { body: string } {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(json) }
}

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Account } from '../model/account.ts'
import type { Callback } from './receipt-source.ts'

/** Proofs that a caller knows a secret, compared in a time that tells nothing about it. No secret, no proof. */

export function isSame(given: string | null, secret: string | undefined): boolean {
  if (!given || !secret) return false
  return timingSafeEqual(digest(given), digest(secret))
}

/** `signature`: HMAC-SHA256 of the bytes in hex, with or without `sha256=` in front. */
export function isSignedWith(secret: string | undefined, bytes: Buffer, signature: string): boolean {
  const hex = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(signature)?.[1]
  if (!secret || hex === undefined) return false
  return timingSafeEqual(createHmac('sha256', secret).update(bytes).digest(), Buffer.from(hex, 'hex'))
}

/** The accounts whose token the webhook's address carries. */
export function accountsWithToken({ query }: Callback, accounts: readonly Account[]): Account[] {
  const token = query.get('token')
  if (!token) return []
  const given = digest(token)
  return accounts.filter(
    ({ secrets: { webhookToken } }) => webhookToken && timingSafeEqual(given, digest(webhookToken)),
  )
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

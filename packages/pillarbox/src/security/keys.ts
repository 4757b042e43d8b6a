import { createHash, randomBytes } from 'node:crypto'

/** What a key made here starts with, so that a leaked one is recognised by scanners and by people. */
const KEY_PREFIX = 'pbx_'

const RANDOM_BYTES = 32
const MAX_TOKEN_LENGTH = 512

/**
 * A new API key: `pbx_` and 256 random bits. Shown to its owner once; only its hash is kept.
 * Key material always comes from the operating system, never from the engine's repeatable random source.
 */
export function makeKey(): string {
  return KEY_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url')
}

/** Whether a text has the form of a key that was made here. */
export function isKey(text: string): boolean {
  return text.startsWith(KEY_PREFIX) && text.length <= MAX_TOKEN_LENGTH && /^[\x21-\x7e]+$/.test(text)
}

/** 256 random bits for the address of a webhook. */
export function makeToken(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url')
}

/**
 * What the store keeps and looks keys up by. A plain hash is enough: there is nothing to guess in 256 random bits, and
 * a slow hash per request would cap the API.
 */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/**
 * The token of an `Authorization: Bearer …` header, or `null` where there is none. Keys of any form are taken, because
 * the first ops key may be one that the operator chose.
 */
export function parseBearer(header: string | undefined): string | null {
  if (header === undefined || header.length > MAX_TOKEN_LENGTH + 16) return null
  const match = /^bearer +([\x21-\x7e]+) *$/i.exec(header)
  const token = match?.[1]
  return token === undefined || token.length > MAX_TOKEN_LENGTH ? null : token
}

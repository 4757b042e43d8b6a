import type { FastifyRequest } from 'fastify'
import type { Channel } from '../model/channel.ts'
import { escapedKeyPart } from '../model/idempotency.ts'
import { type Address, addressField, maskAddress } from '../model/recipient.ts'
import { soundsSecret } from '../operate/account-checks.ts'
import { type ApiCaller, callerOf, TO_ADMINISTER } from './auth.ts'

interface PersonFields {
  name: string | null
  phone: string | null
  email: string | null
}

/** A person as the caller may see one: a viewer recognises those it knows and learns nothing of the others. */
export function asSeenBy<T extends PersonFields>(request: FastifyRequest, person: T): T {
  if (!isViewer(request)) return person
  const { name, phone, email } = person
  return {
    ...person,
    name: name && (maskAddress({ name }).name ?? null),
    phone: phone && (maskAddress({ phone }).phone ?? null),
    email: email && (maskAddress({ email }).email ?? null),
  }
}

/** The key of a notification to one of several recipients may end with their address; a viewer sees it masked. */
export function keySeenBy(
  request: FastifyRequest,
  { idempotencyKey, to }: { idempotencyKey: string; to: Address },
): string {
  if (!isViewer(request)) return idempotencyKey
  const masked = maskAddress(to)
  let key = idempotencyKey
  for (const field of ['email', 'phone', 'deviceToken', 'url'] as const) {
    const [address, cover] = [to[field], masked[field]]
    if (!address || cover === undefined) continue
    // As it stands, and as keys of ours write it.
    for (const written of [address, escapedKeyPart(address)]) key = covered(key, written, cover)
  }
  return key
}

/** A lone address, also where a provider's words repeat it. */
export function addressSeenBy<T extends { channel: Channel; address: string; error: string | null }>(
  request: FastifyRequest,
  one: T,
): T {
  if (!isViewer(request)) return one
  const field = addressField(one.channel)
  const cover = maskAddress({ [field]: one.address })[field] ?? '***'
  // Vendors leave the plus of a telephone number out.
  const words = one.error && covered(covered(one.error, one.address, cover), one.address.replace(/^\+/, ''), cover)
  return { ...one, address: cover, error: words }
}

/**
 * An account's settings as somebody may see them who cannot change them: of URLs only the host, because many carry their
 * secret in the path, and nothing of what should have been a secret and was saved before that was refused.
 */
export function settingsSeenBy({ key }: ApiCaller, settings: Record<string, unknown>): Record<string, unknown> {
  if (TO_ADMINISTER.some((role) => role === key.role)) return settings
  return withoutPaths(settings) as Record<string, unknown>
}

function withoutPaths(value: unknown): unknown {
  if (typeof value === 'string') return /^https?:/i.test(value) ? maskAddress({ url: value }).url : value
  if (Array.isArray(value)) return value.map(withoutPaths)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, soundsSecret(name) ? '***' : withoutPaths(inner)]),
  )
}

function covered(text: string, written: string, cover: string): string {
  return text.replaceAll(new RegExp(written.replaceAll(/[^\w@]/g, '\\$&'), 'gi'), () => cover)
}

function isViewer(request: FastifyRequest): boolean {
  return callerOf(request).key.role === 'viewer'
}

import { emailIdentity, foldEmail } from '../model/email.ts'
import type { FieldError } from '../model/errors.ts'
import { toE164 } from '../model/phone.ts'
import type { ListMember } from '../model/recipient-list.ts'

/** Telephone number and email as they are kept and sent to. What has not that form is added to `problems`. */
export function normalised<T extends { phone?: string | null; email?: string | null }>(
  given: T,
  { region, at, problems }: { region: string | null; at: string; problems: FieldError[] },
): T {
  const { phone, email } = given
  const e164 = typeof phone === 'string' ? toE164(phone, region) : phone
  const folded = typeof email === 'string' ? foldEmail(email) : email
  if (typeof phone === 'string' && e164 === null) problems.push({ path: `${at}/phone`, message: noPhone(region) })
  if (typeof email === 'string' && folded === null)
    problems.push({ path: `${at}/email`, message: 'must be an email address, such as guest@example.com' })
  return {
    ...given,
    ...(e164 !== undefined && { phone: e164 }),
    ...(folded !== undefined && { email: folded }),
  }
}

function noPhone(region: string | null): string {
  return region === null
    ? 'must be a telephone number with its country code, such as +919876543210 (the tenant has no region)'
    : `must be a telephone number of ${region}, or one with its country code, such as +919876543210`
}

/** What two entries of a list are the same member by. */
export function memberIdentity({ email, phone }: Pick<ListMember, 'email' | 'phone'>): string {
  return JSON.stringify([email === null ? null : emailIdentity(email), phone])
}

/**
 * The members of a list as they are kept: each once, told by email and telephone number. `problems` names each bad one
 * by its index; then nothing should be written.
 */
export function readMembers(
  given: readonly { name?: string | null; email?: string | null; phone?: string | null }[],
  region: string | null,
): { members: ListMember[]; problems: FieldError[] } {
  const problems: FieldError[] = []
  const members = new Map<string, ListMember>()
  for (const [index, entry] of given.entries()) {
    const at = `/members/${index}`
    const { name = null, email = null, phone = null } = normalised(entry, { region, at, problems })
    if (!entry.email && !entry.phone) problems.push({ path: at, message: 'must have an email or a phone' })
    const identity = memberIdentity({ email, phone })
    if (!members.has(identity)) members.set(identity, { name, email, phone })
  }
  return { members: [...members.values()], problems }
}

import { domainToASCII } from 'node:url'
import { addressIdentity, isEmail } from './address.ts'

/**
 * An email address as it is sent to: trimmed, its domain in lower case and in `xn--` form. The part before the @ stays
 * as written, because its meaning is the receiving server's. Null where it is not one plain mailbox.
 */
export function foldEmail(text: string): string | null {
  const trimmed = text.trim()
  const at = trimmed.lastIndexOf('@')
  if (at < 1 || trimmed.length > MAX_CHARACTERS) return null
  const domain = asciiDomain(trimmed.slice(at + 1))
  const folded = domain === null ? null : `${trimmed.slice(0, at)}@${domain}`
  return folded !== null && isEmail(folded) ? folded : null
}

/**
 * What tells whose address it is: people write their own in two ways. Dots and +tags are left alone: they do mean
 * different mailboxes in places.
 */
export function emailIdentity(folded: string): string {
  return addressIdentity('email', folded)
}

const MAX_CHARACTERS = 320
/** Letters, digits and marks of any script, hyphens, and the dots that stand for one in a domain. */
const INTERNATIONAL = /^[\p{L}\p{N}\p{M}.\-。．｡]+$/u

function asciiDomain(domain: string): string | null {
  // Plain ones are not parsed: as a URL's host, 0x7f.1 would turn into 127.0.0.1.
  if (/^[\x21-\x7e]+$/.test(domain)) return domain.toLowerCase()
  if (!INTERNATIONAL.test(domain)) return null
  const ascii = domainToASCII(domain)
  return ascii === '' || /(^|\.)\d+$/.test(ascii) ? null : ascii
}

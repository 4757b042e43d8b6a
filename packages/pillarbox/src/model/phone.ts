import {
  type CountryCode,
  getCountryCallingCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'
import { isPhone } from './address.ts'

/** No number anybody writes is longer; what is would only cost time. */
const MAX_CHARACTERS = 60

/**
 * A telephone number as people write it, in E.164 form; null where it is none. A number without a country code is one
 * of `region` (an ISO 3166 code such as `IN`). What has the form of E.164 already is passed on as it stands, so that a
 * range newer than our tables still gets its messages. A number with an extension is not a number to send to.
 */
export function toE164(text: string, region: string | null): string | null {
  const trimmed = text.trim()
  if (isPhone(trimmed)) return trimmed
  if (trimmed.length > MAX_CHARACTERS) return null
  const plain = trimmed.normalize('NFKC').replace(/^tel:/i, '')
  const code = region?.trim().toUpperCase() ?? ''
  const country = isSupportedCountry(code) ? code : undefined
  const number = mobileWithoutPlus(plain, country) ?? parse(plain, country)
  return number && number.ext === undefined ? number.number : null
}

/**
 * A number stored as digits has often lost its plus: 4915123456789 is a German mobile, although it could also be read as
 * a number somewhere in Germany. We send to mobiles.
 */
function mobileWithoutPlus(text: string, country: CountryCode | undefined): PhoneNumber | null {
  if (country === undefined || !text.startsWith(getCountryCallingCode(country))) return null
  const number = parse(`+${text}`, country)
  const type = number?.getType()
  return type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE' ? number : null
}

function parse(text: string, country: CountryCode | undefined): PhoneNumber | null {
  // The whole text is the number: otherwise one would be found in "call 0151 23456789 at five".
  const number = parsePhoneNumberFromString(text, { ...(country && { defaultCountry: country }), extract: false })
  return number?.isValid() ? number : null
}

import { isSupportedCountry } from 'libphonenumber-js/max'
import type { FieldError } from '../model/errors.ts'
import { parseRetention, RETENTION_RULE } from '../model/retention.ts'
import { dateFormatProblem } from './dates.ts'

/** What a tenant may set, as far as its form alone does not settle it. Null: to be removed. */
export interface GivenSettings {
  defaultLocale?: string
  timeZone?: string
  region?: string | null
  dateFormat?: string | null
  currency?: string | null
  retention?: string | null
}

/** What is wrong with settings, each at its place in the body. */
export function settingProblems(given: GivenSettings): FieldError[] {
  const problems: FieldError[] = []
  const check = (name: keyof GivenSettings, isRight: (value: string) => boolean, message: string): void => {
    const value = given[name]
    if (typeof value === 'string' && !isRight(value)) problems.push({ path: `/${name}`, message })
  }
  check('defaultLocale', isLocale, 'must be a language tag, such as en-IN')
  check('timeZone', isNamedZone, 'must be an IANA time zone, such as Asia/Kolkata')
  check('region', isRegion, 'must be the two letters of a country (ISO 3166), such as IN')
  check('currency', isCurrency, 'must be the three letters of a currency (ISO 4217), such as INR')
  check('retention', (retention) => parseRetention(retention) !== null, RETENTION_RULE)
  const message = typeof given.dateFormat === 'string' ? dateFormatProblem(given.dateFormat) : null
  if (message !== null) problems.push({ path: '/dateFormat', message })
  return problems
}

function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

/** The runtime also takes offsets (+05:30), which know nothing of daylight saving. */
function isNamedZone(timeZone: string): boolean {
  if (!/^[A-Za-z]/.test(timeZone)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** Those that have telephone numbers: it is for reading them that a tenant has a region. */
function isRegion(region: string): boolean {
  return isSupportedCountry(region)
}

function isCurrency(currency: string): boolean {
  return Intl.supportedValuesOf('currency').includes(currency)
}

import { numberFormat, plainSigns } from './locale-text.ts'

/** Intl takes any three letters, and is slow to learn new ones. */
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
const DECIMAL = /^[+-]?\d{1,30}(\.\d{1,20})?$/

/** The number that a value is: numbers, and text such as `"1234.50"`, which keeps every digit. Null where it is none. */
export function readAmount(value: unknown): number | Intl.StringNumericLiteral | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string') return null
  const text = value.trim()
  return DECIMAL.test(text) ? (text as Intl.StringNumericLiteral) : null
}

/** `1.234,50` */
export function formatAmount(amount: number | Intl.StringNumericLiteral, locale: string, decimals = 2): string {
  const digits = Math.min(20, Math.max(0, Math.trunc(decimals) || 0))
  const format = numberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return format ? plainSigns(format.format(amount)) : String(amount)
}

/** `1.234,50 €`, and what has no sign of its own as it is: `1.234,50 XTS`. Without a currency, the amount alone. */
export function formatMoney(
  amount: number | Intl.StringNumericLiteral,
  locale: string,
  currency: string | undefined,
): string {
  const code = currency?.trim().toUpperCase()
  if (!code) return formatAmount(amount, locale)
  const format = CURRENCIES.has(code) ? numberFormat(locale, { style: 'currency', currency: code }) : null
  return format ? plainSigns(format.format(amount)) : `${formatAmount(amount, locale)} ${code.slice(0, 12)}`
}

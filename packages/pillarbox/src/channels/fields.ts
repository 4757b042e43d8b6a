import type { FieldError } from '../model/errors.ts'
import type { Field, ProviderFields } from './channel.ts'

/** Checks of settings that several providers share; each answers what is wrong, or null. */

export const text = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' && value.length <= 2_048 ? null : 'must be text'

export const digits = (value: unknown): string | null =>
  typeof value === 'string' && /^\d{1,32}$/.test(value) ? null : 'must be digits, as text'

export const httpUrl = (value: unknown): string | null =>
  typeof value === 'string' && /^https?:\/\/[^\s]+$/.test(value) && URL.canParse(value)
    ? null
    : 'must be a URL with http or https'

export const emailAddress = (value: unknown): string | null =>
  typeof value === 'string' &&
  /^(?:[^<>\r\n]{0,200}<[^<>@\s]{1,64}@[^<>@\s]{1,255}>|[^<>@\s]{1,64}@[^<>@\s]{1,255})$/.test(value)
    ? null
    : 'must be an email address, also as "Name <address>"'

export const oneOf =
  (...values: readonly string[]) =>
  (value: unknown): string | null =>
    values.includes(value as string) ? null : `must be one of ${values.join(', ')}`

/** Every HTTP provider takes it. */
export const endpoint: Field = {
  words: 'Replaces the vendor’s base URL: scheme, host, port, optional prefix.',
  problem: httpUrl,
}

/** What is wrong with an account's settings and secrets by what the provider says it takes. */
export function fieldProblems(
  fields: ProviderFields,
  settings: Record<string, unknown>,
  secretNames: readonly string[],
): FieldError[] {
  const problems: FieldError[] = []
  for (const [name, field] of Object.entries(fields.settings)) {
    const value = settings[name]
    const isGiven = value !== undefined && value !== null
    if (!isGiven && field.isRequired)
      problems.push({ path: `/settings/${name}`, message: `is missing: ${field.words}` })
    const problem = isGiven ? (field.problem ?? text)(value) : null
    if (problem !== null) problems.push({ path: `/settings/${name}`, message: problem })
  }
  for (const name of Object.keys(fields.secrets))
    if (Object.hasOwn(settings, name) && !Object.hasOwn(fields.settings, name))
      problems.push({
        path: `/settings/${name}`,
        message: 'is a secret: give it under secrets, where nobody can read it',
      })
  for (const [name, field] of Object.entries(fields.secrets))
    if (field.isRequired && !secretNames.includes(name))
      problems.push({ path: `/secrets/${name}`, message: `is missing: ${field.words}` })
  return problems
}

/** Settings that the provider does not know: kept, and probably a slip of the pen. */
export function unknownSettings(fields: ProviderFields, settings: Record<string, unknown>): string[] {
  return Object.keys(settings).filter((name) => !Object.hasOwn(fields.settings, name))
}

import { closest } from '../model/closest.ts'
import type { FieldError } from '../model/errors.ts'
import type { Field, Provider, ProviderFields } from './channel.ts'
import { oneOf, secretText, text } from './fields.ts'

/** What every account may set, whatever its provider. */
export const COMMON_SETTINGS: Readonly<Record<string, Field>> = {
  onUndeliverable: {
    words:
      'What becomes of a notification whose address the vendor finds undeliverable: `park` (default) keeps it for an operator, `fail` ends it. An event type’s own `onUndeliverable` goes before.',
    problem: oneOf('fail', 'park'),
  },
  onUnmapped: {
    words:
      'What becomes of a notification that the vendor refuses with an error nobody has mapped: `retry` tries it again as often as the retry policy allows, `park` gives it up at once. Default: `retry`, for `smtp` `park`.',
    problem: oneOf('retry', 'park'),
  },
}

/** What an account does about a refusal that nobody has mapped; its provider's way where it does not say. */
export function onUnmappedOf(
  provider: Pick<Provider, 'onUnmapped'> | null,
  settings: Record<string, unknown>,
): 'retry' | 'park' {
  const own = settings['onUnmapped']
  return own === 'retry' || own === 'park' ? own : (provider?.onUnmapped ?? 'retry')
}

type FieldTable = Readonly<Record<string, Field>>

/** An account as somebody wants to save it. */
export interface AccountDraft {
  settings: Record<string, unknown>
  /** Those that are new: what is sealed already was checked when it came. */
  newSecrets: Readonly<Record<string, string>>
  /** All that will be set. */
  secretNames: readonly string[]
}

/** Everything that is wrong with an account by what its provider takes. Never quotes a value: it may be a secret. */
export function accountProblems(provider: Provider, draft: AccountDraft): FieldError[] {
  const { fields } = provider
  const { settings, newSecrets, secretNames } = draft
  return [
    ...(fields ? objectProblems('/settings', { ...COMMON_SETTINGS, ...fields.settings }, settings) : []),
    ...(fields ? misplaced(fields, settings) : []),
    ...(fields ? secretProblems(fields.secrets, newSecrets, secretNames) : []),
    ...(provider.checkSettings?.(settings, secretNames) ?? []).map(({ path, message }) => ({
      path: /^\/(?:settings|secrets)\//.test(path) ? path : below('/settings', path),
      message,
    })),
  ]
}

export interface FieldWarning {
  code: 'unknown_setting' | 'unknown_secret' | 'missing_setting' | 'missing_secret'
  key: string
  message: string
}

/** What the provider does not know: kept, and probably a slip of the pen. And what it can do without, but not everything. */
export function accountWarnings(
  { name, fields }: Provider,
  { settings, secretNames }: { settings: Record<string, unknown>; secretNames: readonly string[] },
): FieldWarning[] {
  if (!fields) return []
  const known = { ...COMMON_SETTINGS, ...fields.settings }
  const parts = Object.entries(known).flatMap(([key, field]) =>
    field.parts ? unknownIn(field.parts, asObject(settings[key])).map((part): [string, string] => [key, part]) : [],
  )
  return [
    ...unknownIn(known, settings).map((key) => warning('setting', name, key, known)),
    ...parts.map(([key, part]) => warning('setting', name, part, known[key]?.parts ?? {}, `${key}.`)),
    ...secretNames
      .filter((key) => !Object.hasOwn(fields.secrets, key))
      .map((key) => warning('secret', name, key, fields.secrets)),
    ...missed('setting', fields.settings, (key) => settings[key] !== undefined && settings[key] !== null),
    ...missed('secret', fields.secrets, (key) => secretNames.includes(key)),
  ]
}

function missed(kind: 'setting' | 'secret', fields: FieldTable, has: (key: string) => boolean): FieldWarning[] {
  return Object.entries(fields).flatMap(([key, { without }]) =>
    without === undefined || has(key)
      ? []
      : [{ code: `missing_${kind}`, key, message: `The account has no ${kind} "${key}". ${without}` }],
  )
}

/** Where an account of this provider connects to by its settings: the setting's name, and the host. */
export function dialledHosts(fields: ProviderFields, settings: Record<string, unknown>): Map<string, string> {
  const hosts = new Map<string, string>()
  const collect = (prefix: string, known: FieldTable, values: Record<string, unknown>): void => {
    for (const [name, field] of Object.entries(known)) {
      const value = values[name]
      if (field.parts) collect(`${prefix}${name}.`, field.parts, asObject(value))
      if (field.dials && typeof value === 'string') hosts.set(`${prefix}${name}`, hostOf(value))
    }
  }
  collect('', fields.settings, settings)
  return hosts
}

/** Of a URL, or a host's name as it stands. */
function hostOf(value: string): string {
  return URL.canParse(value) && value.includes('://') ? new URL(value).hostname.replaceAll(/^\[|\]$/g, '') : value
}

function objectProblems(pointer: string, fields: FieldTable, values: Record<string, unknown>): FieldError[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = `${pointer}/${name}`
    const value = values[name]
    if (value === undefined || value === null)
      return field.isRequired ? [{ path, message: `is missing: ${field.words}` }] : []
    if (field.parts)
      return isObject(value)
        ? objectProblems(path, field.parts, value)
        : [{ path, message: `must be an object: {${Object.keys(field.parts).join(', ')}}` }]
    const message = (field.problem ?? text)(value)
    return message === null ? [] : [{ path, message }]
  })
}

function misplaced(fields: ProviderFields, settings: Record<string, unknown>): FieldError[] {
  return Object.keys(fields.secrets)
    .filter((name) => Object.hasOwn(settings, name) && !Object.hasOwn(fields.settings, name))
    .map((name) => ({
      path: `/settings/${name}`,
      message: 'is a secret: give it under secrets, where nobody can read it',
    }))
}

function secretProblems(
  fields: FieldTable,
  given: Readonly<Record<string, string>>,
  names: readonly string[],
): FieldError[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = `/secrets/${name}`
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined)
      return field.isRequired && !names.includes(name) ? [{ path, message: `is missing: ${field.words}` }] : []
    const message = (field.problem ?? secretText)(value)
    return message === null ? [] : [{ path, message }]
  })
}

function unknownIn(known: FieldTable, values: Record<string, unknown>): string[] {
  return Object.keys(values).filter((name) => !Object.hasOwn(known, name))
}

function warning(
  kind: 'setting' | 'secret',
  provider: string,
  key: string,
  known: FieldTable,
  prefix = '',
): FieldWarning {
  const meant = closest(key, Object.keys(known))
  const advice = meant === null ? '' : ` Did you mean "${prefix}${meant}"?`
  return {
    code: `unknown_${kind}`,
    key: `${prefix}${key}`,
    message: `${provider} knows no ${kind} "${prefix}${key}".${advice}`,
  }
}

function below(pointer: string, path: string): string {
  return path === '' || path.startsWith('/') ? `${pointer}${path}` : `${pointer}/${path}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function asObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

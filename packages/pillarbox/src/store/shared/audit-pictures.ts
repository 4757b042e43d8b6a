import type { StoredAccount } from '../../model/account.ts'
import type { ApiKey } from '../../model/api-key.ts'
import type { EventType } from '../../model/catalogue.ts'
import type { Contact } from '../../model/contact.ts'
import { addressField, maskAddress } from '../../model/recipient.ts'
import type { RecipientList } from '../../model/recipient-list.ts'
import type { Suppression } from '../../model/suppression.ts'
import type { Template } from '../../model/template.ts'
import type { Tenant } from '../../model/tenant.ts'

/**
 * What the audit shows of configuration before and after a change. Each noun names what may be shown of it; whatever it has
 * beside that, secrets above all, is not even looked at. People are masked, long texts are cut.
 */
export type Picture = Record<string, unknown>

/** What of a noun differs, before and after. Null on the side where there was nothing. */
export function changeOf(
  before: Picture | null,
  after: Picture | null,
): { before: Picture | null; after: Picture | null } {
  if (before === null || after === null) return { before, after }
  const differing = Object.keys({ ...before, ...after }).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
  const of = (picture: Picture): Picture =>
    Object.fromEntries(differing.map((field) => [field, picture[field] ?? null]))
  return { before: of(before), after: of(after) }
}

/** As much as tells one text from another; the whole is kept where it belongs, such as a template's versions. */
const MOST_CHARACTERS = 500
const MOST_JSON = 2_000

/** A value as the audit keeps it, however large it is. */
function bounded(value: unknown): unknown {
  if (typeof value === 'string' && value.length > MOST_CHARACTERS)
    return `${value.slice(0, MOST_CHARACTERS).toWellFormed()}… (${value.length} characters)`
  if (typeof value !== 'object' || value === null) return value
  const text = JSON.stringify(value)
  return text.length > MOST_JSON
    ? `${text.slice(0, MOST_CHARACTERS).toWellFormed()}… (${text.length} characters)`
    : value
}

function pictureOf<T extends object>(noun: T, fields: readonly (keyof T & string)[]): Picture {
  return Object.fromEntries(fields.map((field) => [field, bounded(noun[field])]))
}

const TENANT_SETTINGS = ['region', 'currency', 'dateFormat', 'missingPlaceholder', 'retention', 'hasuraSecretHeader']

export function pictureOfTenant(tenant: Omit<Tenant, 'createdAt'>): Picture {
  const settings = Object.entries(tenant.settings).map(([name, value]) => [
    name,
    TENANT_SETTINGS.includes(name) ? bounded(value) : 'set',
  ])
  return {
    ...pictureOf(tenant, ['name', 'defaultLocale', 'timeZone']),
    settings: Object.fromEntries(settings) as Picture,
  }
}

export function pictureOfKey(key: Omit<ApiKey, 'createdAt' | 'revokedAt' | 'lastUsedAt'>): Picture {
  const { expiresAt } = key
  return {
    ...pictureOf(key, ['name', 'role', 'site', 'ratePerSecond']),
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  }
}

/** Settings that say where and as whom an account sends. Of every other it is only said that it is set. */
const ACCOUNT_SETTINGS = new Set(
  `apiVersion appId configurationSet dltEntityId fromAddress host onUndeliverable onUnmapped packageSid phoneNumberId port
   projectId region replyTo route senderId tenantId tier tls topicArn wabaId`.split(/\s+/),
)

/** Many carry their secret in path or query, so only the host is shown. */
const ADDRESS_SETTINGS = new Set(['endpoint', 'tokenUrl', 'url'])

type Configured = Omit<StoredAccount, 'createdAt' | 'updatedAt'>

export function pictureOfAccount(account: Configured): Picture {
  const settings = Object.entries(account.settings).map(([name, value]) => [name, shownSetting(name, value)])
  return {
    ...pictureOf(account, [
      'channel',
      'provider',
      'name',
      'pace',
      'retry',
      'parkedRetryAfterMs',
      'onUnknown',
      'breaker',
      'priority',
      'status',
    ]),
    settings: Object.fromEntries(settings) as Picture,
    secretNames: account.secretNames.toSorted(),
  }
}

function shownSetting(name: string, value: unknown): unknown {
  if (ADDRESS_SETTINGS.has(name) && typeof value === 'string') return maskAddress({ url: value }).url
  return ACCOUNT_SETTINGS.has(name) && (typeof value !== 'object' || value === null) ? bounded(value) : 'set'
}

/** Before and after of a changed account, and that its secrets were changed where they were: not which value they had. */
export function changeOfAccount(before: Configured, after: Configured): ReturnType<typeof changeOf> {
  const change = changeOf(pictureOfAccount(before), pictureOfAccount(after))
  if (before.sealedSecrets === after.sealedSecrets) return change
  return { before: change.before, after: { ...change.after, secrets: 'changed' } }
}

export function pictureOfTemplate(template: Template): Picture {
  const place = ['eventType', 'channel', 'locale', 'scope'] as const
  return pictureOf(template, [...place, 'subject', 'body', 'format', 'providerTemplate', 'isActive', 'version'])
}

/** Recognisable to those who know the person, and nothing to the others. */
export function pictureOfContact(contact: Contact): Picture {
  const { name, phone, email } = contact
  const known = { ...(name && { name }), ...(phone && { phone }), ...(email && { email }) }
  const nobody = { name: null, phone: null, email: null }
  return { ...pictureOf(contact, ['profileId', 'userId', 'locale']), ...nobody, ...maskAddress(known) }
}

export function pictureOfList(list: Pick<RecipientList, 'name' | 'memberCount'>): Picture {
  return pictureOf(list, ['name', 'memberCount'])
}

export function pictureOfSuppression(suppression: Omit<Suppression, 'createdAt'>): Picture {
  const { channel, address, cause } = suppression
  const [shown] = Object.values<unknown>({ ...maskAddress({ [addressField(channel)]: address }) })
  return { channel, address: shown ?? null, cause }
}

/** What an import brought: the document itself is kept with its version. */
export function changeOfCatalogue(
  {
    name,
    version,
    formerTypes,
    types,
  }: {
    name: string
    version: number
    formerTypes: readonly EventType[]
    types: readonly EventType[]
  },
  templates: { added: number; changed: number },
): Picture {
  const former = new Map(formerTypes.map((type) => [type.name, JSON.stringify(type)]))
  const now = new Map(types.map((type) => [type.name, JSON.stringify(type)]))
  const eventTypes = {
    added: [...now.keys()].filter((type) => !former.has(type)),
    changed: [...now].flatMap(([type, text]) => (former.has(type) && former.get(type) !== text ? [type] : [])),
    removed: [...former.keys()].filter((type) => !now.has(type)),
  }
  return { name, version, eventTypes: bounded(eventTypes), templates }
}

import type { Delivery, RecipientPaths } from '../model/catalogue.ts'
import { asPath, type Form, fieldsOf, flagOf, itemsOf, type Json, type Report, step, textOf } from './fields.ts'

export const RECIPIENT_PATHS = [
  'phone',
  'email',
  'name',
  'locale',
  'profileId',
  'userId',
  'deviceToken',
  'platform',
  'url',
] as const
const REACHES_SOMEBODY = ['phone', 'email', 'profileId', 'userId', 'deviceToken', 'url'] as const
const LIST_NAME: Form = { pattern: /^\P{Cc}{1,200}$/u, what: 'the name of a recipient list', such: 'ops-team' }

export function recipientsOf(report: Report, value: unknown, path: string, delivery: Delivery): RecipientPaths[] {
  if (value === null) report.wrong(path, 'is empty: give a list, or [] where every event names its own')
  if (value === undefined && delivery.kind !== 'none')
    report.odd(
      path,
      'is missing: say where the recipients are in the payload, such as [{ email: guestEmail }], or [] where every event names its own',
    )
  return itemsOf(report, value, path, { max: 20 }).map((entry, i) => {
    const at = `${path}/${i}`
    const json = fieldsOf(report, entry, at, {
      known: [...RECIPIENT_PATHS, 'list', 'expand'],
      what: 'an object of dot paths into the payload, such as { email: guestEmail }',
    })
    if (!json) return {}
    return json['list'] === undefined ? recipientOf(report, json, at) : listOf(report, json, at)
  })
}

function listOf(report: Report, json: Json, path: string): RecipientPaths {
  for (const key of Object.keys(json))
    if (key !== 'list' && key !== 'expand')
      report.wrong(step(path, key), 'cannot stand beside list; give it an entry of its own')
  const list = textOf(report, json['list'], `${path}/list`, LIST_NAME) ?? ''
  return flagOf(report, json['expand'], `${path}/expand`) ? { list, expand: true } : { list }
}

function recipientOf(report: Report, json: Json, path: string): RecipientPaths {
  const paths: RecipientPaths = {}
  for (const field of RECIPIENT_PATHS) {
    const given = asPath(report, json[field], `${path}/${field}`, { throughLists: true })
    if (given === null) continue
    if (given.split('[]').length > 2) report.wrong(`${path}/${field}`, 'may go through one list only')
    else paths[field] = given
  }
  if (json['expand'] !== undefined) report.wrong(`${path}/expand`, 'goes with list only')
  // A mistyped field has been reported, and is probably the one that is missing.
  const known: readonly string[] = [...RECIPIENT_PATHS, 'expand']
  const isBlank = REACHES_SOMEBODY.every((field) => json[field] === undefined)
  if (isBlank && Object.keys(json).every((key) => known.includes(key)))
    report.wrong(path, `reaches nobody: give at least one of ${REACHES_SOMEBODY.join(', ')} or list`)
  const lists = new Set(Object.values(paths).flatMap((given) => /^(.*)\[\]/.exec(String(given))?.[1] ?? []))
  if (lists.size > 1)
    report.wrong(path, `must go through one list, not through ${[...lists].join(' and ')}; make an entry for each`)
  return paths
}

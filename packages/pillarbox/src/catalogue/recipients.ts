import type { RecipientPaths } from '../model/catalogue.ts'
import { pointerTo } from '../model/json-pointer.ts'
import type { CatalogueReport } from './report.ts'
import type { EventTypeRemains } from './schema.ts'

type RecipientRemains = NonNullable<NonNullable<EventTypeRemains['recipients']>[number]>

const REACHES_SOMEBODY = ['phone', 'email', 'profileId', 'userId', 'deviceToken', 'url'] as const
export const RECIPIENT_PATHS = [...REACHES_SOMEBODY, 'name', 'locale', 'platform'] as const

export function recipientsOf(
  report: CatalogueReport,
  entries: NonNullable<EventTypeRemains['recipients']>,
  path: string,
): RecipientPaths[] {
  return entries.flatMap((entry, i) => {
    if (!entry) return []
    return entry.list === undefined ? recipientOf(report, entry, `${path}/${i}`) : listOf(report, entry, `${path}/${i}`)
  })
}

function listOf(
  report: CatalogueReport,
  { list = '', expand, ...others }: RecipientRemains,
  path: string,
): RecipientPaths {
  for (const [key, field] of Object.entries(others))
    if (field !== undefined) report.wrong(pointerTo(path, key), 'cannot stand beside list; give it an entry of its own')
  return expand ? { list, expand } : { list }
}

function recipientOf(report: CatalogueReport, given: RecipientRemains, path: string): RecipientPaths {
  if (given.expand !== undefined && !report.isFaulty(`${path}/list`))
    report.wrong(`${path}/expand`, 'goes with list only')
  const paths: RecipientPaths = {}
  for (const field of RECIPIENT_PATHS) if (given[field]) paths[field] = given[field]
  // A mistyped field has been reported, and is probably the one that is missing.
  if (REACHES_SOMEBODY.every((field) => !given[field]) && !report.isFaulty(path))
    report.wrong(path, `reaches nobody: give at least one of ${REACHES_SOMEBODY.join(', ')} or list`)
  const lists = new Set(Object.values(paths).flatMap((given) => /^(.*)\[\]/.exec(String(given))?.[1] ?? []))
  if (lists.size > 1)
    report.wrong(path, `must go through one list, not through ${[...lists].join(' and ')}; make an entry for each`)
  return paths
}

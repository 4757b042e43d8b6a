import type { Page, PageOf } from '../../model/page.ts'
import type { NewTemplate, Template, TemplateVersion } from '../../model/template.ts'
import type { TemplateFilter, TemplateStore } from '../../tenant/template-store.ts'
import { writeChange } from './audit.ts'
import { pictureOfTemplate } from './audit-pictures.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import { isUniqueViolation, uuidOrNull } from './fields.ts'
import { conditionsOf, findBy, listBy, nounOf } from './noun.ts'
import { type Dialect, givenIds, row, rows, type Script, type ScriptRunner } from './script.ts'

export const TEMPLATES = nounOf<Template>('templates', {
  id: 'uuid',
  tenantId: 'text',
  eventType: 'text',
  channel: 'text',
  locale: 'text',
  scope: 'entity',
  subject: 'text',
  body: 'text',
  format: 'text',
  providerTemplate: 'json',
  version: 'number',
  isActive: 'boolean',
  isEdited: 'boolean',
  createdAt: 'instant',
  updatedAt: 'instant',
  updatedBy: 'text',
})

/** What makes a template's place unique, in the order of lists. */
const TEMPLATE_PLACE = `event_type, channel, locale, coalesce(scope_type, ''), coalesce(scope_id, '')`

export function sharedTemplates({ dialect, read, write }: ScriptRunner): TemplateStore {
  return {
    insert: (template, actor) => write(() => insertTemplate(dialect, template, actor)),
    find: (tenantId, id) => read(() => findBy(TEMPLATES, { tenantId, id })),
    list: (tenantId, filter, page) => read(() => listTemplates(tenantId, filter, page)),
    ofEventType: (tenantId, eventType) => read(() => listBy(TEMPLATES, { tenantId, eventType }, TEMPLATE_PLACE)),
    update: (tenantId, id, changes, actor, version) =>
      write(() => updateTemplate(dialect, { tenantId, id, changes, actor, version })).catch((error: unknown) => {
        if (isUniqueViolation(error)) return 'taken' as const
        throw error
      }),
    remove: (tenantId, id, actor) => write(() => removeTemplate(dialect, tenantId, id, actor)),
    versions: (tenantId, id) => read(() => versionsOf(tenantId, id)),
    markUsed: async (ids) => {
      const wanted = [...new Set(ids.map(uuidOrNull).filter((id) => id !== null))].sort()
      if (wanted.length === 0) return
      // Nearly always they are known, and then nothing has to be written.
      const unmarked = await read(() => unmarkedOf(wanted))
      if (unmarked.length > 0) await write(() => markTemplates(unmarked))
    },
  }
}

/** The values of a template's columns; an entity has two. */
function valuesOf({ scope, ...template }: NewTemplate, actor: string): object {
  return { ...template, scopeType: scope?.type ?? null, scopeId: scope?.id ?? null, actor }
}

/** What somebody wrote by hand counts as edited: an import that brings the same place does not overwrite it. */
function* insertTemplate(dialect: Dialect, template: NewTemplate, actor: string): Script<Template | null> {
  const written = yield* row(
    `insert into pillarbox.templates (id, tenant_id, event_type, channel, locale, scope_type, scope_id, subject, body,
        format, provider_template, version, is_active, is_edited, created_at, updated_at, updated_by)
      values (:id, :tenantId, :eventType, :channel, :locale, :scopeType, :scopeId, :subject, :body, :format, :providerTemplate, 1,
        :isActive, true, ${dialect.now}, ${dialect.now}, :actor)
      on conflict do nothing returning ${TEMPLATES.columns}`,
    valuesOf(template, actor),
  )
  if (!written) return null
  const inserted = TEMPLATES.of(written)
  yield* keepVersions([inserted.id])
  yield* auditTemplate(dialect, { before: null, after: inserted }, 'create', actor)
  return inserted
}

function* listTemplates(tenantId: string, filter: TemplateFilter, page: Page): Script<PageOf<Template>> {
  const where = [
    'tenant_id = :tenantId',
    ...conditionsOf(filter, {
      eventType: 'event_type = :eventType',
      channel: 'channel = :channel',
      locale: 'locale = :locale',
      isActive: 'is_active = :isActive',
    }),
  ]
  const after = page.cursor === undefined ? null : decodeCursor(page.cursor, 5)
  if (after) where.push(`(${TEMPLATE_PLACE}) > (${after.map((_, i) => `cast(:after${i} as text)`).join(', ')})`)
  const place = Object.fromEntries((after ?? []).map((part, i) => [`after${i}`, part]))
  const found = yield* rows(
    `select ${TEMPLATES.columns} from pillarbox.templates where ${where.join(' and ')}
      order by ${TEMPLATE_PLACE} limit :limit`,
    { ...filter, ...place, tenantId, limit: page.limit + 1 },
  )
  return pageOf(found.map(TEMPLATES.of), page.limit, ({ eventType, channel, locale, scope }) => [
    eventType,
    channel,
    locale,
    scope?.type ?? '',
    scope?.id ?? '',
  ])
}

interface TemplateUpdate {
  tenantId: string
  id: string
  changes: Parameters<TemplateStore['update']>[2]
  actor: string
  version: number | undefined
}

/** Saving a template as it is makes no version of it. */
function* updateTemplate(
  dialect: Dialect,
  { tenantId, id, changes, actor, version }: TemplateUpdate,
): Script<Template | 'stale' | null> {
  const current = yield* findBy(TEMPLATES, { tenantId, id }, { lockedBy: dialect })
  if (!current) return null
  if (version !== undefined && version !== current.version) return 'stale'
  const wanted = { ...current, ...changes }
  if (WRITABLE.every((field) => JSON.stringify(wanted[field]) === JSON.stringify(current[field]))) return current
  return yield* saveVersion(dialect, { current, wanted }, 'update', actor)
}

const WRITABLE = [
  'eventType',
  'channel',
  'locale',
  'scope',
  'subject',
  'body',
  'format',
  'providerTemplate',
  'isActive',
] as const satisfies (keyof NewTemplate)[]

function* saveVersion(
  dialect: Dialect,
  { current, wanted }: { current: Template; wanted: Template },
  action: string,
  actor: string,
): Script<Template> {
  const found = yield* row(
    `update pillarbox.templates set event_type = :eventType, channel = :channel, locale = :locale,
        scope_type = :scopeType, scope_id = :scopeId, subject = :subject, body = :body, format = :format,
        provider_template = :providerTemplate, is_active = :isActive, is_edited = true, version = version + 1,
        updated_at = ${dialect.now}, updated_by = :actor
      where id = :id returning ${TEMPLATES.columns}`,
    valuesOf(wanted, actor),
  )
  const saved = found ? TEMPLATES.of(found) : wanted
  yield* keepVersions([saved.id])
  yield* auditTemplate(dialect, { before: current, after: saved }, action, actor)
  return saved
}

function* removeTemplate(
  dialect: Dialect,
  tenantId: string,
  id: string,
  actor: string,
): Script<'removed' | Template | null> {
  const current = yield* findBy(TEMPLATES, { tenantId, id }, { lockedBy: dialect })
  if (!current) return null
  const isUsed = yield* row('select template_id from pillarbox.template_uses where template_id = :id', current)
  if (isUsed)
    return current.isActive
      ? yield* saveVersion(dialect, { current, wanted: { ...current, isActive: false } }, 'deactivate', actor)
      : current
  yield* rows('delete from pillarbox.templates where id = :id', current)
  yield* auditTemplate(dialect, { before: current, after: null }, 'remove', actor)
  return 'removed'
}

/** Copies templates as they now stand into their histories. */
export function* keepVersions(ids: readonly string[]): Script<void> {
  yield* rows(
    `insert into pillarbox.template_versions
        (template_id, version, subject, body, format, provider_template, is_active, changed_by, changed_at)
      select id, version, subject, body, format, provider_template, is_active, updated_by, updated_at
      from pillarbox.templates where id in (select g.id from :g)`,
    { g: givenIds(ids) },
  )
}

function auditTemplate(
  dialect: Dialect,
  change: { before: Template | null; after: Template | null },
  action: string,
  actor: string,
): Script<void> {
  return writeChange(dialect, 'template', { ...change, pictureOf: pictureOfTemplate }, { action, actor })
}

const VERSIONS = nounOf<TemplateVersion>('template_versions', {
  version: 'number',
  subject: 'text',
  body: 'text',
  format: 'text',
  providerTemplate: 'json',
  isActive: 'boolean',
  changedAt: 'instant',
  changedBy: 'text',
})

function* versionsOf(tenantId: string, id: string): Script<TemplateVersion[]> {
  const template = yield* findBy(TEMPLATES, { tenantId, id })
  if (!template) return []
  const found = yield* rows(
    `select ${VERSIONS.columns} from pillarbox.template_versions where template_id = :id order by version desc`,
    template,
  )
  return found.map(VERSIONS.of)
}

function* unmarkedOf(ids: readonly string[]): Script<string[]> {
  const found = yield* rows(
    `select g.id from :g
      where not exists (select 1 from pillarbox.template_uses u where u.template_id = g.id) order by g.id`,
    { g: givenIds(ids) },
  )
  return found.map(({ id }) => String(id))
}

function* markTemplates(ids: readonly string[]): Script<void> {
  yield* rows(
    `insert into pillarbox.template_uses (template_id) select g.id from :g where true on conflict do nothing`,
    { g: givenIds(ids) },
  )
}

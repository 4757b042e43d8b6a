import type { ProviderTemplate } from '../../model/catalogue.ts'
import type { Channel } from '../../model/channel.ts'
import type { Page, PageOf } from '../../model/page.ts'
import type { NewTemplate, Template, TemplateVersion } from '../../model/template.ts'
import type { TemplateFilter, TemplateStore } from '../../tenant/template-store.ts'
import { writeAudit } from './audit.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import { booleanOf, entityOrNull, isUniqueViolation, jsonText, textOrNull, uuidOrNull } from './fields.ts'
import { parameters } from './parameters.ts'
import { type Dialect, instantOf, jsonOrNull, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedTemplates({ dialect, read, write }: ScriptRunner): TemplateStore {
  return {
    insert: (template, actor) => write(() => insertTemplate(dialect, template, actor)),
    find: (tenantId, id) => read(() => findTemplate(tenantId, id)),
    list: (tenantId, filter, page) => read(() => listTemplates(tenantId, filter, page)),
    ofEventType: (tenantId, eventType) => read(() => templatesOf(tenantId, eventType)),
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
      const unmarked = await read(() => unmarkedOf(dialect, wanted))
      if (unmarked.length > 0) await write(() => markTemplates(dialect, unmarked))
    },
  }
}

/** The columns `templateOf` reads. */
export const TEMPLATE_COLUMNS = `id, tenant_id, event_type, channel, locale, scope_type, scope_id, subject, body,
  provider_template, version, is_active, is_edited, created_at, updated_at, updated_by`

/** What makes a template's place unique, in the order of lists. */
const TEMPLATE_PLACE = `event_type, channel, locale, coalesce(scope_type, ''), coalesce(scope_id, '')`

export function templateOf(found: Row): Template {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    eventType: String(found['event_type']),
    channel: String(found['channel']) as Channel,
    locale: String(found['locale']),
    scope: entityOrNull(found['scope_type'], found['scope_id']),
    subject: textOrNull(found['subject']),
    body: String(found['body']),
    providerTemplate: jsonOrNull<ProviderTemplate>(found['provider_template']),
    version: Number(found['version']),
    isActive: booleanOf(found['is_active']),
    isEdited: booleanOf(found['is_edited']),
    createdAt: instantOf(found['created_at']),
    updatedAt: instantOf(found['updated_at']),
    updatedBy: String(found['updated_by']),
  }
}

/** What somebody wrote by hand counts as edited: an import that brings the same place does not overwrite it. */
function* insertTemplate(dialect: Dialect, template: NewTemplate, actor: string): Script<Template | null> {
  const written = yield* row(
    `insert into pillarbox.templates (id, tenant_id, event_type, channel, locale, scope_type, scope_id, subject, body,
        provider_template, version, is_active, is_edited, created_at, updated_at, updated_by)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, true, ${dialect.now}, ${dialect.now}, $12)
      on conflict do nothing returning ${TEMPLATE_COLUMNS}`,
    [
      template.id,
      template.tenantId,
      template.eventType,
      template.channel,
      template.locale,
      template.scope?.type ?? null,
      template.scope?.id ?? null,
      template.subject,
      template.body,
      jsonText(template.providerTemplate),
      template.isActive,
      actor,
    ],
  )
  if (!written) return null
  const inserted = templateOf(written)
  yield* keepVersions(dialect, [inserted.id])
  yield* auditTemplate(dialect, inserted, 'create', actor)
  return inserted
}

function* findTemplate(tenantId: string, id: string): Script<Template | null> {
  const templateId = uuidOrNull(id)
  if (templateId === null) return null
  const found = yield* row(`select ${TEMPLATE_COLUMNS} from pillarbox.templates where tenant_id = $1 and id = $2`, [
    tenantId,
    templateId,
  ])
  return found && templateOf(found)
}

function* listTemplates(tenantId: string, filter: TemplateFilter, page: Page): Script<PageOf<Template>> {
  const { add, values } = parameters()
  const where = [`tenant_id = ${add(tenantId)}`]
  if (filter.eventType !== undefined) where.push(`event_type = ${add(filter.eventType)}`)
  if (filter.channel !== undefined) where.push(`channel = ${add(filter.channel)}`)
  if (filter.locale !== undefined) where.push(`locale = ${add(filter.locale)}`)
  if (filter.isActive !== undefined) where.push(filter.isActive ? 'is_active' : 'not is_active')
  if (page.cursor !== undefined) {
    const place = decodeCursor(page.cursor, 5).map((part) => `cast(${add(part)} as text)`)
    where.push(`(${TEMPLATE_PLACE}) > (${place.join(', ')})`)
  }
  const found = yield* rows(
    `select ${TEMPLATE_COLUMNS} from pillarbox.templates where ${where.join(' and ')}
      order by ${TEMPLATE_PLACE} limit ${add(page.limit + 1)}`,
    values,
  )
  return pageOf(found.map(templateOf), page.limit, ({ eventType, channel, locale, scope }) => [
    eventType,
    channel,
    locale,
    scope?.type ?? '',
    scope?.id ?? '',
  ])
}

function* templatesOf(tenantId: string, eventType: string): Script<Template[]> {
  const found = yield* rows(
    `select ${TEMPLATE_COLUMNS} from pillarbox.templates where tenant_id = $1 and event_type = $2 order by ${TEMPLATE_PLACE}`,
    [tenantId, eventType],
  )
  return found.map(templateOf)
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
  const current = yield* lockTemplate(tenantId, id)
  if (!current) return null
  if (version !== undefined && version !== current.version) return 'stale'
  const wanted = { ...current, ...changes }
  if (WRITABLE.every((field) => JSON.stringify(wanted[field]) === JSON.stringify(current[field]))) return current
  return yield* saveVersion(dialect, wanted, 'update', actor)
}

const WRITABLE = [
  'eventType',
  'channel',
  'locale',
  'scope',
  'subject',
  'body',
  'providerTemplate',
  'isActive',
] as const satisfies (keyof NewTemplate)[]

/** As it is now, and as it stays until the transaction ends. */
function* lockTemplate(tenantId: string, id: string): Script<Template | null> {
  const templateId = uuidOrNull(id)
  if (templateId === null) return null
  // Changes nothing, but locks the row.
  const found = yield* row(
    `update pillarbox.templates set version = version where tenant_id = $1 and id = $2 returning ${TEMPLATE_COLUMNS}`,
    [tenantId, templateId],
  )
  return found && templateOf(found)
}

function* saveVersion(dialect: Dialect, wanted: Template, action: string, actor: string): Script<Template> {
  const found = yield* row(
    `update pillarbox.templates set event_type = $2, channel = $3, locale = $4, scope_type = $5, scope_id = $6,
        subject = $7, body = $8, provider_template = $9, is_active = $10, is_edited = true, version = version + 1,
        updated_at = ${dialect.now}, updated_by = $11
      where id = $1 returning ${TEMPLATE_COLUMNS}`,
    [
      wanted.id,
      wanted.eventType,
      wanted.channel,
      wanted.locale,
      wanted.scope?.type ?? null,
      wanted.scope?.id ?? null,
      wanted.subject,
      wanted.body,
      jsonText(wanted.providerTemplate),
      wanted.isActive,
      actor,
    ],
  )
  const saved = found ? templateOf(found) : wanted
  yield* keepVersions(dialect, [saved.id])
  yield* auditTemplate(dialect, saved, action, actor)
  return saved
}

function* removeTemplate(
  dialect: Dialect,
  tenantId: string,
  id: string,
  actor: string,
): Script<'removed' | Template | null> {
  const current = yield* lockTemplate(tenantId, id)
  if (!current) return null
  const isUsed = yield* row('select template_id from pillarbox.template_uses where template_id = $1', [current.id])
  if (isUsed)
    return current.isActive
      ? yield* saveVersion(dialect, { ...current, isActive: false }, 'deactivate', actor)
      : current
  yield { text: 'delete from pillarbox.templates where id = $1', values: [current.id] }
  yield* auditTemplate(dialect, current, 'remove', actor)
  return 'removed'
}

/** Copies templates as they now stand into their histories. */
export function* keepVersions(dialect: Dialect, ids: readonly string[]): Script<void> {
  const { add, values } = parameters()
  const given = dialect.table('g', { id: 'uuid' }, asRows(ids), add)
  yield {
    text: `insert into pillarbox.template_versions
        (template_id, version, subject, body, provider_template, is_active, changed_by, changed_at)
      select id, version, subject, body, provider_template, is_active, updated_by, updated_at
      from pillarbox.templates where id in (select g.id from ${given})`,
    values,
  }
}

function auditTemplate(dialect: Dialect, { tenantId, id }: Template, action: string, actor: string): Script<void> {
  return writeAudit(dialect, { tenantId, actor, action, subject: `template:${id}` })
}

function* versionsOf(tenantId: string, id: string): Script<TemplateVersion[]> {
  const templateId = uuidOrNull(id)
  if (templateId === null) return []
  const found = yield* rows(
    `select v.version, v.subject, v.body, v.provider_template, v.is_active, v.changed_at, v.changed_by
      from pillarbox.template_versions v join pillarbox.templates t on t.id = v.template_id
      where t.tenant_id = $1 and t.id = $2 order by v.version desc`,
    [tenantId, templateId],
  )
  return found.map((version) => ({
    version: Number(version['version']),
    subject: textOrNull(version['subject']),
    body: String(version['body']),
    providerTemplate: jsonOrNull<ProviderTemplate>(version['provider_template']),
    isActive: booleanOf(version['is_active']),
    changedAt: instantOf(version['changed_at']),
    changedBy: String(version['changed_by']),
  }))
}

function* unmarkedOf(dialect: Dialect, ids: readonly string[]): Script<string[]> {
  const { add, values } = parameters()
  const given = dialect.table('g', { id: 'uuid' }, asRows(ids), add)
  const found = yield* rows(
    `select g.id from ${given}
      where not exists (select 1 from pillarbox.template_uses u where u.template_id = g.id) order by g.id`,
    values,
  )
  return found.map(({ id }) => String(id))
}

function* markTemplates(dialect: Dialect, ids: readonly string[]): Script<void> {
  const { add, values } = parameters()
  const given = dialect.table('g', { id: 'uuid' }, asRows(ids), add)
  yield {
    text: `insert into pillarbox.template_uses (template_id) select g.id from ${given} where true on conflict do nothing`,
    values,
  }
}

function asRows(ids: readonly string[]): { id: string }[] {
  return ids.map((id) => ({ id }))
}

import type { Catalogue, EventType } from '../../model/catalogue.ts'
import type { Channel } from '../../model/channel.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { CatalogueStore, Template } from '../store.ts'
import { booleanOf, textOrNull } from './fields.ts'
import { type Dialect, jsonOf, type Row, row, rows, type Script, type ScriptRunner } from './script.ts'

export function sharedCatalogue({ dialect, read, write }: ScriptRunner): CatalogueStore {
  return {
    replace: (tenantId, catalogue, newId) => write(() => replaceCatalogue(dialect, tenantId, catalogue, newId)),
    eventType: (tenantId, name) => read(() => findEventType(tenantId, name)),
    eventTypes: (tenantId) => read(() => listEventTypes(tenantId)),
    templates: (tenantId, eventType) => read(() => listTemplates(tenantId, eventType)),
    entities: (tenantId) => read(() => findEntities(tenantId)),
  }
}

/** Rejects with `not_found` where there is no such tenant. Templates the new catalogue does not name stay. */
function* replaceCatalogue(
  dialect: Dialect,
  tenantId: string,
  catalogue: Catalogue,
  newId: () => string,
): Script<{ version: number }> {
  // First, because it locks the tenant's row: two imports at once happen one after the other.
  const tenant = yield* row(
    `update pillarbox.tenants set entities = $2, catalogue_version = catalogue_version + 1 where id = $1
      returning catalogue_version`,
    [tenantId, JSON.stringify(catalogue.entities)],
  )
  if (!tenant) throw new PillarboxError('not_found', `There is no tenant ${tenantId}`)
  yield { text: 'delete from pillarbox.event_types where tenant_id = $1', values: [tenantId] }
  for (const type of catalogue.eventTypes)
    yield {
      text: 'insert into pillarbox.event_types (tenant_id, name, definition) values ($1, $2, $3)',
      values: [tenantId, type.name, JSON.stringify(type)],
    }
  for (const seed of catalogue.templates)
    yield {
      text: `insert into pillarbox.templates as t
          (id, tenant_id, event_type, channel, locale, subject, body, version, is_active, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, 1, true, ${dialect.now}, ${dialect.now})
        on conflict (tenant_id, event_type, channel, locale) do update
          set subject = excluded.subject, body = excluded.body, version = t.version + 1, updated_at = excluded.updated_at
          where t.subject is distinct from excluded.subject or t.body <> excluded.body`,
      values: [newId(), tenantId, seed.eventType, seed.channel, seed.locale, seed.subject, seed.body],
    }
  return { version: Number(tenant['catalogue_version']) }
}

function* findEventType(tenantId: string, name: string): Script<EventType | null> {
  const found = yield* row('select definition from pillarbox.event_types where tenant_id = $1 and name = $2', [
    tenantId,
    name,
  ])
  return found && jsonOf<EventType>(found['definition'])
}

function* listEventTypes(tenantId: string): Script<EventType[]> {
  const found = yield* rows('select definition from pillarbox.event_types where tenant_id = $1 order by name', [
    tenantId,
  ])
  return found.map((type) => jsonOf<EventType>(type['definition']))
}

function* listTemplates(tenantId: string, eventType: string): Script<Template[]> {
  const found = yield* rows(
    `select id, tenant_id, event_type, channel, locale, subject, body, version, is_active from pillarbox.templates
      where tenant_id = $1 and event_type = $2 order by channel, locale`,
    [tenantId, eventType],
  )
  return found.map(templateOf)
}

function templateOf(found: Row): Template {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    eventType: String(found['event_type']),
    channel: String(found['channel']) as Channel,
    locale: String(found['locale']),
    subject: textOrNull(found['subject']),
    body: String(found['body']),
    version: Number(found['version']),
    isActive: booleanOf(found['is_active']),
  }
}

function* findEntities(tenantId: string): Script<Record<string, string>> {
  const found = yield* row('select entities from pillarbox.tenants where id = $1', [tenantId])
  return found ? jsonOf<Record<string, string>>(found['entities']) : {}
}

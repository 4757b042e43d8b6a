/**
 * As in PostgreSQL: topics of events, who published them, the indexes by which they are
 * looked for; and whether a template’s body is text or HTML.
 */
export const eventFacts = `
-- Whether a body is plain text or HTML; null: HTML where it looks like it.
alter table pillarbox_templates add column format text check (format in ('text', 'html'));
alter table pillarbox_template_versions add column format text check (format in ('text', 'html'));

-- Domain events: which event types a published name becomes, and of which event such an event was made.
alter table pillarbox_catalogues add column domain_events text not null default '{}';
alter table pillarbox_events add column derived_from text;
create index pillarbox_events_derived on pillarbox_events (tenant_id, derived_from) where derived_from is not null;

alter table pillarbox_events add column topic text;
alter table pillarbox_events add column published_by text;

create index pillarbox_events_newest on pillarbox_events (tenant_id, created_at, id) where status <> 'pending';
create index pillarbox_events_entity on pillarbox_events (tenant_id, entity_type, entity_id, created_at, id)
  where status <> 'pending';
-- PostgreSQL sees by its statistics that few events wait. SQLite would read all of a tenant's for them.
create index pillarbox_events_waiting on pillarbox_events (tenant_id, created_at, id) where status = 'pending';
create index pillarbox_events_failed on pillarbox_events (tenant_id, created_at, id) where status = 'failed';
`

/** The same as in PostgreSQL, table by table. A table whose constraints change is made anew. */
export const people = `
-- What is true of the whole installation, such as which master key its secrets are sealed under.
create table pillarbox_instance (
  name text primary key,
  value text not null
) strict, without rowid;

create table pillarbox_catalogues (
  tenant_id text not null references pillarbox_tenants,
  version integer not null,
  name text not null,
  default_locale text not null,
  document text not null,
  imported_by text not null,
  imported_at integer not null,
  primary key (tenant_id, version)
) strict;

create table pillarbox_templates_new (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  event_type text not null,
  channel text not null,
  locale text not null,
  scope_type text,
  scope_id text,
  subject text,
  body text not null,
  provider_template text,
  version integer not null default 1,
  is_active integer not null default 1 check (is_active in (0, 1)),
  is_edited integer not null default 0 check (is_edited in (0, 1)),
  created_at integer not null,
  updated_at integer not null,
  updated_by text not null default 'system',
  check ((scope_type is null) = (scope_id is null))
) strict;
insert into pillarbox_templates_new (id, tenant_id, event_type, channel, locale, subject, body, version, is_active,
    created_at, updated_at)
  select id, tenant_id, event_type, channel, locale, subject, body, version, is_active, created_at, updated_at
  from pillarbox_templates;
drop table pillarbox_templates;
alter table pillarbox_templates_new rename to pillarbox_templates;
-- SQLite takes two nulls for different: hence the expressions.
create unique index pillarbox_templates_place on pillarbox_templates
  (tenant_id, event_type, channel, locale, coalesce(scope_type, ''), coalesce(scope_id, ''));

-- Every version there ever was, the current one included.
create table pillarbox_template_versions (
  template_id text not null references pillarbox_templates on delete cascade,
  version integer not null,
  subject text,
  body text not null,
  provider_template text,
  is_active integer not null check (is_active in (0, 1)),
  changed_by text not null,
  changed_at integer not null,
  primary key (template_id, version)
) strict;
insert into pillarbox_template_versions (template_id, version, subject, body, is_active, changed_by, changed_at)
  select id, version, subject, body, is_active, 'system', updated_at from pillarbox_templates;

-- Templates that notifications were made from: one row each, so that the ledger needs no index on the template.
create table pillarbox_template_uses (
  template_id text primary key
) strict, without rowid;
insert into pillarbox_template_uses
  select id from pillarbox_templates t
  where exists (select 1 from pillarbox_notifications n where n.tenant_id = t.tenant_id and n.template_id = t.id);

create table pillarbox_contacts (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  profile_id text,
  user_id text,
  name text,
  phone text,
  email text,
  locale text,
  merged_into text references pillarbox_contacts,
  created_at integer not null,
  updated_at integer not null
) strict;
create index pillarbox_contacts_newest on pillarbox_contacts (tenant_id, id) where merged_into is null;
-- Whoever removes a contact asks for those that were merged into it.
create index pillarbox_contacts_merged on pillarbox_contacts (merged_into) where merged_into is not null;

-- Each identifier belongs to exactly one contact: that is what makes two processes agree on who somebody is.
create table pillarbox_contact_identifiers (
  tenant_id text not null,
  kind text not null check (kind in ('profile', 'user', 'phone', 'email')),
  value text not null,
  contact_id text not null references pillarbox_contacts on delete cascade,
  primary key (tenant_id, kind, value)
) strict, without rowid;
create index pillarbox_contact_identifiers_contact on pillarbox_contact_identifiers (contact_id);

create table pillarbox_conversations (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  contact_id text not null references pillarbox_contacts on delete cascade,
  context_type text not null,
  context_id text not null,
  status text not null default 'open' check (status in ('open', 'snoozed', 'closed')),
  created_at integer not null,
  updated_at integer not null
) strict;
-- At most one that is not closed, for each contact and each thing it may be about.
create unique index pillarbox_conversations_current on pillarbox_conversations
  (tenant_id, contact_id, context_type, context_id) where status <> 'closed';
create index pillarbox_conversations_newest on pillarbox_conversations (tenant_id, id);
create index pillarbox_conversations_contact on pillarbox_conversations (contact_id, id);
create index pillarbox_conversations_context on pillarbox_conversations (tenant_id, context_type, context_id);

create table pillarbox_recipient_lists (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  name text not null,
  member_count integer not null default 0,
  created_at integer not null,
  updated_at integer not null,
  unique (tenant_id, name)
) strict;
create table pillarbox_recipient_list_members (
  id integer primary key autoincrement,
  list_id text not null references pillarbox_recipient_lists on delete cascade,
  name text,
  email text,
  phone text,
  check (email is not null or phone is not null)
) strict;
create unique index pillarbox_recipient_list_members_once on pillarbox_recipient_list_members
  (list_id, coalesce(email, ''), coalesce(phone, ''));
create index pillarbox_recipient_list_members_order on pillarbox_recipient_list_members (list_id, id);

alter table pillarbox_schedules add column event_type text not null default '';
alter table pillarbox_schedules add column entity_type text not null default '';
alter table pillarbox_schedules add column entity_id text not null default '';
alter table pillarbox_schedules add column progress text;
alter table pillarbox_schedules add column approved_by text;
alter table pillarbox_schedules add column approved_at integer check ((approved_by is null) = (approved_at is null));
update pillarbox_schedules as s set event_type = e.type, entity_type = e.entity_type, entity_id = e.entity_id
  from pillarbox_events e where e.tenant_id = s.tenant_id and e.id = s.event_id;
create index pillarbox_schedules_entity on pillarbox_schedules (tenant_id, entity_type, entity_id);
-- What waits, failed or was cancelled: few among the many that were born completed and never enter here.
create index pillarbox_schedules_unfinished on pillarbox_schedules (tenant_id, id) where status <> 'completed';

-- That an entity's events of a type were cancelled, and when: an event that is planned late finds it here.
create table pillarbox_cancellations (
  tenant_id text not null,
  entity_type text not null,
  entity_id text not null,
  event_type text not null,
  at integer not null,
  primary key (tenant_id, entity_type, entity_id, event_type)
) strict, without rowid;

alter table pillarbox_notifications add column contact_id text;
alter table pillarbox_notifications add column conversation_id text;
alter table pillarbox_notifications add column policy text;
alter table pillarbox_notifications add column is_scrubbed integer not null default 0;
create index pillarbox_notifications_contact on pillarbox_notifications (tenant_id, contact_id)
  where contact_id is not null;

-- Notifications whose content is sealed, until it is scrubbed.
create table pillarbox_sealed_contents (
  notification_id text primary key,
  tenant_id text not null,
  event_id text
) strict, without rowid;
create index pillarbox_sealed_contents_event on pillarbox_sealed_contents (tenant_id, event_id)
  where event_id is not null;
-- Planned events whose payload has sealed fields, until those are scrubbed.
create table pillarbox_sealed_payloads (
  tenant_id text not null,
  event_id text not null,
  primary key (tenant_id, event_id)
) strict, without rowid;

alter table pillarbox_attempts add column resolved_targets text;
`

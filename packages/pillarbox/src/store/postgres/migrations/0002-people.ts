/** Catalogue versions, templates with versions and scope, people, lists, and what planning remembers. */
export const people = `
-- What is true of the whole installation, such as which master key its secrets are sealed under.
create table pillarbox.instance (
  name text primary key,
  value text not null
);

create table pillarbox.catalogues (
  tenant_id text not null references pillarbox.tenants,
  version integer not null,
  name text not null,
  default_locale text not null,
  document text not null,
  imported_by text not null,
  imported_at timestamptz not null default now(),
  primary key (tenant_id, version)
);

alter table pillarbox.templates
  add column scope_type text,
  add column scope_id text,
  add column provider_template json,
  add column is_edited boolean not null default false,
  add column updated_by text not null default 'system',
  add check ((scope_type is null) = (scope_id is null)),
  drop constraint templates_tenant_id_event_type_channel_locale_key,
  add constraint templates_place unique nulls not distinct (tenant_id, event_type, channel, locale, scope_type, scope_id);

-- Every version there ever was, the current one included.
create table pillarbox.template_versions (
  template_id uuid not null references pillarbox.templates on delete cascade,
  version integer not null,
  subject text,
  body text not null,
  provider_template json,
  is_active boolean not null,
  changed_by text not null,
  changed_at timestamptz not null default now(),
  primary key (template_id, version)
);
insert into pillarbox.template_versions (template_id, version, subject, body, is_active, changed_by, changed_at)
  select id, version, subject, body, is_active, 'system', updated_at from pillarbox.templates;

-- Templates that notifications were made from: one row each, so that the ledger needs no index on the template.
create table pillarbox.template_uses (
  template_id uuid primary key
);
insert into pillarbox.template_uses
  select id from pillarbox.templates t
  where exists (select from pillarbox.notifications n where n.tenant_id = t.tenant_id and n.template_id = t.id::text);

create table pillarbox.contacts (
  id uuid primary key,
  tenant_id text not null references pillarbox.tenants,
  profile_id text,
  user_id text,
  name text,
  phone text,
  email text,
  locale text,
  merged_into uuid references pillarbox.contacts,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index contacts_newest on pillarbox.contacts (tenant_id, id) where merged_into is null;
-- Whoever removes a contact asks for those that were merged into it.
create index contacts_merged on pillarbox.contacts (merged_into) where merged_into is not null;

-- Each identifier belongs to exactly one contact: that is what makes two processes agree on who somebody is.
create table pillarbox.contact_identifiers (
  tenant_id text not null,
  kind text not null check (kind in ('profile', 'user', 'phone', 'email')),
  value text not null,
  contact_id uuid not null references pillarbox.contacts on delete cascade,
  primary key (tenant_id, kind, value)
);
create index contact_identifiers_contact on pillarbox.contact_identifiers (contact_id);

create table pillarbox.conversations (
  id uuid primary key,
  tenant_id text not null references pillarbox.tenants,
  contact_id uuid not null references pillarbox.contacts on delete cascade,
  context_type text not null,
  context_id text not null,
  status text not null default 'open' check (status in ('open', 'snoozed', 'closed')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- At most one that is not closed, for each contact and each thing it may be about.
create unique index conversations_current on pillarbox.conversations (tenant_id, contact_id, context_type, context_id)
  where status <> 'closed';
create index conversations_newest on pillarbox.conversations (tenant_id, id);
create index conversations_contact on pillarbox.conversations (contact_id, id);
create index conversations_context on pillarbox.conversations (tenant_id, context_type, context_id);

create table pillarbox.recipient_lists (
  id uuid primary key,
  tenant_id text not null references pillarbox.tenants,
  name text not null,
  member_count integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, name)
);
create table pillarbox.recipient_list_members (
  id bigint generated always as identity primary key,
  list_id uuid not null references pillarbox.recipient_lists on delete cascade,
  name text,
  email text,
  phone text,
  check (email is not null or phone is not null),
  constraint recipient_list_members_once unique nulls not distinct (list_id, email, phone)
);
create index recipient_list_members_order on pillarbox.recipient_list_members (list_id, id);

alter table pillarbox.schedules
  add column event_type text,
  add column entity_type text,
  add column entity_id text,
  add column progress json,
  add column approved_by text,
  add column approved_at timestamptz,
  add check ((approved_by is null) = (approved_at is null));
update pillarbox.schedules s set event_type = e.type, entity_type = e.entity_type, entity_id = e.entity_id
  from pillarbox.events e where e.tenant_id = s.tenant_id and e.id = s.event_id;
alter table pillarbox.schedules
  alter column event_type set not null, alter column entity_type set not null, alter column entity_id set not null;
create index schedules_entity on pillarbox.schedules (tenant_id, entity_type, entity_id);
-- What waits, failed or was cancelled: few among the many that were born completed and never enter here.
create index schedules_unfinished on pillarbox.schedules (tenant_id, id) where status <> 'completed';

-- That an entity's events of a type were cancelled, and when: an event that is planned late finds it here.
create table pillarbox.cancellations (
  tenant_id text not null,
  entity_type text not null,
  entity_id text not null,
  event_type text not null,
  at timestamptz not null,
  primary key (tenant_id, entity_type, entity_id, event_type)
);

alter table pillarbox.notifications
  add column contact_id uuid,
  add column conversation_id uuid,
  add column policy json,
  add column is_scrubbed boolean not null default false;
create index notifications_contact on pillarbox.notifications (tenant_id, contact_id) where contact_id is not null;

-- Notifications whose content is sealed, until it is scrubbed.
create table pillarbox.sealed_contents (
  notification_id uuid primary key,
  tenant_id text not null,
  event_id text
);
create index sealed_contents_event on pillarbox.sealed_contents (tenant_id, event_id) where event_id is not null;
-- Planned events whose payload has sealed fields, until those are scrubbed.
create table pillarbox.sealed_payloads (
  tenant_id text not null,
  event_id text not null,
  primary key (tenant_id, event_id)
);

alter table pillarbox.attempts add column resolved_targets json;

-- Most receipts bring our own id back, and nobody else asks by a provider's message id often enough to pay for it with
-- every message: in the order of those random ids the log per message doubled on a grown table, and an index that is only
-- appended to (brin with a bloom filter) cost the server a third more per message.
drop index pillarbox.attempts_provider_message;
`

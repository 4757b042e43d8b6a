/**
 * `column in (…)`, as comparisons: for a longer list SQLite fills a temporary table each time it checks a row, which
 * made the insert of an attempt half as expensive again. The commonest value stands first.
 */
function oneOf(column: string, values: readonly string[]): string {
  return values.map((value) => `${column} = '${value}'`).join(' or ')
}

/**
 * The spine, table by table as in PostgreSQL. Instants are milliseconds, JSON and UUIDs are text, booleans 0 and 1.
 * Columns that a host application may leave out when it writes an event have defaults that any connection can compute;
 * everything written by the store itself takes its time from the injected clock.
 */
export const spine = `
create table pillarbox_tenants (
  id text primary key check (length(id) between 1 and 63 and id not glob '*[^a-z0-9-]*'),
  name text not null,
  default_locale text not null,
  time_zone text not null,
  settings text not null default '{}',
  entities text not null default '{}',
  catalogue_version integer not null default 0,
  created_at integer not null
) strict, without rowid;

create table pillarbox_api_keys (
  id text primary key,
  tenant_id text references pillarbox_tenants,
  name text not null,
  role text not null check (${oneOf('role', ['publisher', 'viewer', 'operator', 'admin', 'ops'])}),
  hash text not null unique,
  site text,
  rate_per_second integer check (rate_per_second > 0),
  expires_at integer,
  revoked_at integer,
  created_at integer not null,
  check ((role = 'ops') = (tenant_id is null))
) strict, without rowid;

create table pillarbox_event_types (
  tenant_id text not null references pillarbox_tenants,
  name text not null,
  definition text not null,
  primary key (tenant_id, name)
) strict, without rowid;

create table pillarbox_templates (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  event_type text not null,
  channel text not null,
  locale text not null,
  subject text,
  body text not null,
  version integer not null default 1,
  is_active integer not null default 1 check (is_active in (0, 1)),
  created_at integer not null,
  updated_at integer not null,
  unique (tenant_id, event_type, channel, locale)
) strict;

create table pillarbox_accounts (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  channel text not null check (${oneOf('channel', ['whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook'])}),
  provider text not null,
  name text not null,
  settings text not null default '{}',
  sealed_secrets text,
  secret_names text not null default '[]',
  pace text,
  retry text,
  on_unknown text not null default 'resend' check (on_unknown in ('resend', 'hold')),
  breaker text,
  priority integer not null default 0,
  status text not null default 'active' check (${oneOf('status', ['active', 'suspended', 'paused'])}),
  status_reason text,
  removed_at integer,
  created_at integer not null,
  updated_at integer not null,
  unique (tenant_id, channel, name)
) strict;

-- What all workers must agree on about an account. One row each, small and often updated.
create table pillarbox_lanes (
  account_id text primary key references pillarbox_accounts on delete cascade,
  breaker text not null default 'closed' check (${oneOf('breaker', ['closed', 'open', 'half_open'])}),
  hold_until integer,
  hold_reason text,
  tokens real,
  refilled_at integer
) strict, without rowid;

-- Append-only facts. Written inside the host's transaction, also by hosts that know only SQL: hence the checks on JSON,
-- which the other engine's type makes by itself.
create table pillarbox_events (
  tenant_id text not null,
  id text not null check (length(id) between 1 and 200),
  type text not null,
  entity_type text not null,
  entity_id text not null,
  payload text not null check (json_valid(payload)),
  occurred_at integer,
  due_at integer,
  correlation_id text,
  locale text,
  recipients text check (recipients is null or json_valid(recipients)),
  channels text check (channels is null or json_valid(channels)),
  conversation text check (conversation is null or json_valid(conversation)),
  schema_version integer not null default 1,
  status text not null default 'pending' check (${oneOf('status', ['pending', 'published', 'failed'])}),
  attempt_count integer not null default 0,
  next_attempt_at integer not null default (cast(unixepoch('subsec') * 1000 as integer)),
  last_error text,
  created_at integer not null default (cast(unixepoch('subsec') * 1000 as integer)),
  published_at integer,
  primary key (tenant_id, id),
  check ((status = 'published') = (published_at is not null)),
  check (status <> 'failed' or last_error is not null),
  -- Anybody may write here: a time that no calendar of ours knows would stop whoever reads it.
  check (max(coalesce(occurred_at, 0), coalesce(due_at, 0), next_attempt_at, created_at) < 253402214400000
    and min(coalesce(occurred_at, 0), coalesce(due_at, 0), next_attempt_at, created_at) >= 0),
  check (schema_version between 0 and 2147483647 and attempt_count between 0 and 2147483647)
) strict;
create index pillarbox_events_pending on pillarbox_events (next_attempt_at) where status = 'pending';
create index pillarbox_events_created on pillarbox_events (created_at);

create table pillarbox_schedules (
  id text primary key,
  tenant_id text not null,
  event_id text not null,
  due_at integer not null,
  status text not null check (${oneOf('status', ['awaiting_approval', 'pending', 'completed', 'failed', 'cancelled'])}),
  attempt_count integer not null default 0,
  next_attempt_at integer,
  last_error text,
  created_at integer not null,
  completed_at integer,
  check ((status = 'completed') = (completed_at is not null)),
  check ((status in ('pending', 'awaiting_approval')) = (next_attempt_at is not null)),
  check (status not in ('failed', 'cancelled') or last_error is not null)
) strict, without rowid;
create index pillarbox_schedules_due on pillarbox_schedules (next_attempt_at) where status = 'pending';
create index pillarbox_schedules_event on pillarbox_schedules (tenant_id, event_id);

-- The ledger. Never updated by the hot path: where a notification stands is told by dispatch, settled and attempts.
-- With a rowid, because its rows are wide: keyed by text they would crowd the inner pages of the tree.
create table pillarbox_notifications (
  id text primary key,
  tenant_id text not null,
  idempotency_key text not null,
  channel text not null check (${oneOf('channel', ['whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook'])}),
  account_id text,
  provider text,
  recipient text not null,
  address text,
  content text,
  event_id text,
  event_type text,
  schedule_id text,
  entity_type text,
  entity_id text,
  template_id text,
  template_version integer,
  locale text,
  correlation_id text,
  execution_id text,
  parent_execution_id text,
  site text,
  triggered_by text not null,
  fallback text,
  fallback_of text,
  fallback_to text,
  warnings text,
  due_at integer,
  expires_at integer,
  created_at integer not null,
  unique (tenant_id, idempotency_key)
) strict;
create index pillarbox_notifications_newest on pillarbox_notifications (tenant_id, id);
create index pillarbox_notifications_entity on pillarbox_notifications (tenant_id, entity_type, entity_id)
  where entity_id is not null;

-- The last claim token given out: one row.
create table pillarbox_claim_tokens (
  one integer primary key check (one = 1),
  value integer not null
) strict;
insert into pillarbox_claim_tokens values (1, 0);

-- One narrow row per notification that still needs work; claims touch only this table, and take the row out of its
-- index. Nothing knows the worker: an index on it would cost every claim and every result, and is wanted only when a
-- worker has died.
create table pillarbox_dispatch (
  notification_id text primary key,
  lane_id text not null,
  visible_at integer not null,
  attempt integer not null default 0,
  spent integer not null default 0,
  possible_duplicate integer not null default 0 check (possible_duplicate in (0, 1)),
  in_doubt integer not null default 0 check (in_doubt in (0, 1)), -- taken over from a dead worker and not settled yet
  token integer,
  worker_id text,
  claimed_at integer,
  last_error text,
  check ((token is null) = (worker_id is null)),
  check ((token is null) = (claimed_at is null)),
  check (spent <= attempt)
) strict, without rowid;
create index pillarbox_dispatch_due on pillarbox_dispatch (lane_id, visible_at, notification_id) where token is null;

-- Where a notification came to rest, unless that is simply "sent". At most one of dispatch and settled has a row.
create table pillarbox_settled (
  notification_id text primary key,
  tenant_id text not null,
  status text not null check (${oneOf('status', ['delivered', 'read', 'parked', 'uncertain', 'failed', 'discarded', 'cancelled'])}),
  reason text,
  last_error text,
  spent integer not null default 0,
  attempt integer not null default 0,
  possible_duplicate integer not null default 0 check (possible_duplicate in (0, 1)),
  settled_at integer not null,
  delivered_at integer,
  read_at integer,
  check (status in ('delivered', 'read') or reason is not null)
) strict, without rowid;
create index pillarbox_settled_status on pillarbox_settled (tenant_id, status, notification_id);

-- Append-only, one per provider call. With its from and to it is also the audit row of the transition it caused.
create table pillarbox_attempts (
  notification_id text not null,
  number integer not null,
  late integer not null default 0 check (late in (0, 1)),
  outcome text not null check (${oneOf('outcome', ['accepted', 'transient', 'throttled', 'unauthorized', 'permanent', 'unknown'])}),
  to_status text not null,
  possible_duplicate integer not null default 0 check (possible_duplicate in (0, 1)),
  duration_ms integer not null,
  started_at integer not null,
  token integer not null,
  worker_id text not null,
  provider text not null,
  provider_message_id text,
  code text,
  error text,
  reason text,
  primary key (notification_id, number, late),
  check (outcome <> 'accepted' or provider_message_id is not null)
) strict, without rowid;
create index pillarbox_attempts_possible_duplicate on pillarbox_attempts (notification_id) where possible_duplicate;
create index pillarbox_attempts_provider_message on pillarbox_attempts (provider_message_id)
  where provider_message_id is not null;

-- What providers said later. Kept whether or not it moved anything; without a notification it waits to be matched.
create table pillarbox_receipts (
  id integer primary key autoincrement,
  tenant_id text not null,
  provider text not null,
  provider_message_id text not null,
  kind text not null check (kind in ('delivered', 'bounced', 'complained', 'read')),
  at integer not null,
  received_at integer not null,
  notification_id text,
  unique (tenant_id, provider, provider_message_id, kind)
) strict;
create index pillarbox_receipts_notification on pillarbox_receipts (notification_id) where notification_id is not null;
create index pillarbox_receipts_unmatched on pillarbox_receipts (id) where notification_id is null;

create table pillarbox_audit (
  id integer primary key autoincrement,
  tenant_id text,
  at integer not null,
  actor text not null,
  action text not null,
  notification_id text,
  subject text,
  attempt integer,
  duration_ms integer,
  from_status text,
  to_status text,
  reason text
) strict;
create index pillarbox_audit_notification on pillarbox_audit (notification_id) where notification_id is not null;

create table pillarbox_workers (
  id text primary key,
  host text not null,
  pid integer not null,
  version text not null,
  channels text,
  started_at integer not null,
  beat_at integer not null,
  in_flight integer not null default 0
) strict, without rowid;

-- Workers that are gone and whose claims have not all been taken over yet. Nearly always empty, so that looking for
-- what they left is one cheap question.
create table pillarbox_departed (
  worker_id text primary key
) strict, without rowid;
`

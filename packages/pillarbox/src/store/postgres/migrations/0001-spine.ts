/** The spine: events, schedules, the ledger, the narrow work tables, and what configures them. */
export const spine = `
create schema if not exists pillarbox;

create table pillarbox.tenants (
  id text primary key check (id ~ '^[a-z0-9-]{1,63}$'),
  name text not null,
  default_locale text not null,
  time_zone text not null,
  settings json not null default '{}',
  entities json not null default '{}',
  catalogue_version integer not null default 0,
  created_at timestamptz not null default now()
);

create table pillarbox.api_keys (
  id uuid primary key,
  tenant_id text references pillarbox.tenants,
  name text not null,
  role text not null check (role in ('publisher', 'viewer', 'operator', 'admin', 'ops')),
  hash text not null unique,
  site text,
  rate_per_second integer check (rate_per_second > 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  check ((role = 'ops') = (tenant_id is null))
);

create table pillarbox.event_types (
  tenant_id text not null references pillarbox.tenants,
  name text not null,
  definition json not null,
  primary key (tenant_id, name)
);

create table pillarbox.templates (
  id uuid primary key,
  tenant_id text not null references pillarbox.tenants,
  event_type text not null,
  channel text not null,
  locale text not null,
  subject text,
  body text not null,
  version integer not null default 1,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, event_type, channel, locale)
);

create table pillarbox.accounts (
  id uuid primary key,
  tenant_id text not null references pillarbox.tenants,
  channel text not null check (channel in ('whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook')),
  provider text not null,
  name text not null,
  settings json not null default '{}',
  sealed_secrets text,
  secret_names json not null default '[]',
  pace json,
  retry json,
  on_unknown text not null default 'resend' check (on_unknown in ('resend', 'hold')),
  breaker json,
  priority integer not null default 0,
  status text not null default 'active' check (status in ('active', 'suspended', 'paused')),
  status_reason text,
  removed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, channel, name)
);

-- What all workers must agree on about an account. One row each, small and often updated.
create table pillarbox.lanes (
  account_id uuid primary key references pillarbox.accounts on delete cascade,
  breaker text not null default 'closed' check (breaker in ('closed', 'open', 'half_open')),
  hold_until timestamptz,
  hold_reason text,
  tokens double precision,
  refilled_at timestamptz
) with (fillfactor = 50);

-- Append-only facts. Written inside the host's transaction: one heap row, two index entries, no trigger, no NOTIFY.
create table pillarbox.events (
  tenant_id text not null,
  id text not null check (length(id) between 1 and 200),
  type text not null,
  entity_type text not null,
  entity_id text not null,
  payload json not null,
  occurred_at timestamptz,
  due_at timestamptz,
  correlation_id text,
  locale text,
  recipients json,
  channels json,
  conversation json,
  schema_version integer not null default 1,
  status text not null default 'pending' check (status in ('pending', 'published', 'failed')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_error text,
  created_at timestamptz not null default now(),
  published_at timestamptz,
  primary key (tenant_id, id),
  check ((status = 'published') = (published_at is not null)),
  check (status <> 'failed' or last_error is not null),
  -- Anybody may write here: a time that no calendar of ours knows would stop whoever reads it.
  check (greatest(occurred_at, due_at, next_attempt_at, created_at) < '9999-12-31'
    and least(occurred_at, due_at, next_attempt_at, created_at) >= '1970-01-01')
);
create index events_pending on pillarbox.events (next_attempt_at) where status = 'pending';
create index events_created on pillarbox.events using brin (created_at);

create table pillarbox.schedules (
  id uuid primary key,
  tenant_id text not null,
  event_id text not null,
  due_at timestamptz not null,
  status text not null check (status in ('awaiting_approval', 'pending', 'completed', 'failed', 'cancelled')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz,
  last_error text,
  created_at timestamptz not null default now(),
  completed_at timestamptz,
  check ((status = 'completed') = (completed_at is not null)),
  check ((status in ('pending', 'awaiting_approval')) = (next_attempt_at is not null)),
  check (status not in ('failed', 'cancelled') or last_error is not null)
);
create index schedules_due on pillarbox.schedules (next_attempt_at) where status = 'pending';
create index schedules_event on pillarbox.schedules (tenant_id, event_id);

-- The ledger. Never updated by the hot path: where a notification stands is told by dispatch, settled and attempts.
create table pillarbox.notifications (
  id uuid primary key,
  tenant_id text not null,
  idempotency_key text not null,
  channel text not null check (channel in ('whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook')),
  account_id uuid,
  provider text,
  recipient json not null,
  address text,
  content json,
  event_id text,
  event_type text,
  schedule_id uuid,
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
  fallback json,
  fallback_of uuid,
  fallback_to uuid,
  warnings json,
  due_at timestamptz,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  unique (tenant_id, idempotency_key)
);
create index notifications_newest on pillarbox.notifications (tenant_id, id);
create index notifications_entity on pillarbox.notifications (tenant_id, entity_type, entity_id) where entity_id is not null;

-- One narrow row per notification that still needs work; claims touch only this table. A claim changes no indexed
-- column, so with room left on the page it is a heap-only update: no index is written. The fillfactor leaves room for
-- one claimed version of every row, so that draining a backlog in large batches stays heap-only, too (measured: at 60
-- half of the updates, at 40 all of them, a fifth less write-ahead log and processor time per message).
-- Tokens need not be in order, only never repeat: a session takes a hundred at a time.
create sequence pillarbox.claim_tokens cache 100;
create table pillarbox.dispatch (
  notification_id uuid primary key,
  lane_id uuid not null,
  visible_at timestamptz not null default now(),
  attempt integer not null default 0, -- throttled calls count here and not in spent, so there may be very many
  spent smallint not null default 0,
  possible_duplicate boolean not null default false,
  in_doubt boolean not null default false, -- taken over from a dead worker and not settled yet
  token bigint,
  worker_id uuid,
  claimed_at timestamptz,
  last_error text,
  check ((token is null) = (worker_id is null)),
  check ((token is null) = (claimed_at is null)),
  check (spent <= attempt)
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index dispatch_due on pillarbox.dispatch (lane_id, visible_at, notification_id);

-- Where a notification came to rest, unless that is simply "sent". At most one of dispatch and settled has a row.
create table pillarbox.settled (
  notification_id uuid primary key,
  tenant_id text not null,
  status text not null check (status in ('delivered', 'read', 'parked', 'uncertain', 'failed', 'discarded', 'cancelled')),
  reason text,
  last_error text,
  spent smallint not null default 0,
  attempt integer not null default 0,
  possible_duplicate boolean not null default false,
  settled_at timestamptz not null default now(),
  delivered_at timestamptz,
  read_at timestamptz,
  check (status in ('delivered', 'read') or reason is not null)
);
create index settled_status on pillarbox.settled (tenant_id, status, notification_id);

-- Append-only, one per provider call. With its from and to it is also the audit row of the transition it caused.
create table pillarbox.attempts (
  notification_id uuid not null,
  number integer not null,
  late boolean not null default false,
  outcome text not null check (outcome in ('accepted', 'transient', 'throttled', 'unauthorized', 'permanent', 'unknown')),
  to_status text not null,
  possible_duplicate boolean not null default false,
  duration_ms integer not null,
  started_at timestamptz not null,
  token bigint not null,
  worker_id uuid not null,
  provider text not null,
  provider_message_id text,
  code text,
  error text,
  reason text,
  primary key (notification_id, number, late),
  check (outcome <> 'accepted' or provider_message_id is not null)
);
create index attempts_possible_duplicate on pillarbox.attempts (notification_id) where possible_duplicate;
create index attempts_provider_message on pillarbox.attempts using hash (provider_message_id);

-- What providers said later. Kept whether or not it moved anything; without a notification it waits to be matched.
create table pillarbox.receipts (
  id bigint generated always as identity primary key,
  tenant_id text not null,
  provider text not null,
  provider_message_id text not null,
  kind text not null check (kind in ('delivered', 'bounced', 'complained', 'read')),
  at timestamptz not null,
  received_at timestamptz not null default now(),
  notification_id uuid,
  unique (tenant_id, provider, provider_message_id, kind)
);
create index receipts_notification on pillarbox.receipts (notification_id) where notification_id is not null;
create index receipts_unmatched on pillarbox.receipts (id) where notification_id is null;

create table pillarbox.audit (
  id bigint generated always as identity primary key,
  tenant_id text,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  notification_id uuid,
  subject text,
  attempt integer,
  duration_ms integer,
  from_status text,
  to_status text,
  reason text
);
create index audit_notification on pillarbox.audit (notification_id) where notification_id is not null;

create table pillarbox.workers (
  id uuid primary key,
  host text not null,
  pid integer not null,
  version text not null,
  channels json,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now(),
  in_flight integer not null default 0
) with (fillfactor = 50);

-- Workers that are gone and whose claims have not all been taken over yet. Nearly always empty, so that looking for
-- orphans is one cheap question; dispatch has no index on the worker because a claim would have to write it.
create table pillarbox.departed (
  worker_id uuid primary key,
  departed_at timestamptz not null default now()
);

-- publish() for any language and for triggers: the same row the client package writes.
create function pillarbox.publish(
  tenant_id text, type text, entity_type text, entity_id text, payload json,
  id text default null, due_at timestamptz default null, occurred_at timestamptz default null,
  correlation_id text default null, locale text default null,
  recipients json default null, channels json default null, conversation json default null
) returns text language sql volatile as $$
  with given as (select coalesce(publish.id, gen_random_uuid()::text) as id),
  written as (
    insert into pillarbox.events
      (tenant_id, id, type, entity_type, entity_id, payload, due_at, occurred_at, correlation_id, locale, recipients, channels, conversation)
    select publish.tenant_id, given.id, publish.type, publish.entity_type, publish.entity_id, publish.payload, publish.due_at,
      publish.occurred_at, publish.correlation_id, publish.locale, publish.recipients, publish.channels, publish.conversation
    from given
    on conflict do nothing
  )
  select id from given
$$;
`

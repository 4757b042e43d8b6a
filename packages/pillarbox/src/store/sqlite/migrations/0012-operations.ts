/** As in PostgreSQL: by which cause a notification stopped, and operations on very many of them. */
export const operations = `
alter table pillarbox_settled add column code text;
alter table pillarbox_settled add column fingerprint text;
create index pillarbox_settled_cause on pillarbox_settled (tenant_id, fingerprint, notification_id)
  where fingerprint is not null;
create index pillarbox_settled_unprinted on pillarbox_settled (notification_id)
  where fingerprint is null and status in ('parked', 'uncertain', 'failed', 'discarded', 'skipped');

alter table pillarbox_audit add column operation_id text;

create table pillarbox_operations (
  id text primary key,
  tenant_id text not null,
  action text not null check (action in ('retry', 'resend', 'discard', 'cancel', 'park', 'restore')),
  options text not null default '{}',
  status text not null default 'preview' check (status in
    ('preview', 'grace', 'canary', 'running', 'paused', 'cancelled', 'done', 'failed')),
  total integer,
  done integer not null default 0,
  left_alone integer not null default 0,
  failed integer not null default 0,
  position integer not null default 0,
  previewed_by text not null,
  created_at integer not null,
  expires_at integer not null,
  started_by text,
  started_at integer,
  note text,
  per_second real check (per_second > 0),
  canary integer not null default 0 check (canary >= 0),
  grace_until integer,
  begun_at integer,
  canary_until integer,
  paused_from text check (paused_from in ('grace', 'canary', 'running')),
  ended_at integer,
  problem text,
  leased_until integer,
  worked_at integer,
  check ((status = 'preview') = (started_at is null)),
  check ((status = 'paused') = (paused_from is not null))
) strict, without rowid;
create index pillarbox_operations_newest on pillarbox_operations (tenant_id, id) where status <> 'preview';
create index pillarbox_operations_live on pillarbox_operations (worked_at) where status in ('grace', 'canary', 'running');
create index pillarbox_operations_previews on pillarbox_operations (expires_at) where status = 'preview';

create table pillarbox_operation_items (
  operation_id text not null,
  place integer not null,
  notification_id text not null,
  status text not null,
  attempt integer not null,
  settled_at integer,
  outcome text check (outcome in ('done', 'left_alone', 'failed')),
  why text,
  result_id text,
  primary key (operation_id, place)
) strict, without rowid;
`

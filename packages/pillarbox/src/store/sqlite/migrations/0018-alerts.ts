/** As in PostgreSQL: scans, what is retried after a time, and alerts. */
export const alerts = `
alter table pillarbox_accounts add column parked_retry_after_ms integer check (parked_retry_after_ms > 0);
create index pillarbox_settled_parked on pillarbox_settled (tenant_id, settled_at) where status = 'parked';

create table pillarbox_scan_marks (
  scan text not null,
  tenant_id text not null,
  position integer not null,
  primary key (scan, tenant_id)
) strict, without rowid;

create table pillarbox_alerts (
  id text primary key,
  rule text not null,
  subject text not null check (subject in ('installation', 'tenant', 'account', 'operation')),
  subject_id text not null,
  tenant_id text,
  status text not null check (status in ('pending', 'open', 'cleared')),
  since integer not null,
  raised_at integer,
  good_since integer,
  cleared_at integer,
  value real not null,
  summary text not null default '',
  acknowledged_at integer,
  acknowledged_by text,
  note text,
  repeats integer not null default 0,
  told_at integer,
  check ((status = 'pending') = (raised_at is null)),
  check ((status = 'cleared') = (cleared_at is not null))
) strict, without rowid;
create unique index pillarbox_alerts_standing on pillarbox_alerts (rule, subject, subject_id) where status <> 'cleared';
create index pillarbox_alerts_cleared on pillarbox_alerts (cleared_at) where status = 'cleared';

create table pillarbox_alert_messages (
  sequence integer primary key autoincrement,
  alert_id text not null,
  way text not null check (way in ('event', 'webhook')),
  news text not null check (news in ('raised', 'repeated', 'cleared')),
  number integer not null,
  since integer not null,
  tries integer not null default 0,
  next_at integer not null,
  unique (alert_id, way, news, number)
) strict;

create index pillarbox_operations_failed on pillarbox_operations (ended_at) where status = 'failed';
`

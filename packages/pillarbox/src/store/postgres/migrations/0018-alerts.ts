/** What looks at everything by itself: scans, what is retried after a time, and alerts. */
export const alerts = `
-- How long after it was parked a notification of this account is retried by itself; null: never.
alter table pillarbox.accounts add column parked_retry_after_ms bigint check (parked_retry_after_ms > 0);
create index settled_parked on pillarbox.settled (tenant_id, settled_at) where status = 'parked';

-- How far a scan has come among a tenant's attempts, in the order of the audit.
create table pillarbox.scan_marks (
  scan text not null,
  tenant_id text not null,
  position bigint not null,
  primary key (scan, tenant_id)
);

-- What is wrong, and what was. Pending: it has not been bad for long enough to be told.
create table pillarbox.alerts (
  id uuid primary key,
  rule text not null,
  subject text not null check (subject in ('installation', 'tenant', 'account', 'operation')),
  subject_id text not null,
  tenant_id text,
  status text not null check (status in ('pending', 'open', 'cleared')),
  since timestamptz not null,
  raised_at timestamptz,
  good_since timestamptz,
  cleared_at timestamptz,
  value float8 not null,
  summary text not null default '',
  acknowledged_at timestamptz,
  acknowledged_by text,
  note text,
  repeats integer not null default 0,
  told_at timestamptz,
  check ((status = 'pending') = (raised_at is null)),
  check ((status = 'cleared') = (cleared_at is not null))
);
-- Whoever looks at the same time, one alert stands for one thing.
create unique index alerts_standing on pillarbox.alerts (rule, subject, subject_id) where status <> 'cleared';
create index alerts_cleared on pillarbox.alerts (cleared_at) where status = 'cleared';

-- What is still to be told of alerts, in order; gone once it was.
create table pillarbox.alert_messages (
  sequence bigint generated always as identity primary key,
  alert_id uuid not null,
  way text not null check (way in ('event', 'webhook')),
  news text not null check (news in ('raised', 'repeated', 'cleared')),
  number integer not null,
  since timestamptz not null,
  tries integer not null default 0,
  next_at timestamptz not null,
  unique (alert_id, way, news, number)
);

create index operations_failed on pillarbox.operations (ended_at) where status = 'failed';
`

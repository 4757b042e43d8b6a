/**
 * Numbers without counting (docs/decisions/0021). Every transaction that moves notifications also writes a few deltas; one
 * process at a time folds them into the sums of seconds, minutes, hours and days, and of what stands where now.
 */
export const rollups = `
-- From when on a notification was wanted: its event's time, or a later one that it was to wait for. Null: since it was written.
alter table pillarbox.notifications add column wanted_at timestamptz;

-- Written by the hot path, deleted soon after, in the order of their ids.
create table pillarbox.rollup_deltas (
  id bigint generated always as identity primary key,
  at_second bigint not null,
  tenant_id text not null,
  channel text not null,
  account_id uuid,
  site text,
  event_type text,
  from_status text not null,
  to_status text not null,
  due_second bigint,
  latency smallint,
  is_delivered boolean not null,
  is_by_account boolean not null,
  count integer not null,
  check ((due_second is null) = (from_status <> 'live' and to_status <> 'live')),
  check (from_status <> 'live' or to_status <> 'live')
) with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- A width is the length of a time in seconds; 0: sums over all time, which are what stands where now.
create table pillarbox.rollup_counts (
  width integer not null,
  scope text not null,
  dimension text not null,
  value text not null,
  at_second bigint not null,
  counts json not null,
  primary key (width, scope, dimension, value, at_second)
) with (fillfactor = 70);
create index rollup_counts_age on pillarbox.rollup_counts (width, at_second);

-- How many live notifications are due when. Only times that have some have a row.
create table pillarbox.rollup_due (
  width integer not null,
  scope text not null,
  dimension text not null,
  value text not null,
  at_second bigint not null,
  count bigint not null,
  primary key (width, scope, dimension, value, at_second)
) with (fillfactor = 70);

-- One row. Whoever folds or mends the sums locks it. Not counted: what was there before is not in the sums yet.
create table pillarbox.rollup_state (
  is_counted boolean not null,
  rebuild_token text,
  rebuild_until timestamptz
);
insert into pillarbox.rollup_state (is_counted) select not exists (select from pillarbox.notifications);
`

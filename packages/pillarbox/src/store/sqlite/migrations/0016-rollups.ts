/** As in PostgreSQL: what notifications' moves add to the sums that numbers are told from (docs/decisions/0021). */
export const rollups = `
-- From when on a notification was wanted: its event's time, or a later one that it was to wait for. Null: since it was written.
alter table pillarbox_notifications add column wanted_at integer;

-- Written by the hot path, deleted soon after, in the order of their ids.
create table pillarbox_rollup_deltas (
  id integer primary key autoincrement,
  at_second integer not null,
  tenant_id text not null,
  channel text not null,
  account_id text,
  site text,
  event_type text,
  from_status text not null,
  to_status text not null,
  due_second integer,
  latency integer,
  is_delivered integer not null,
  is_by_account integer not null,
  count integer not null,
  check ((due_second is null) = (from_status <> 'live' and to_status <> 'live')),
  check (from_status <> 'live' or to_status <> 'live')
) strict;

-- A width is the length of a time in seconds; 0: sums over all time, which are what stands where now.
create table pillarbox_rollup_counts (
  width integer not null,
  scope text not null,
  dimension text not null,
  value text not null,
  at_second integer not null,
  counts text not null,
  primary key (width, scope, dimension, value, at_second)
) strict, without rowid;
create index pillarbox_rollup_counts_age on pillarbox_rollup_counts (width, at_second);

-- How many live notifications are due when. Only times that have some have a row.
create table pillarbox_rollup_due (
  width integer not null,
  scope text not null,
  dimension text not null,
  value text not null,
  at_second integer not null,
  count integer not null,
  primary key (width, scope, dimension, value, at_second)
) strict, without rowid;

-- One row. Not counted: what was there before is not in the sums yet.
create table pillarbox_rollup_state (
  is_counted integer not null,
  rebuild_token text,
  rebuild_until integer
) strict;
insert into pillarbox_rollup_state (is_counted) select not exists (select 1 from pillarbox_notifications);
`

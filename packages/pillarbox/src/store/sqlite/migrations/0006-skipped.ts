/** What the ledger needs for notifications that were skipped. A table whose constraints change is made anew. */
export const skipped = `
-- Which of the event's recipients: their place, or that of a list and the member's id.
alter table pillarbox_notifications add column place text;
alter table pillarbox_notifications add column duplicate_of text;

-- Was planned before: some of its notifications may stand.
alter table pillarbox_schedules add column is_replayed integer not null default 0 check (is_replayed in (0, 1));

create table pillarbox_settled_new (
  notification_id text primary key,
  tenant_id text not null,
  status text not null check (status in
    ('sent', 'delivered', 'read', 'parked', 'uncertain', 'failed', 'discarded', 'cancelled', 'skipped')),
  reason text,
  last_error text,
  spent integer not null default 0,
  attempt integer not null default 0,
  possible_duplicate integer not null default 0 check (possible_duplicate in (0, 1)),
  settled_at integer not null,
  delivered_at integer,
  read_at integer,
  heard text check (heard in ('sent', 'failed', 'delivered', 'bounced', 'complained', 'read')),
  check (status in ('sent', 'delivered', 'read') or reason is not null)
) strict, without rowid;
insert into pillarbox_settled_new
  select notification_id, tenant_id, status, reason, last_error, spent, attempt, possible_duplicate, settled_at, delivered_at,
    read_at, heard
  from pillarbox_settled;
drop table pillarbox_settled;
alter table pillarbox_settled_new rename to pillarbox_settled;
create index pillarbox_settled_status on pillarbox_settled (tenant_id, status, notification_id);
`

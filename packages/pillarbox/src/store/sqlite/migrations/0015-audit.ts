/** As in PostgreSQL: the audit as one numbered record of rows and attempts, and the links that chain them by hash. */
export const audit = `
-- How what was changed stood before and after.
alter table pillarbox_audit add column before text;
alter table pillarbox_audit add column after text;
-- What is hashed in place of note, before and after is a digest of them with this salt. When they are erased, the salt goes
-- with them and the digest stays.
alter table pillarbox_audit add column salt text;
alter table pillarbox_audit add column digest text;
create index pillarbox_audit_newest on pillarbox_audit (tenant_id, id);
create index pillarbox_audit_by_people on pillarbox_audit (tenant_id, id) where actor <> 'system';

alter table pillarbox_attempts add column tenant_id text;
alter table pillarbox_attempts add column audit_id integer;
update pillarbox_attempts set audit_id = o.place + (select coalesce(max(id), 0) from pillarbox_audit),
  tenant_id = (select n.tenant_id from pillarbox_notifications n where n.id = pillarbox_attempts.notification_id)
from (
  select notification_id, number, late, row_number() over (order by started_at, notification_id, number, late) as place
  from pillarbox_attempts
) o
where pillarbox_attempts.notification_id = o.notification_id and pillarbox_attempts.number = o.number
  and pillarbox_attempts.late = o.late;
-- Attempts take their numbers from where SQLite counts those of the audit.
insert into sqlite_sequence (name, seq)
  select 'pillarbox_audit', 0 where not exists (select 1 from sqlite_sequence where name = 'pillarbox_audit');
update sqlite_sequence set seq = max(seq, (select coalesce(max(audit_id), 0) from pillarbox_attempts))
  where name = 'pillarbox_audit';
create index pillarbox_attempts_audit on pillarbox_attempts (tenant_id, audit_id);

-- Append-only. A link of a tenant's chain: the rows behind from_id up to to_id, each with its number, time and hash. The chain
-- of '' has what belongs to no tenant.
create table pillarbox_audit_links (
  id integer primary key autoincrement,
  tenant_id text not null,
  number integer not null,
  from_id integer not null,
  to_id integer not null,
  first_at integer not null,
  last_at integer not null,
  row_count integer not null,
  leaves text not null,
  hash text not null,
  linked_at integer not null,
  unique (tenant_id, number)
) strict;
create index pillarbox_audit_links_first on pillarbox_audit_links (tenant_id, first_at);
create index pillarbox_audit_links_last on pillarbox_audit_links (tenant_id, last_at);

-- How far the loops have come that work through the audit: 'chain', and 'sink' with whoever feeds it.
create table pillarbox_audit_marks (
  name text primary key,
  position integer not null default 0,
  holder text,
  leased_until integer,
  failing_since integer,
  last_error text,
  tried_at integer
) strict, without rowid;
`

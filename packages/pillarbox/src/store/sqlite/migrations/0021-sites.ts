/** As in PostgreSQL: sites. A table whose constraints change is made anew. */
export const sites = `
create table pillarbox_sites (
  tenant_id text not null references pillarbox_tenants,
  site text not null,
  incarnation text,
  received text not null,
  sequence integer not null default 0,
  missing integer not null default 0,
  backlog integer not null check (backlog >= 0),
  first_contact_at integer not null,
  last_contact_at integer not null,
  rewound_at integer,
  clock_ahead_ms integer,
  primary key (tenant_id, site)
) strict, without rowid;

create table pillarbox_alerts_new (
  id text primary key,
  rule text not null,
  subject text not null check (subject in ('installation', 'tenant', 'account', 'operation', 'site')),
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
insert into pillarbox_alerts_new
  select id, rule, subject, subject_id, tenant_id, status, since, raised_at, good_since, cleared_at, value, summary,
    acknowledged_at, acknowledged_by, note, repeats, told_at
  from pillarbox_alerts;
drop table pillarbox_alerts;
alter table pillarbox_alerts_new rename to pillarbox_alerts;
create unique index pillarbox_alerts_standing on pillarbox_alerts (rule, subject, subject_id) where status <> 'cleared';
create index pillarbox_alerts_cleared on pillarbox_alerts (cleared_at) where status = 'cleared';
`

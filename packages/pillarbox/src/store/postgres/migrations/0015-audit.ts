/**
 * The audit as one numbered record. Rows of the audit and attempts take their numbers from one sequence, so that both are
 * read in one order; links chain them by hash, tenant by tenant (docs/decisions/0024).
 */
export const audit = `
-- A transaction has its id before it takes a number: once every transaction is over that was under way when the sequence
-- stood at some number, no row with a lower number can appear any more. Nobody takes numbers in advance.
alter table pillarbox.audit alter column id drop identity;
create sequence pillarbox.audit_ids cache 1;
alter table pillarbox.audit
  alter column id set default case when pg_current_xact_id() is not null then nextval('pillarbox.audit_ids') end,
  -- How what was changed stood before and after.
  add column before json,
  add column after json,
  -- What is hashed in place of note, before and after is a digest of them with this salt. When they are erased, the salt goes
  -- with them and the digest stays.
  add column salt text,
  add column digest text;
create index audit_newest on pillarbox.audit (tenant_id, id);
create index audit_by_people on pillarbox.audit (tenant_id, id) where actor <> 'system';

-- Null only while a worker of a former version still writes.
alter table pillarbox.attempts add column tenant_id text, add column audit_id bigint;
update pillarbox.attempts a set tenant_id = n.tenant_id, audit_id = coalesce(o.last, 0) + o.place
from (
  select notification_id, number, late, (select max(id) from pillarbox.audit) as last,
    row_number() over (order by started_at, notification_id, number, late) as place
  from pillarbox.attempts
) o join pillarbox.notifications n on n.id = o.notification_id
where a.notification_id = o.notification_id and a.number = o.number and a.late = o.late;
select setval('pillarbox.audit_ids', 1 + greatest(
  (select coalesce(max(id), 0) from pillarbox.audit), (select coalesce(max(audit_id), 0) from pillarbox.attempts)), false);
alter table pillarbox.attempts alter column audit_id
  set default case when pg_current_xact_id() is not null then nextval('pillarbox.audit_ids') end;
create index attempts_audit on pillarbox.attempts (tenant_id, audit_id);

-- Append-only. A link of a tenant's chain: the rows behind from_id up to to_id, each with its number, time and hash. The chain
-- of '' has what belongs to no tenant. Links are written by one worker at a time, so that their ids are in order.
create table pillarbox.audit_links (
  id bigint generated always as identity primary key,
  tenant_id text not null,
  number bigint not null,
  from_id bigint not null,
  to_id bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  row_count integer not null,
  leaves text not null,
  hash text not null,
  linked_at timestamptz not null,
  unique (tenant_id, number)
);
create index audit_links_first on pillarbox.audit_links (tenant_id, first_at);
create index audit_links_last on pillarbox.audit_links (tenant_id, last_at);

-- How far the loops have come that work through the audit: 'chain', and 'sink' with whoever feeds it.
create table pillarbox.audit_marks (
  name text primary key,
  position bigint not null default 0,
  holder uuid,
  leased_until timestamptz,
  failing_since timestamptz,
  last_error text,
  tried_at timestamptz
);

-- What is on record stays as it is. Retention and erasure say in their transaction that it is them.
create function pillarbox.keep_audit() returns trigger language plpgsql as $$
begin
  if current_setting('pillarbox.audit_upkeep', true) = 'on' then
    if tg_op = 'DELETE' then
      return old;
    end if;
    return new;
  end if;
  raise exception 'pillarbox.% is append-only: % is refused', tg_table_name, lower(tg_op)
    using hint = 'Retention and erasure run "set local pillarbox.audit_upkeep = ''on''" in their transaction.',
      errcode = 'insufficient_privilege';
end
$$;
create trigger audit_is_kept before update or delete on pillarbox.audit
  for each row execute function pillarbox.keep_audit();
create trigger audit_links_are_kept before update or delete on pillarbox.audit_links
  for each row execute function pillarbox.keep_audit();
create trigger audit_is_not_emptied before truncate on pillarbox.audit
  for each statement execute function pillarbox.keep_audit();
create trigger audit_links_are_not_emptied before truncate on pillarbox.audit_links
  for each statement execute function pillarbox.keep_audit();
`

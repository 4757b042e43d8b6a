/** The hand-written lifecycle that PostgreSQL peers are held against: one wide row per job, one row per attempt. */
export const SCHEMA = `
create table jobs (
  id bigint generated always as identity primary key,
  due_at timestamptz, -- null once claimed or finished: the row leaves the partial index
  created_at timestamptz not null default now(),
  locked_until timestamptz,
  finished_at timestamptz,
  locked_by int,
  state smallint not null default 0, -- 0 waiting, 1 claimed, 2 done
  attempts smallint not null default 0,
  payload jsonb not null
);
create index jobs_due on jobs (due_at, id) where due_at is not null;
create table attempts (
  job_id bigint not null, n smallint not null, outcome smallint not null,
  at timestamptz not null default now(), primary key (job_id, n)
);`

export const INSERT_ONE = 'insert into jobs (due_at, payload) values (now(), $1::text::jsonb)'

export const INSERT_ONE_NOTIFY = `
with i as (insert into jobs (due_at, payload) values (now(), $1::text::jsonb) returning id)
select pg_notify('jobs', '') from i`

export const INSERT_MANY = 'insert into jobs (due_at, payload) select now(), p::jsonb from unnest($1::text[]) p'

/** Materialized, because inlined the limited subquery may run again and lock more. */
export const CLAIM = `
with c as materialized (
  select id from jobs where due_at <= now() order by due_at, id limit $1 for update skip locked
)
update jobs j
set due_at = null, state = 1, attempts = attempts + 1, locked_by = $2, locked_until = now() + interval '30 seconds'
from c where j.id = c.id returning j.id, j.payload`

export const COMPLETE = `
with d as (
  update jobs set state = 2, finished_at = now(), locked_until = null
  where id = any($1::bigint[]) and locked_by = $2 returning id, attempts
)
insert into attempts (job_id, n, outcome) select id, attempts, 1 from d`

export const PENDING = `select exists(select 1 from jobs where due_at <= now())
  or (select count(*) from attempts) < (select count(*) from jobs where due_at is null) as pending`

export const SEED = [
  `insert into jobs (due_at, created_at, finished_at, locked_by, state, attempts, payload)
   select null, now() - interval '1 day', now() - interval '1 day' + g * interval '10 ms', 1, 2, 1, $2::text::jsonb
   from generate_series(1, $1::int) g`,
  `insert into jobs (due_at, payload) select now() + interval '1 day' + g * interval '1 second', $2::text::jsonb
   from generate_series(1, $1::int) g`,
] as const

export const SEED_ATTEMPTS = 'insert into attempts (job_id, n, outcome) select id, 1, 1 from jobs where state = 2'

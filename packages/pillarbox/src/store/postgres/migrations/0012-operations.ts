/** By which cause a notification stopped, and what an operator does to very many of them at once. */
export const operations = `
-- The provider's code, and what all that stopped by the same cause have in common (model/fingerprint.ts). What was called
-- off or arrived has none.
alter table pillarbox.settled add column code text, add column fingerprint text;
create index settled_cause on pillarbox.settled (tenant_id, fingerprint, notification_id) where fingerprint is not null;
-- What stopped before there were fingerprints gets its own by and by.
create index settled_unprinted on pillarbox.settled (notification_id)
  where fingerprint is null and status in ('parked', 'uncertain', 'failed', 'discarded', 'skipped');

-- The operation that an act was part of.
alter table pillarbox.audit add column operation_id uuid;

create table pillarbox.operations (
  id uuid primary key,
  tenant_id text not null,
  action text not null check (action in ('retry', 'resend', 'discard', 'cancel', 'park', 'restore')),
  options json not null default '{}',
  status text not null default 'preview' check (status in
    ('preview', 'grace', 'canary', 'running', 'paused', 'cancelled', 'done', 'failed')),
  -- Null: the selection is not whole yet.
  total integer,
  done integer not null default 0,
  left_alone integer not null default 0,
  failed integer not null default 0,
  -- Every item up to this place has its outcome and is counted.
  position integer not null default 0,
  previewed_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  started_by text,
  started_at timestamptz,
  note text,
  per_second float8 check (per_second > 0),
  canary integer not null default 0 check (canary >= 0),
  -- Nothing is done before.
  grace_until timestamptz,
  -- When the first item was taken; null: nothing was done yet.
  begun_at timestamptz,
  -- When a canary that nobody has heard of counts as failed.
  canary_until timestamptz,
  -- Where it goes on when it is resumed.
  paused_from text check (paused_from in ('grace', 'canary', 'running')),
  ended_at timestamptz,
  -- Why it failed, or was given up, in words.
  problem text,
  -- A worker has it until then; or nobody is to work on it before.
  leased_until timestamptz,
  worked_at timestamptz,
  check ((status = 'preview') = (started_at is null)),
  check ((status = 'paused') = (paused_from is not null))
);
create index operations_newest on pillarbox.operations (tenant_id, id) where status <> 'preview';
create index operations_live on pillarbox.operations (worked_at) where status in ('grace', 'canary', 'running');
create index operations_previews on pillarbox.operations (expires_at) where status = 'preview';

-- What an operation was asked to do, each with where it stood when it was chosen.
create table pillarbox.operation_items (
  operation_id uuid not null,
  place integer not null,
  notification_id uuid not null,
  status text not null,
  attempt integer not null,
  settled_at timestamptz,
  -- Null: nothing was done about it yet.
  outcome text check (outcome in ('done', 'left_alone', 'failed')),
  why text,
  -- What was sent in its place, or beside it.
  result_id uuid,
  primary key (operation_id, place)
);
`

/** What vendors call back with, addresses that are no good, and the inbox of each user. */
export const channels = `
-- Raw callbacks, kept before they are answered and applied after: they can be read again when we have learnt to read better.
create table pillarbox.callbacks (
  id bigint generated always as identity primary key,
  source text not null,
  -- Of the path; null where the source has one path for all.
  tenant_id text,
  -- The accounts it may speak for: a message of any other is none of its business.
  account_ids json not null,
  headers json not null,
  body text not null, -- base64
  digest text not null,
  status text not null default 'pending' check (status in ('pending', 'applied', 'unmatched')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz default now(),
  -- What it came to: reports in it, those about messages of ours, those that moved one, those nobody could read.
  reports integer,
  matched integer,
  moved integer,
  unreadable integer,
  received_at timestamptz not null default now(),
  unique (source, digest),
  check ((status = 'pending') = (next_attempt_at is not null))
);
create index callbacks_pending on pillarbox.callbacks (next_attempt_at) where status = 'pending';

-- Callbacks that were not believed are only counted.
create table pillarbox.refused_callbacks (
  source text not null,
  tenant_id text not null, -- empty where the path names none, or nobody
  why text not null,
  count bigint not null,
  last_at timestamptz not null,
  primary key (source, tenant_id, why)
);

-- A receipt is about a notification: what cannot be matched yet waits as its callback. Nothing has called back before, so
-- the old table is empty.
drop table pillarbox.receipts;
create table pillarbox.receipts (
  id bigint generated always as identity primary key,
  tenant_id text not null,
  notification_id uuid not null,
  provider text not null,
  provider_message_id text not null,
  kind text not null check (kind in ('sent', 'failed', 'delivered', 'bounced', 'complained', 'read')),
  recipient text not null default '', -- of a message to several
  code text,
  error text,
  at timestamptz not null,
  received_at timestamptz not null default now(),
  unique (notification_id, provider_message_id, kind, recipient)
);

-- The kind of receipt that brought a notification where it is, if one did; a higher one moves it on. An operator's word, a
-- fallback by a call and the like are not moved by any.
alter table pillarbox.settled
  add column heard text check (heard in ('sent', 'failed', 'delivered', 'bounced', 'complained', 'read')),
  drop constraint settled_status_check,
  add constraint settled_status_check
    check (status in ('sent', 'delivered', 'read', 'parked', 'uncertain', 'failed', 'discarded', 'cancelled')),
  drop constraint settled_check,
  add constraint settled_check check (status in ('sent', 'delivered', 'read') or reason is not null);
update pillarbox.settled set heard = case when status = 'parked' then reason else status end
  where status in ('delivered', 'read') or (status = 'parked' and reason in ('bounced', 'complained'));

-- Only of vendors that do not repeat our own reference in what they call back with.
create index attempts_message on pillarbox.attempts (provider_message_id) where provider in ('sns', 'ses');

-- Emails that differ by case are one mailbox: whoever is on a list twice that way stays on it once.
delete from pillarbox.recipient_list_members m using pillarbox.recipient_list_members older
  where older.list_id = m.list_id and lower(older.email) = lower(m.email) and older.phone is not distinct from m.phone
    and older.id < m.id;
update pillarbox.recipient_lists l set member_count = counted.members
  from (select list_id, count(*) as members from pillarbox.recipient_list_members group by list_id) counted
  where counted.list_id = l.id and counted.members <> l.member_count;
alter table pillarbox.recipient_list_members drop constraint recipient_list_members_once;
create unique index recipient_list_members_once on pillarbox.recipient_list_members (list_id, lower(email), phone)
  nulls not distinct;

-- Addresses that are not to be used on a channel any more.
create table pillarbox.suppressions (
  id uuid primary key,
  tenant_id text not null references pillarbox.tenants,
  channel text not null check (channel in ('whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook')),
  address text not null,
  digest text not null, -- of the address, which may be longer than an index takes
  cause text not null check (cause in ('dead_address', 'bounced', 'complained', 'operator')),
  error text,
  notification_id uuid,
  created_by text not null,
  created_at timestamptz not null default now(),
  unique (tenant_id, channel, digest)
);
create index suppressions_newest on pillarbox.suppressions (tenant_id, id);

-- The inbox of each user of in_app: how many changes there were in it. Whoever changes it has this row to himself until his
-- commit, so the numbers of an inbox are in the order in which everybody else gets to see them.
create table pillarbox.inboxes (
  tenant_id text not null references pillarbox.tenants,
  user_id text not null,
  revision bigint not null,
  primary key (tenant_id, user_id)
);

-- What in_app notifications put before their user; the id is the notification's. The words are sealed, and gone once the
-- message was removed: the row stays, so that streams tell of it and a repeated call does not bring it back.
create table pillarbox.inbox_messages (
  id uuid primary key,
  tenant_id text not null references pillarbox.tenants,
  user_id text not null,
  -- The inbox's revision when it came, and when it was last changed.
  arrival bigint not null,
  revision bigint not null,
  sealed text,
  created_at timestamptz not null default now(),
  seen_at timestamptz,
  read_at timestamptz,
  removed_at timestamptz,
  -- The receipt that its notification was still being sent for.
  owed text check (owed in ('delivered', 'read')),
  check (read_at is null or seen_at is not null),
  check ((sealed is null) = (removed_at is not null))
);
create index inbox_messages_changes on pillarbox.inbox_messages (tenant_id, user_id, revision);
create index inbox_messages_newest on pillarbox.inbox_messages (tenant_id, user_id, arrival) where removed_at is null;
create index inbox_messages_unread on pillarbox.inbox_messages (tenant_id, user_id, arrival)
  where read_at is null and removed_at is null;
create index inbox_messages_owed on pillarbox.inbox_messages (id) where owed is not null;

-- So that of two who change the same contact the second can be told.
alter table pillarbox.contacts add column version integer not null default 1;

-- Every running process and the master keys it has, so that a rotation begins when all have the new one. A process that
-- is silent is taken for gone.
create table pillarbox.key_holders (
  id uuid primary key,
  host text not null,
  pid integer not null,
  part text not null,
  key_ids json not null,
  seals_under text,
  announced_at timestamptz not null
);
`

/** The same as in PostgreSQL, table by table. A table whose constraints change is made anew. */
export const channels = `
-- Raw callbacks, kept before they are answered and applied after: they can be read again when we have learnt to read better.
create table pillarbox_callbacks (
  id integer primary key autoincrement,
  source text not null,
  -- Of the path; null where the source has one path for all.
  tenant_id text,
  -- The accounts it may speak for: a message of any other is none of its business.
  account_ids text not null,
  headers text not null,
  body text not null, -- base64
  digest text not null,
  status text not null default 'pending' check (status in ('pending', 'applied', 'unmatched')),
  attempt_count integer not null default 0,
  next_attempt_at integer,
  -- What it came to: reports in it, those about messages of ours, those that moved one, those nobody could read.
  reports integer,
  matched integer,
  moved integer,
  unreadable integer,
  received_at integer not null,
  unique (source, digest),
  check ((status = 'pending') = (next_attempt_at is not null))
) strict;
create index pillarbox_callbacks_pending on pillarbox_callbacks (next_attempt_at) where status = 'pending';

-- Callbacks that were not believed are only counted.
create table pillarbox_refused_callbacks (
  source text not null,
  tenant_id text not null, -- empty where the path names none, or nobody
  why text not null,
  count integer not null,
  last_at integer not null,
  primary key (source, tenant_id, why)
) strict, without rowid;

-- A receipt is about a notification: what cannot be matched yet waits as its callback. Nothing has called back before, so
-- the old table is empty.
drop table pillarbox_receipts;
create table pillarbox_receipts (
  id integer primary key autoincrement,
  tenant_id text not null,
  notification_id text not null,
  provider text not null,
  provider_message_id text not null,
  kind text not null check (kind in ('sent', 'failed', 'delivered', 'bounced', 'complained', 'read')),
  recipient text not null default '', -- of a message to several
  code text,
  error text,
  at integer not null,
  received_at integer not null,
  unique (notification_id, provider_message_id, kind, recipient)
) strict;

-- The kind of receipt that brought a notification where it is, if one did; a higher one moves it on. An operator's word, a
-- fallback by a call and the like are not moved by any.
create table pillarbox_settled_new (
  notification_id text primary key,
  tenant_id text not null,
  status text not null
    check (status in ('sent', 'delivered', 'read', 'parked', 'uncertain', 'failed', 'discarded', 'cancelled')),
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
    read_at,
    case when status in ('delivered', 'read') then status
      when status = 'parked' and reason in ('bounced', 'complained') then reason end
  from pillarbox_settled;
drop table pillarbox_settled;
alter table pillarbox_settled_new rename to pillarbox_settled;
create index pillarbox_settled_status on pillarbox_settled (tenant_id, status, notification_id);

-- Only of vendors that do not repeat our own reference in what they call back with.
drop index pillarbox_attempts_provider_message;
create index pillarbox_attempts_message on pillarbox_attempts (provider_message_id) where provider in ('sns', 'ses');

-- Emails that differ by case are one mailbox: whoever is on a list twice that way stays on it once.
delete from pillarbox_recipient_list_members where id not in (
  select min(id) from pillarbox_recipient_list_members group by list_id, coalesce(lower(email), ''), coalesce(phone, ''));
update pillarbox_recipient_lists set member_count =
  (select count(*) from pillarbox_recipient_list_members m where m.list_id = pillarbox_recipient_lists.id);
drop index pillarbox_recipient_list_members_once;
create unique index pillarbox_recipient_list_members_once on pillarbox_recipient_list_members
  (list_id, coalesce(lower(email), ''), coalesce(phone, ''));

-- Addresses that are not to be used on a channel any more.
create table pillarbox_suppressions (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  channel text not null check (channel in ('whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook')),
  address text not null,
  digest text not null, -- of the address, which may be longer than an index takes
  cause text not null check (cause in ('dead_address', 'bounced', 'complained', 'operator')),
  error text,
  notification_id text,
  created_by text not null,
  created_at integer not null,
  unique (tenant_id, channel, digest)
) strict;
create index pillarbox_suppressions_newest on pillarbox_suppressions (tenant_id, id);

-- The inbox of each user of in_app: how many changes there were in it, numbered in the order of their commits.
create table pillarbox_inboxes (
  tenant_id text not null references pillarbox_tenants,
  user_id text not null,
  revision integer not null,
  primary key (tenant_id, user_id)
) strict, without rowid;

-- What in_app notifications put before their user; the id is the notification's. The words are sealed, and gone once the
-- message was removed: the row stays, so that streams tell of it and a repeated call does not bring it back.
create table pillarbox_inbox_messages (
  id text primary key,
  tenant_id text not null references pillarbox_tenants,
  user_id text not null,
  -- The inbox's revision when it came, and when it was last changed.
  arrival integer not null,
  revision integer not null,
  sealed text,
  created_at integer not null,
  seen_at integer,
  read_at integer,
  removed_at integer,
  -- The receipt that its notification was still being sent for.
  owed text check (owed in ('delivered', 'read')),
  check (read_at is null or seen_at is not null),
  check ((sealed is null) = (removed_at is not null))
) strict;
create index pillarbox_inbox_messages_changes on pillarbox_inbox_messages (tenant_id, user_id, revision);
create index pillarbox_inbox_messages_newest on pillarbox_inbox_messages (tenant_id, user_id, arrival)
  where removed_at is null;
create index pillarbox_inbox_messages_unread on pillarbox_inbox_messages (tenant_id, user_id, arrival)
  where read_at is null and removed_at is null;
create index pillarbox_inbox_messages_owed on pillarbox_inbox_messages (id) where owed is not null;

-- So that of two who change the same contact the second can be told.
alter table pillarbox_contacts add column version integer not null default 1;

-- Every running process and the master keys it has, so that a rotation begins when all have the new one. A process that
-- is silent is taken for gone.
create table pillarbox_key_holders (
  id text primary key,
  host text not null,
  pid integer not null,
  part text not null,
  key_ids text not null,
  seals_under text,
  announced_at integer not null
) strict, without rowid;
`

/**
 * What lists look for. SQLite marks where in the ledger a value occurs; here the marks of two planners would wait for each
 * other, and an index costs less.
 */
export const reads = `
create index notifications_type on pillarbox.notifications (tenant_id, event_type, id) where event_type is not null;
-- By account, and by channel: its accounts are few.
create index notifications_route on pillarbox.notifications (tenant_id, channel, account_id, id);
create index notifications_site on pillarbox.notifications (tenant_id, site, id) where site is not null;
create index notifications_conversation on pillarbox.notifications (conversation_id) where conversation_id is not null;
create index notifications_address on pillarbox.notifications using hash (address);

-- Only what stopped has a reason.
create index settled_reason on pillarbox.settled (tenant_id, status, reason, notification_id) where reason is not null;

-- Of all vendors that choose an id; a call to them takes far longer than the index.
drop index pillarbox.attempts_message;
create index attempts_message on pillarbox.attempts (provider_message_id)
  where provider in ('meta', 'interakt', 'msg91', 'sns', 'aws-sms', 'ses', 'acs', 'fcm', 'wns');

-- The others have schedules_unfinished.
create index schedules_completed on pillarbox.schedules (tenant_id, id) where status = 'completed';

create index contacts_phone on pillarbox.contacts (tenant_id, phone) where phone is not null;
create index contacts_email on pillarbox.contacts (tenant_id, email) where email is not null;
create index contacts_name on pillarbox.contacts (tenant_id, (lower(name) collate "C")) where name is not null;
`

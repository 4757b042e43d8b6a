/** What is marked, by the column of the ledger it stands in. */
const MARKED = { site: 'site', event_type: 'event_type', account: 'account_id', channel: 'channel' }

/**
 * What lists look for. A mark says in which sixteen milliseconds of a tenant's ledger a value occurs: a batch of
 * notifications needs a few marks, where an index of the ledger would have an entry for each of them (measured: 6 to 9 µs a
 * notification for each index, and tenants and types mixed). New notifications are marked by whoever writes them
 * (`marks.ts`), moved ones and those that are gone by triggers.
 */
export const reads = `
create table pillarbox_notification_marks (
  tenant_id text not null,
  kind text not null check (kind in ('site', 'event_type', 'account', 'channel')),
  value text not null,
  slot text not null, -- what the ids of those sixteen milliseconds begin with
  primary key (tenant_id, kind, value, slot)
) strict, without rowid;
${Object.entries(MARKED).map(markingOf).join('')}
create index pillarbox_notifications_conversation on pillarbox_notifications (conversation_id)
  where conversation_id is not null;
create index pillarbox_notifications_address on pillarbox_notifications (address) where address is not null;

-- Only what stopped has a reason.
create index pillarbox_settled_reason on pillarbox_settled (tenant_id, status, reason, notification_id)
  where reason is not null;

-- Of all vendors that choose an id; a call to them takes far longer than the index.
drop index pillarbox_attempts_message;
create index pillarbox_attempts_message on pillarbox_attempts (provider_message_id)
  where provider in ('meta', 'interakt', 'msg91', 'sns', 'aws-sms', 'ses', 'acs', 'fcm', 'wns');

-- The others have schedules_unfinished.
create index pillarbox_schedules_completed on pillarbox_schedules (tenant_id, id) where status = 'completed';

create index pillarbox_contacts_phone on pillarbox_contacts (tenant_id, phone) where phone is not null;
create index pillarbox_contacts_email on pillarbox_contacts (tenant_id, email) where email is not null;
create index pillarbox_contacts_name on pillarbox_contacts (tenant_id, lower(name)) where name is not null;
`

function markingOf([kind, column]: [string, string]): string {
  const unmarked = `delete from pillarbox_notification_marks
    where tenant_id = old.tenant_id and kind = '${kind}' and value = old.${column} and slot = substr(old.id, 1, 12)
      and not exists (select 1 from pillarbox_notifications n where n.tenant_id = old.tenant_id
        and n.id >= substr(old.id, 1, 12) and n.id < substr(old.id, 1, 12) || 'g' and n.${column} = old.${column});`
  return `
insert into pillarbox_notification_marks (tenant_id, kind, value, slot)
  select distinct tenant_id, '${kind}', ${column}, substr(id, 1, 12) from pillarbox_notifications where ${column} is not null;
create trigger pillarbox_notifications_mark_${kind} after update of ${column} on pillarbox_notifications
  when new.${column} is not old.${column}
begin
  insert into pillarbox_notification_marks
    select new.tenant_id, '${kind}', new.${column}, substr(new.id, 1, 12) where new.${column} is not null
    on conflict do nothing;
  ${unmarked}
end;
create trigger pillarbox_notifications_unmark_${kind} after delete on pillarbox_notifications when old.${column} is not null
begin
  ${unmarked}
end;`
}

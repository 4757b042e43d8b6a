/** What the ledger needs for notifications that were skipped. */
export const skipped = `
alter table pillarbox.notifications
  add column place text, -- which of the event's recipients: their place, or that of a list and the member's id
  add column duplicate_of uuid;

-- Was planned before: some of its notifications may stand.
alter table pillarbox.schedules add column is_replayed boolean not null default false;

alter table pillarbox.settled
  drop constraint settled_status_check,
  add constraint settled_status_check check (status in
    ('sent', 'delivered', 'read', 'parked', 'uncertain', 'failed', 'discarded', 'cancelled', 'skipped'));
`

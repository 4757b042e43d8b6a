/** What an operator's act leaves, and the caller's trace. Every column is null where nobody said anything. */
export const acts = `
-- Why somebody did it, in their own words.
alter table pillarbox_audit add column note text;

-- The one whose address was corrected, and in that one the notification that was sent in its place.
alter table pillarbox_notifications add column corrected_from text;
alter table pillarbox_notifications add column corrected_to text;
-- The number of the last attempt before a retry by hand: the count that is shown begins behind it.
alter table pillarbox_notifications add column attempts_before integer check (attempts_before > 0);
-- Somebody had it sent though its address is suppressed.
alter table pillarbox_notifications add column overrides_suppression integer check (overrides_suppression in (0, 1));
alter table pillarbox_notifications add column traceparent text;

alter table pillarbox_events add column traceparent text;
`

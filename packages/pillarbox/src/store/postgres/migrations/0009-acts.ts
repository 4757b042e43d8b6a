/** What an operator's act leaves, and the caller's trace. Every column is null where nobody said anything. */
export const acts = `
-- Why somebody did it, in their own words.
alter table pillarbox.audit add column note text;

alter table pillarbox.notifications
  -- The one whose address was corrected, and in that one the notification that was sent in its place.
  add column corrected_from uuid,
  add column corrected_to uuid,
  -- The number of the last attempt before a retry by hand: the count that is shown begins behind it.
  add column attempts_before integer check (attempts_before > 0),
  -- Somebody had it sent though its address is suppressed.
  add column overrides_suppression boolean,
  add column traceparent text;

alter table pillarbox.events add column traceparent text;
`

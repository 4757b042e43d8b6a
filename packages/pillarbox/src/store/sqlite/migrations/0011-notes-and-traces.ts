/** As in PostgreSQL: what a callback asks somebody to do. The trace of an event has its column already. */
export const notesAndTraces = `
alter table pillarbox_callbacks add column note text;
create index pillarbox_callbacks_noted on pillarbox_callbacks (id) where note is not null;
`

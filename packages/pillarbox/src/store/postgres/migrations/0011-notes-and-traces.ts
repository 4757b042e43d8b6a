/** A callback may ask somebody to do something: few do, and those are found by an index that has no others. */
export const notesAndTraces = `
alter table pillarbox.callbacks add column note text;
create index callbacks_noted on pillarbox.callbacks (id) where note is not null;
`

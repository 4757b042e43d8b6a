/** Where a catalogue's events come from, beside its document. Null: it was imported before this was kept. */
export const sources = `
alter table pillarbox.catalogues add column sources jsonb;
`

/** As in PostgreSQL: where a catalogue's events come from. */
export const sources = `
alter table pillarbox_catalogues add column sources text;
`

/** Topics, domain events and occurrences of events, and who published them. */
export const eventFacts = `
-- Whether a body is plain text or HTML; null: HTML where it looks like it.
alter table pillarbox_templates add column format text check (format in ('text', 'html'));
alter table pillarbox_template_versions add column format text check (format in ('text', 'html'));
`

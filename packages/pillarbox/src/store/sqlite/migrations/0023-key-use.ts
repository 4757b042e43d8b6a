/** As in PostgreSQL: when each key was last used. */
export const keyUse = `
alter table pillarbox_api_keys add column last_used_at integer;
`

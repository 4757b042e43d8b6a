/** When each key was last used, to the hour: one that nobody uses can be revoked. */
export const keyUse = `
alter table pillarbox.api_keys add column last_used_at timestamptz;
`

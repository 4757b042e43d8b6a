/** Planning takes the rows of tenants in turns: of each, those that are due first. Only rows that wait are in these indexes. */
export const turns = `
create index events_turns on pillarbox.events (tenant_id, next_attempt_at) where status = 'pending';
create index schedules_turns on pillarbox.schedules (tenant_id, next_attempt_at) where status = 'pending';
`

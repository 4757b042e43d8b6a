/** Planning takes the rows of tenants in turns: of each, those that are due first. Only rows that wait are in these indexes. */
export const turns = `
create index pillarbox_events_turns on pillarbox_events (tenant_id, next_attempt_at) where status = 'pending';
create index pillarbox_schedules_turns on pillarbox_schedules (tenant_id, next_attempt_at) where status = 'pending';
`

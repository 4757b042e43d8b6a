/**
 * What was done to an event or a schedule is looked up by it. And a planner's note says which start of its process it is of:
 * in containers every start has the same number, and a host may give a number away again.
 */
export const answers = `
create index audit_subject on pillarbox.audit (tenant_id, subject) where subject is not null;

-- Nothing is lost with the notes.
delete from pillarbox.planning_notes;
alter table pillarbox.planning_notes
  add column space text not null default '', add column boot text not null default '',
  add column number bigint not null default 0, add column noted_at timestamptz not null default now();
`

/** As in PostgreSQL: what was done is found by what it was done to, and notes say which start of a process they are of. */
export const answers = `
create index pillarbox_audit_subject on pillarbox_audit (tenant_id, subject) where subject is not null;

-- Nothing is lost with the notes.
delete from pillarbox_planning_notes;
alter table pillarbox_planning_notes add column space text not null default '';
alter table pillarbox_planning_notes add column boot text not null default '';
alter table pillarbox_planning_notes add column number integer not null default 0;
alter table pillarbox_planning_notes add column noted_at integer not null default 0;
`

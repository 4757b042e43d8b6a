/**
 * How often planning a row has ended a process. A planner notes what it is about to plan; the note of one that died says what
 * it was planning then.
 */
export const crashes = `
alter table pillarbox_events add column crashes integer not null default 0;
alter table pillarbox_schedules add column crashes integer not null default 0;

create table pillarbox_planning_notes (
  worker_id text primary key,
  host text not null,
  pid integer not null,
  kind text not null check (kind in ('event', 'schedule')),
  -- [[tenant, id], …]
  noted text not null
) strict, without rowid;`

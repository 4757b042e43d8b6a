/**
 * How often planning a row has ended a process. A planner notes what it is about to plan; the note of one that died says what
 * it was planning then. Nothing is lost with the notes, so they need no log.
 */
export const crashes = `
alter table pillarbox.events add column crashes smallint not null default 0;
alter table pillarbox.schedules add column crashes smallint not null default 0;

create unlogged table pillarbox.planning_notes (
  worker_id uuid primary key,
  host text not null,
  pid integer not null,
  kind text not null check (kind in ('event', 'schedule')),
  -- [[tenant, id], …]
  noted json not null
);`

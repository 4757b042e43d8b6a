/** Sites that hand off what they have to say: when each was heard of, and which numbers of its buffer have come. */
export const sites = `
create table pillarbox.sites (
  tenant_id text not null references pillarbox.tenants,
  site text not null,
  incarnation text,
  -- Stretches of numbers, such as [[1, 50], [53, 60]].
  received jsonb not null,
  sequence bigint not null default 0,
  missing bigint not null default 0,
  backlog bigint not null check (backlog >= 0),
  first_contact_at timestamptz not null,
  last_contact_at timestamptz not null,
  rewound_at timestamptz,
  clock_ahead_ms bigint,
  primary key (tenant_id, site)
);

-- An alert can be about a site.
alter table pillarbox.alerts drop constraint alerts_subject_check;
alter table pillarbox.alerts add constraint alerts_subject_check
  check (subject in ('installation', 'tenant', 'account', 'operation', 'site'));
`

/** As in PostgreSQL: who is signed in at the console, and links that let somebody sign in once. */
export const sessions = `
create table pillarbox_sessions (
  id text primary key,
  kind text not null check (kind in ('link', 'session')),
  key_id text not null references pillarbox_api_keys,
  hash text not null unique,
  former_hash text unique,
  former_until integer,
  changed_at integer not null,
  created_at integer not null,
  expires_at integer not null
) strict, without rowid;
create index pillarbox_sessions_key on pillarbox_sessions (key_id);
create index pillarbox_sessions_expiry on pillarbox_sessions (expires_at);
`

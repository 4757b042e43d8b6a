/** Who is signed in at the console, and links that let somebody sign in once. Only hashes are kept of what opens either. */
export const sessions = `
create table pillarbox.sessions (
  id uuid primary key,
  kind text not null check (kind in ('link', 'session')),
  key_id uuid not null references pillarbox.api_keys,
  hash text not null unique,
  -- What opened it before the secret was changed, which requests that were under way then still bring.
  former_hash text unique,
  former_until timestamptz,
  changed_at timestamptz not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index sessions_key on pillarbox.sessions (key_id);
create index sessions_expiry on pillarbox.sessions (expires_at);
`

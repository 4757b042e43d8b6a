import { eventRules } from './0005-event-rules.ts'

/**
 * An event has a topic and remembers the API key that published it; a tenant's people look for events by time and by entity.
 * No index has an event that still waits, so that the host's own transactions write none of them; `type` narrows what they
 * find, and the few that failed have one of their own. A template says whether its body is text or HTML.
 */
export const eventFacts = `
-- Whether a body is plain text or HTML; null: HTML where it looks like it.
alter table pillarbox.templates add column format text check (format in ('text', 'html'));
alter table pillarbox.template_versions add column format text check (format in ('text', 'html'));

-- Domain events: which event types a published name becomes, and of which event such an event was made.
alter table pillarbox.catalogues add column domain_events json not null default '{}';
alter table pillarbox.events add column derived_from text;
create index events_derived on pillarbox.events (tenant_id, derived_from) where derived_from is not null;

alter table pillarbox.events add column topic text, add column published_by text;

create index events_newest on pillarbox.events (tenant_id, created_at, id) where status <> 'pending';
create index events_entity on pillarbox.events (tenant_id, entity_type, entity_id, created_at, id)
  where status <> 'pending';
create index events_failed on pillarbox.events (tenant_id, created_at, id) where status = 'failed';

${inPlaceOfPublish(publishWithTopic())}`

/** The function with one argument more, in place of the former one. */
export function inPlaceOfPublish(publish: string): string {
  return `-- A function with one more argument is another function, and a call could mean either: the former one makes room, and
-- whoever was granted it may call the new one.
alter function pillarbox.publish rename to former_publish;
${publish}
do $rights$
declare
  granted record;
begin
  if (select proacl from pg_proc where oid = 'pillarbox.former_publish'::regproc) is not null then
    revoke execute on function pillarbox.publish from public;
  end if;
  for granted in
    select case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as name, is_grantable
    from pg_proc, aclexplode(proacl) where pg_proc.oid = 'pillarbox.former_publish'::regproc
  loop
    execute format('grant execute on function pillarbox.publish to %s%s', granted.name,
      case when granted.is_grantable then ' with grant option' else '' end);
  end loop;
end
$rights$;
drop function pillarbox.former_publish;
`
}

/** The function as it was, with the topic: its last argument, its rule (packages/client/src/event-rules.ts) and its column. */
export function publishWithTopic(): string {
  return changed(eventRules.slice(eventRules.indexOf('create or replace function pillarbox.publish(')), [
    ['conversation json default null', 'conversation json default null,\n  topic text default null'],
    [
      'elsif (locale ~ locale_form) is false then',
      `elsif (topic ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$') is false then
    argument := 'topic';
    problem := 'must be 1 to 200 letters, digits, ".", "_" and "-", a letter or digit first';
    got := to_json(left(topic, 100))::text;
    advice := 'Leave it out, or pass null, for the one that is made of the type.';
  elsif (locale ~ locale_form) is false then`,
    ],
    ['recipients, channels, conversation)', 'recipients, channels, conversation, topic)'],
    ['own_channels, own_conversation)', 'own_channels, own_conversation, publish.topic)'],
  ])
}

export function changed(publish: string, changes: readonly (readonly [before: string, after: string])[]): string {
  return changes.reduce((text, [before, after]) => {
    if (text.split(before).length !== 2) throw new Error(`pillarbox.publish has not exactly one "${before}"`)
    return text.replace(before, () => after)
  }, publish)
}

/**
 * The SQL function publish() keeps the rules for an event (packages/client/src/event-rules.ts) and says what is wrong in the
 * words of the client package: what the table refuses names no argument and shows the whole row, and what it takes all the
 * same would fail, or be changed, only when it is planned. One corpus of events holds this function, publish() and the HTTP
 * intake to the same answers (test/contract/). The function runs no query for an event without recipients, channels and
 * conversation, because a query costs as much as all of the other checks. Texts with backslashes are written as E'…', which
 * means the same under every setting of the host's.
 */
export const eventRules = String.raw`
-- The first schema wrote the bounds without a zone: they were midnights where the database was set up. Rows that are there
-- keep the former bounds, so none is looked at again.
do $bounds$
declare
  former name;
begin
  select conname into strict former from pg_constraint
  where conrelid = 'pillarbox.events'::regclass and contype = 'c' and pg_get_constraintdef(oid) like '%GREATEST(%';
  execute format('alter table pillarbox.events drop constraint %I', former);
end
$bounds$;
alter table pillarbox.events add constraint events_times check (
  greatest(occurred_at, due_at, next_attempt_at, created_at) < '9999-12-31 00:00:00+00'
  and least(occurred_at, due_at, next_attempt_at, created_at) >= '1970-01-01 00:00:00+00'
) not valid;

create or replace function pillarbox.publish(
  tenant_id text, type text, entity_type text, entity_id text, payload json default '{}',
  id text default null, due_at timestamptz default null, occurred_at timestamptz default null,
  correlation_id text default null, locale text default null,
  recipients json default null, channels json default null, conversation json default null
) returns text language plpgsql volatile as $publish$
declare
  event_id constant text := coalesce(publish.id, gen_random_uuid()::text);
  -- null in JSON is nothing given, too
  own_recipients json := case when json_typeof(recipients) <> 'null' then recipients end;
  own_channels json := case when json_typeof(channels) <> 'null' then channels end;
  own_conversation constant json := case when json_typeof(conversation) <> 'null' then conversation end;
  earliest constant timestamptz := '1970-01-01 00:00:00+00';
  too_late constant timestamptz := '9999-01-01 00:00:00+00';
  unfit constant text := E'[\\x01-\\x1f\\x7f-\\x9f\\u2028\\u2029]';
  entity_form constant text := '^[A-Za-z][A-Za-z0-9_-]{0,62}$';
  entity_words constant text := 'must be 1 to 63 letters, digits, "_" and "-", a letter first';
  locale_form constant text := '^(?=.{2,35}$)[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$';
  id_words constant text := 'must be one line of 1 to 200 characters without control characters';
  time_words constant text := 'must be a time of the years 1970 to 9998 with its zone, such as 2026-03-15T09:00:00Z';
  quoted constant text := E'"(?:[^"\\\\]|\\\\.)*"';
  most_bytes constant integer := 1048576;
  bytes integer := octet_length(payload::text);
  json_arguments constant text[] := array['payload', 'recipients', 'channels', 'conversation'];
  given text;
  escapes text;
  once jsonb;
  once_text text;
  -- What is wrong with which argument, where in it, what came instead, and what to do.
  argument text;
  place text;
  problem text;
  got text;
  advice text;
begin
  -- Spaces between the parts do not count, unless there are so many that it would take long to leave them out.
  if bytes > most_bytes and bytes <= 16 * most_bytes then
    bytes := octet_length(regexp_replace(payload::text, '(' || quoted || E')|[ \\t\\n\\r]+', E'\\1', 'g'));
  end if;

  if (tenant_id ~ '^[a-z0-9-]{1,63}$') is not true then
    argument := 'tenant_id';
    problem := 'must be 1 to 63 of the characters a-z, 0-9 and "-"';
    got := coalesce(to_json(left(tenant_id, 100))::text, 'null');
    advice := 'Pass the id that the tenant was made with.';
  elsif (type ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$') is not true then
    argument := 'type';
    problem := 'must be 1 to 100 letters, digits, ".", "_" and "-", a letter or digit first';
    got := coalesce(to_json(left(type, 100))::text, 'null');
    advice := 'Pass the name of an event type of the tenant’s catalogue, such as booking.confirmed.';
  elsif (entity_type ~ entity_form) is not true then
    argument := 'entity_type';
    problem := entity_words;
    got := coalesce(to_json(left(entity_type, 100))::text, 'null');
    advice := 'Pass what the event is about, such as booking.';
  elsif (length(entity_id) between 1 and 200 and entity_id !~ unfit) is not true then
    argument := 'entity_id';
    problem := id_words;
    got := coalesce(to_json(left(entity_id, 100))::text, 'null');
    advice := 'Pass the id of what the event is about, as text.';
  elsif (json_typeof(payload) = 'object') is not true then
    argument := 'payload';
    problem := 'must be an object such as {"bookingId": 1}';
    got := coalesce('a JSON ' || json_typeof(payload), 'null');
    advice := 'Pass json_build_object(…), or leave it out where there is nothing to say.';
  elsif bytes > most_bytes then
    argument := 'payload';
    problem := format('must not be larger than 1 MiB (1048576 bytes) as JSON, and has %s bytes', bytes);
    advice := 'Pass what the templates use, and an id for the rest.';
  elsif (length(event_id) between 1 and 200 and event_id !~ unfit) is not true then
    argument := 'id';
    problem := id_words;
    got := to_json(left(event_id, 100))::text;
    advice := 'Leave it out, or pass null, where one is to be made.';
  elsif (due_at >= earliest and due_at < too_late) is false then
    argument := 'due_at';
    problem := time_words;
    got := due_at::text;
    advice := 'Leave it out, or pass null, where the catalogue’s timing is to decide.';
  elsif (occurred_at >= earliest and occurred_at < too_late) is false then
    argument := 'occurred_at';
    problem := time_words;
    got := occurred_at::text;
    advice := 'Leave it out, or pass null, where it happens now.';
  elsif (length(correlation_id) between 1 and 200 and correlation_id !~ unfit) is false then
    argument := 'correlation_id';
    problem := id_words;
    got := to_json(left(correlation_id, 100))::text;
    advice := 'Leave it out, or pass null, where there is none.';
  elsif (locale ~ locale_form) is false then
    argument := 'locale';
    problem := 'must be a locale such as de-DE';
    got := to_json(left(locale, 100))::text;
    advice := 'Leave it out, or pass null, where the recipient’s or the catalogue’s is to be used.';
  end if;

  -- What JSON may hold and no reader of the event could keep as it is.
  for i in 1 .. 4 loop
    exit when argument is not null;
    given := case i when 1 then payload when 2 then own_recipients when 3 then own_channels else own_conversation end;
    continue when given is null;
    -- Where a backslash that stands for itself is out of the way, the others begin an escape.
    escapes := case when strpos(given, E'\\u') > 0 then replace(given, E'\\\\', ' ') end;
    if strpos(escapes, E'\\u0000') > 0 then
      problem := 'must not hold the NUL character, which PostgreSQL cannot store';
      advice := 'Take the NUL character out of the texts.';
    elsif escapes ~* E'\\\\ud[89ab][0-9a-f]{2}(?!\\\\ud[c-f])'
      or escapes ~* E'(?<!\\\\ud[89ab][0-9a-f]{2})\\\\ud[c-f]' then
      problem := 'must not hold half of a surrogate pair, which is no valid Unicode';
      advice := 'Take what was cut in half out of the texts.';
    elsif strpos(given, '"__proto__"') > 0 and given ~ E'"__proto__"\\s*:'
      or escapes ~ (E'"(?:_|\\\\u005[Ff]){2}(?:p|\\\\u0070)(?:r|\\\\u0072)(?:o|\\\\u006[Ff])'
        || E'(?:t|\\\\u0074)(?:o|\\\\u006[Ff])(?:_|\\\\u005[Ff]){2}"\\s*:') then
      problem := 'must not have a key __proto__, which readers of JSON may take for a prototype';
      advice := 'Give it another name.';
    -- Only where there may be a long number are the texts taken out, and the numbers looked at one by one.
    elsif given ~ E'[0-9]{16}|[0-9][eE]\\+?[0-9]{3}' and exists (
      select from regexp_matches(regexp_replace(given, quoted, '', 'g'), E'-?[0-9.]+(?:[eE][+-]?[0-9]+)?', 'g') found(number)
      where case
        when number[1] ~ '^-?[0-9]{16,21}$' then number[1]::numeric <> number[1]::float8::text::numeric
        when number[1] ~ E'^-?[0-9]{22}[0-9]*$|^-?[0-9]{200}[0-9]{109}|[eE]\\+?0*[1-9][0-9]{3}' then true
        when number[1] ~ E'[eE]\\+?[0-9]{3}' then abs(number[1]::numeric) > 1.7976931348623157e308
        else false
      end
    ) then
      problem := 'must not hold a number that a reader of JSON may not keep exactly';
      advice := 'Pass it as text.';
    else
      -- jsonb has every key once, and of each the colon; those in texts are in both.
      once := given::jsonb;
      once_text := once::text;
      if octet_length(given) - octet_length(replace(given, ':', ''))
        > octet_length(once_text) - octet_length(replace(once_text, ':', '')) then
        problem := 'must not have a key twice in one object';
        advice := 'Of two values for one key, readers would keep one.';
      elsif jsonb_path_exists(once, 'strict $.**{32} ? (@.type() == "object" || @.type() == "array")') then
        problem := 'is nested deeper than 32 levels';
        advice := 'Pass what the templates use, and an id for the rest.';
      end if;
    end if;
    if problem is not null then
      argument := json_arguments[i];
    end if;
  end loop;

  if argument is null and own_recipients is not null then
    if (case when json_typeof(own_recipients) = 'array' then json_array_length(own_recipients) between 1 and 10000 end) is not true
    then
      place := 'recipients';
      problem := 'must be a list of 1 to 10000 recipients; leave it out for the catalogue''s';
    else
      select format('recipients[%s]%s', position - 1, '.' || name), wrong into place, problem
      from json_array_elements(own_recipients) with ordinality recipient(fields, position)
      left join lateral json_each(case when json_typeof(fields) = 'object' then fields end) field(name, value) on true
      cross join lateral (select case when json_typeof(value) = 'string' then value #>> '{}' end) unquoted(line)
      cross join lateral (select case name when 'phone' then 40 when 'email' then 254 else 200 end) limits(most)
      cross join lateral (select case
        when json_typeof(fields) <> 'object' then 'must be an object with some of profileId, userId, name, phone, email, locale'
        when name is null then null
        when name not in ('profileId', 'userId', 'name', 'phone', 'email', 'locale')
          then 'is not one of profileId, userId, name, phone, email, locale'
        when json_typeof(value) = 'null' or (name = 'name' and line = '') then null
        when name = 'locale' then case when (line ~ locale_form) is not true then 'must be a locale such as de-DE' end
        when (length(line) between 1 and most and line !~ unfit) is not true
          then format('must be one line of 1 to %s characters without control characters', most)
      end) checked(wrong)
      where wrong is not null order by position limit 1;
    end if;
    if problem is not null then
      argument := 'recipients'; -- whose addresses are nothing for a log
      advice := 'Leave it out, or pass null, for the recipients that the catalogue finds in the payload.';
    end if;
  end if;
  if argument is null and own_channels is not null then
    if (case when json_typeof(own_channels) = 'array' then json_array_length(own_channels) > 0 end) is not true then
      place := 'channels';
      problem := 'must be a list of at least one channel; leave it out for the catalogue''s';
    else
      select format('channels[%s]', position - 1), 'must be one of whatsapp, sms, email, push, in_app, webhook' into place, problem
      from json_array_elements(own_channels) with ordinality channel(name, position)
      where json_typeof(name) <> 'string'
        or name #>> '{}' not in ('whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook')
      order by position limit 1;
    end if;
    if problem is not null then
      argument := 'channels';
      got := left(own_channels::text, 100);
      advice := 'Leave it out, or pass null, for the channels that the catalogue names.';
    end if;
  end if;
  if argument is null and own_conversation is not null then
    if json_typeof(own_conversation) <> 'object' then
      place := 'conversation';
      problem := 'must be { type, id }';
    else
      select 'conversation.' || name, 'is not one of type, id' into place, problem
      from json_object_keys(own_conversation) field(name) where name not in ('type', 'id') limit 1;
      if problem is null and (
        json_typeof(own_conversation -> 'type') = 'string' and own_conversation ->> 'type' ~ entity_form
      ) is not true then
        place := 'conversation.type';
        problem := entity_words;
      elsif problem is null and (
        json_typeof(own_conversation -> 'id') = 'string'
        and length(own_conversation ->> 'id') between 1 and 200 and own_conversation ->> 'id' !~ unfit
      ) is not true then
        place := 'conversation.id';
        problem := id_words;
      end if;
    end if;
    if problem is not null then
      argument := 'conversation';
      got := left(own_conversation::text, 100);
      advice := 'Leave it out, or pass null, for the conversation that the catalogue would choose.';
    end if;
  end if;

  if argument is not null then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('pillarbox.publish: %s %s%s', coalesce(place, argument), problem, ', not ' || got),
      hint = advice,
      column = argument;
  end if;

  -- As publish() writes them: without what says nothing, each channel once.
  if own_recipients::text ~ 'null|""' then
    select json_agg((
      select coalesce(json_object_agg(name, value), '{}') from json_each(fields) field(name, value)
      where json_typeof(value) <> 'null' and not (name = 'name' and value #>> '{}' = '')
    ) order by position) into own_recipients
    from json_array_elements(own_recipients) with ordinality recipient(fields, position);
  end if;
  if json_array_length(own_channels) > 1 then
    select json_agg(name order by first) into own_channels
    from (
      select name, min(position) as first
      from json_array_elements_text(own_channels) with ordinality channel(name, position) group by name
    ) each_once;
  end if;
  insert into pillarbox.events
    (tenant_id, id, type, entity_type, entity_id, payload, due_at, occurred_at, correlation_id, locale, recipients, channels, conversation)
  values (publish.tenant_id, event_id, publish.type, publish.entity_type, publish.entity_id, publish.payload, publish.due_at,
    publish.occurred_at, publish.correlation_id, publish.locale, own_recipients, own_channels, own_conversation)
  on conflict do nothing;
  return event_id;
end
$publish$;
`

/**
 * The SQL function publish() says what is wrong with an argument, as the client package does: what the table refuses names
 * no argument and shows the whole row, and what it takes all the same would fail only when it is planned. The rules are
 * those of packages/client/src/check-event.ts, and a test holds them side by side. Texts with backslashes are written as
 * E'…', which means the same under every setting of the host's.
 */
export const checkedPublish = String.raw`
create or replace function pillarbox.publish(
  tenant_id text, type text, entity_type text, entity_id text, payload json,
  id text default null, due_at timestamptz default null, occurred_at timestamptz default null,
  correlation_id text default null, locale text default null,
  recipients json default null, channels json default null, conversation json default null
) returns text language plpgsql volatile as $publish$
declare
  event_id constant text := coalesce(publish.id, gen_random_uuid()::text);
  -- null in JSON is nothing given, too
  own_recipients constant json := case when json_typeof(recipients) <> 'null' then recipients end;
  own_channels constant json := case when json_typeof(channels) <> 'null' then channels end;
  own_conversation constant json := case when json_typeof(conversation) <> 'null' then conversation end;
  earliest constant timestamptz := '1970-01-01 00:00:00+00';
  too_late constant timestamptz := '9999-01-01 00:00:00+00';
  unfit constant text := E'[\\x01-\\x1f\\x7f-\\x9f\\u2028\\u2029]';
  entity_form constant text := '^[A-Za-z][A-Za-z0-9_-]{0,62}$';
  most_bytes constant integer := 1048576;
  bytes integer := octet_length(payload::text);
  escapes text;
  argument text;
  expected text;
  got text;
  advice text;
begin
  -- Spaces between the parts do not count, unless there are so many that it would take long to leave them out.
  if bytes > most_bytes and bytes <= 16 * most_bytes then
    bytes := octet_length(regexp_replace(payload::text, E'("(?:[^"\\\\]|\\\\.)*")|[ \\t\\n\\r]+', E'\\1', 'g'));
  end if;
  -- Where a backslash that stands for itself is out of the way, the others begin an escape.
  if strpos(payload::text, E'\\u') > 0 then
    escapes := replace(payload::text, E'\\\\', ' ');
  end if;

  if (tenant_id ~ '^[a-z0-9-]{1,63}$') is not true then
    argument := 'tenant_id';
    expected := '1 to 63 of the characters a-z, 0-9 and "-"';
    got := tenant_id;
    advice := 'Pass the id that the tenant was made with.';
  elsif (type ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$') is not true then
    argument := 'type';
    expected := '1 to 100 letters, digits, ".", "_" and "-", a letter or digit first';
    got := type;
    advice := 'Pass the name of an event type of the tenant’s catalogue, such as booking.confirmed.';
  elsif (entity_type ~ entity_form) is not true then
    argument := 'entity_type';
    expected := '1 to 63 letters, digits, "_" and "-", a letter first';
    got := entity_type;
    advice := 'Pass what the event is about, such as booking.';
  elsif (length(entity_id) between 1 and 200 and entity_id !~ unfit) is not true then
    argument := 'entity_id';
    expected := 'one line of 1 to 200 characters';
    got := entity_id;
    advice := 'Pass the id of what the event is about, as text.';
  elsif (json_typeof(payload) = 'object') is not true then
    argument := 'payload';
    expected := 'a JSON object such as {"bookingId": 1}';
    got := 'a JSON ' || json_typeof(payload);
    advice := 'Pass json_build_object(…), or ''{}'' where there is nothing to say.';
  elsif bytes > most_bytes then
    argument := 'payload';
    expected := 'at most 1 MiB (1048576 bytes) as JSON';
    got := bytes || ' bytes';
    advice := 'Pass what the templates use, and an id for the rest.';
  elsif strpos(escapes, E'\\u0000') > 0
    or escapes ~* E'\\\\ud[89ab][0-9a-f]{2}(?!\\\\ud[c-f])'
    or escapes ~* E'(?<!\\\\ud[89ab][0-9a-f]{2})\\\\ud[c-f]' then
    argument := 'payload';
    expected := 'text that can be stored';
    got := E'one with \\u0000 or half of a surrogate pair';
    advice := 'Take the NUL character, or what was cut in half, out of the texts in the payload.';
  elsif (length(event_id) between 1 and 200 and event_id !~ unfit) is not true then
    argument := 'id';
    expected := 'one line of 1 to 200 characters';
    got := event_id;
    advice := 'Leave it out, or pass null, where one is to be made.';
  elsif (due_at >= earliest and due_at < too_late) is false then
    argument := 'due_at';
    expected := 'a time of the years 1970 to 9998';
    got := due_at::text;
    advice := 'Leave it out, or pass null, where the catalogue’s timing is to decide.';
  elsif (occurred_at >= earliest and occurred_at < too_late) is false then
    argument := 'occurred_at';
    expected := 'a time of the years 1970 to 9998';
    got := occurred_at::text;
    advice := 'Leave it out, or pass null, where it happens now.';
  elsif (length(correlation_id) between 1 and 200 and correlation_id !~ unfit) is false then
    argument := 'correlation_id';
    expected := 'one line of 1 to 200 characters';
    got := correlation_id;
    advice := 'Leave it out, or pass null, where there is none.';
  elsif (length(locale) <= 35 and locale ~ '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$') is false then
    argument := 'locale';
    expected := 'a locale such as de-DE';
    got := locale;
    advice := 'Leave it out, or pass null, where the recipient’s or the catalogue’s is to be used.';
  end if;

  -- Few events have these. Each stands alone, because a condition with a query in it costs as much as all of the above.
  if argument is null and own_recipients is not null then
    if (case when json_typeof(own_recipients) = 'array' then
      json_array_length(own_recipients) between 1 and 10000
      and not exists (
        select from json_array_elements(own_recipients) recipient(fields)
        where case when json_typeof(fields) = 'object' then exists (
          select from json_each(fields) field(name, value)
          where name not in ('profileId', 'userId', 'name', 'phone', 'email', 'locale')
            or json_typeof(value) not in ('string', 'null')
        ) else true end
      )
    end) is not true then
      argument := 'recipients';
      expected := 'a JSON array of 1 to 10000 objects with texts for some of profileId, userId, name, phone, email, locale';
      got := 'this JSON ' || json_typeof(own_recipients); -- whose addresses are nothing for a log
      advice := 'Leave it out, or pass null, for the recipients that the catalogue finds in the payload.';
    end if;
  end if;
  if argument is null and own_channels is not null then
    if (case when json_typeof(own_channels) = 'array' then
      json_array_length(own_channels) > 0
      and not exists (
        select from json_array_elements(own_channels) channel(name)
        where json_typeof(name) <> 'string'
          or name #>> '{}' not in ('whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook')
      )
    end) is not true then
      argument := 'channels';
      expected := 'a JSON array of at least one of whatsapp, sms, email, push, in_app, webhook';
      got := left(own_channels::text, 100);
      advice := 'Leave it out, or pass null, for the channels that the catalogue names.';
    end if;
  end if;
  if argument is null and own_conversation is not null then
    if (case when json_typeof(own_conversation) = 'object' then
      json_typeof(own_conversation -> 'type') = 'string' and json_typeof(own_conversation -> 'id') = 'string'
      and own_conversation ->> 'type' ~ entity_form
      and length(own_conversation ->> 'id') between 1 and 200 and own_conversation ->> 'id' !~ unfit
      and (select count(*) from json_each(own_conversation)) = 2
    end) is not true then
      argument := 'conversation';
      expected := 'a JSON object such as {"type": "booking", "id": "12345"}';
      got := left(own_conversation::text, 100);
      advice := 'Leave it out, or pass null, for the conversation that the catalogue would choose.';
    end if;
  end if;

  if argument is not null then
    -- Texts are shown as such, so that an empty one can be seen.
    if argument in ('tenant_id', 'type', 'entity_type', 'entity_id', 'id', 'correlation_id', 'locale') then
      got := to_json(left(got, 100))::text;
    end if;
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('pillarbox.publish: %s must be %s, not %s', argument, expected, coalesce(got, 'null')),
      hint = advice,
      column = argument;
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

import { changed, inPlaceOfPublish, publishWithTopic } from './0010-event-facts.ts'

/**
 * A callback may ask somebody to do something: few do, and those are found by an index that has no others. The SQL function
 * takes the trace that an event belongs to.
 */
export const notesAndTraces = `
alter table pillarbox.callbacks add column note text;
create index callbacks_noted on pillarbox.callbacks (id) where note is not null;

${inPlaceOfPublish(publishWithTrace())}`

/** The function as it was, with the trace: its last argument, its rule (packages/client/src/event-rules.ts) and its column. */
function publishWithTrace(): string {
  return changed(publishWithTopic(), [
    ['topic text default null', 'topic text default null, traceparent text default null'],
    [
      'elsif (locale ~ locale_form) is false then',
      `elsif (traceparent ~ '^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$') is false then
    argument := 'traceparent';
    problem := 'must be a traceparent by W3C Trace Context, such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    got := to_json(left(traceparent, 100))::text;
    advice := 'Leave it out, or pass null, where there is no trace.';
  elsif (locale ~ locale_form) is false then`,
    ],
    ['channels, conversation, topic)', 'channels, conversation, topic, traceparent)'],
    ['own_conversation, publish.topic)', 'own_conversation, publish.topic, publish.traceparent)'],
  ])
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  CHANNELS,
  ENTITY_TYPE,
  EVENT_TYPE,
  INSTANT_WORDS,
  LOCALE,
  lineWords,
  MAX_ID_LENGTH,
  MAX_JSON_DEPTH,
  MAX_PAYLOAD_BYTES,
  MAX_RECIPIENTS,
  MAX_SCHEMA_VERSION,
  RECIPIENT_LENGTHS,
  TENANT_ID,
  TOPIC,
  TRACEPARENT,
} from '@pillarbox/client/contract'

const page = readFileSync(new URL('../../docs/reference/events.md', import.meta.url), 'utf8')

const RULES: Record<string, string> = {
  tenantId: TENANT_ID.words,
  id: lineWords(MAX_ID_LENGTH),
  type: EVENT_TYPE.words,
  'entity.type': ENTITY_TYPE.words,
  'entity.id': lineWords(MAX_ID_LENGTH),
  payload: `an object of at most ${MAX_PAYLOAD_BYTES} bytes (1 MiB) as JSON and ${MAX_JSON_DEPTH} levels; not null`,
  occurredAt: INSTANT_WORDS,
  dueAt: INSTANT_WORDS,
  correlationId: lineWords(MAX_ID_LENGTH),
  topic: TOPIC.words,
  traceparent: TRACEPARENT.words,
  locale: LOCALE.words,
  recipients: `a list of 1 to ${MAX_RECIPIENTS} recipients`,
  ...Object.fromEntries(
    Object.entries(RECIPIENT_LENGTHS).map(([field, most]) => [`recipients[].${field}`, lineWords(most)]),
  ),
  'recipients[].locale': LOCALE.words,
  channels: `a list of at least one of ${CHANNELS.join(', ')}`,
  conversation: '`type` and `id`, as of `entity`',
  schemaVersion: `a whole number from 1 to ${MAX_SCHEMA_VERSION}`,
}

describe('docs/reference/events.md', () => {
  it('has every field of an event with its rule, in order, and no other', () => {
    const [table = ''] = page.split('\n## ')
    const rows = [...table.matchAll(/^\| `([^`]+)` \| [^|]+ \| (.+) \|$/gm)].map(([, field, rule]) => [field, rule])

    assert.deepEqual(rows, Object.entries(RULES))
  })
})

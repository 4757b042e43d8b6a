import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '../runtime/system.ts'
import { createPool } from '../untrusted/pool.ts'
import { type Fixture, openFixture } from './fixture.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe('words that would take for ever', () => {
  const pool = createPool({ clock: systemClock, logger: silent, size: 2 })
  let f: Fixture
  before(async () => {
    f = await openFixture({ deps: { untrusted: pool } })
  })
  after(async () => {
    await f.app.close()
    await pool.close()
  })

  /** Doubles a list of a long text eleven times and sorts it a hundred times, in 45 KB. */
  const body =
    `{% capture s %}${'Ab'.repeat(20_000)}{% endcapture %}{% assign a = s | split: "zzz" %}` +
    '{% assign a = a | concat: a %}'.repeat(11) +
    '{% assign b = a | sort_natural %}'.repeat(100)

  it('are refused by a preview with the limit they exceed, and another tenant is answered meanwhile', async () => {
    const [hostile, other] = [await f.tenant('hostile'), await f.tenant('other')]
    const preview = (key: string, words: string) =>
      f.call(key, 'POST', '/api/message-templates/preview', { channel: 'sms', body: words, context: {} })
    let isRefused = false

    const refusing = preview(hostile.keys.admin, body).finally(() => (isRefused = true))
    const answered = await preview(other.keys.admin, 'Hello')

    assert.equal(answered.json().body, 'Hello')
    assert.equal(isRefused, false)
    const refused = await refusing
    assert.equal(refused.statusCode, 422)
    assert.equal(refused.json().code, 'invalid_template')
    assert.match(refused.json().detail, /limit exceeded: it takes more than/)
  })

  it('are refused with the place of the schema in a catalogue', async () => {
    const { keys } = await f.tenant('schemas')
    const payload = {
      type: 'object',
      properties: { a: { allOf: Array.from({ length: 1_500 }, (_, i) => ({ contains: { const: i } })) } },
    }
    const eventTypes = { 'order.paid': { entity: 'order', recipients: [{ phone: 'phone' }], payload } }

    const refused = await f.call(keys.admin, 'PUT', '/api/event-types?dryRun=true', { name: 'shop', eventTypes })

    assert.equal(refused.statusCode, 422)
    assert.match(refused.json().detail, /\/eventTypes\/order\.paid\/payload takes more than 250 ms of processor time/)
  })

  it('are refused as patterns and lists of a schema that a payload makes slow, and the next payload is taken', async () => {
    const { keys } = await f.tenant('payloads')
    const payload = {
      type: 'object',
      properties: {
        code: { type: 'string', pattern: '^(?:a|a){25}b$' },
        list: { type: 'array', allOf: Array.from({ length: 300 }, () => ({ uniqueItems: true })) },
      },
    }
    const eventTypes = { 'order.paid': { entity: 'order', recipients: [{ phone: 'phone' }], payload } }
    const imported = await f.call(keys.admin, 'PUT', '/api/event-types', { name: 'shop', eventTypes })
    assert.equal(imported.statusCode, 200, imported.body)
    const publish = (...payloads: object[]) =>
      f.call(
        keys.publisher,
        'POST',
        '/api/events',
        payloads.map((each, i) => ({ type: 'order.paid', entity: { type: 'order', id: `${i}` }, payload: each })),
      )

    const answers = await publish(
      { code: 'a'.repeat(25) },
      { code: `${'a'.repeat(25)}b` },
      { list: Array.from({ length: 1_000 }, (_, i) => ({ i })) },
    )

    const { results } = answers.json()
    assert.deepEqual(
      results.map(({ status }) => status),
      [422, 202, 422],
    )
    for (const refused of [results[0], results[2]])
      assert.match(String(refused?.detail), /\/payload cannot be checked by its schema: limit exceeded/)
  })

  it('answers 503 for a payload that nobody checks for now, and takes others of the same type', async () => {
    const { keys } = await f.tenant('unjudged')
    const code = { type: 'string', pattern: '^(?:a|a){25}b$' }
    const payload = { type: 'object', properties: { code } }
    const eventTypes = { 'order.paid': { entity: 'order', recipients: [{ phone: 'phone' }], payload } }
    await f.call(keys.admin, 'PUT', '/api/event-types', { name: 'shop', eventTypes })
    const publish = (text: string) =>
      f.call(keys.publisher, 'POST', '/api/events', {
        type: 'order.paid',
        entity: { type: 'order', id: '1' },
        payload: { code: text },
      })
    const slow = 'a'.repeat(25)
    for (let i = 0; i < 3; i++) assert.equal((await publish(slow)).statusCode, 422)

    const unjudged = await publish(slow)

    assert.equal(unjudged.statusCode, 503, unjudged.body)
    assert.equal(unjudged.headers['retry-after'], '60')
    assert.equal((await publish(`${slow}b`)).statusCode, 202)
  })
})

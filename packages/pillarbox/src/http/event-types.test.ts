import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { readCatalogueText } from '../catalogue/file.ts'
import { readyCatalogues } from '../catalogue/ready.ts'
import { createRenderer } from '../render/render.ts'
import { catalogueChecks } from '../untrusted/catalogue-checks.ts'
import { CATALOGUE, openFixture } from './fixture.ts'

const YAML = `name: shop
entities: { order: orders }
eventTypes:
  order.paid:
    entity: order
    payload: { type: object, required: [orderId], properties: { orderId: { type: integer }, email: { type: string } } }
    recipients: [{ email: email }]
    templates:
      - { channel: email, subject: "Order {{orderId}}", body: "It is paid." }
`

async function setup(t: TestContext) {
  const f = await openFixture()
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')
  const put = (body: unknown, query = '') => f.call(keys.admin, 'PUT', `/api/event-types${query}`, body)
  const putYaml = (payload: string | Buffer, type = 'application/yaml', query = '') =>
    f.inject({
      method: 'PUT',
      url: `/api/event-types${query}`,
      headers: { authorization: `Bearer ${keys.admin}`, 'content-type': type },
      payload,
    })
  const get = async (path = '') => (await f.call(keys.viewer, 'GET', `/api/event-types${path}`)).json()
  return { f, keys, put, putYaml, get }
}

describe('the catalogue', () => {
  it('is replaced as a whole, and read back as it was written', async (t) => {
    const { f, keys, put, get } = await setup(t)

    const answer = await put(CATALOGUE)

    assert.equal(answer.statusCode, 200, answer.body)
    const { changes, ...rest } = answer.json()
    assert.deepEqual(rest, { name: 'test', defaultLocale: 'en', version: 1, dryRun: false, warnings: [] })
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ['entity_added', 'event_type_added', 'template_added'],
    )
    const read = await get()
    assert.deepEqual([read.entities, read.version], [{ booking: 'bookings' }, 1])
    const { templates, ...definition } = CATALOGUE.eventTypes['booking.confirmed']
    const type = { name: 'booking.confirmed', once: 'per-entity', ...definition, templateCount: 1 }
    assert.deepEqual(read.items, [type])
    const { templates: own, ...one } = await get('/booking.confirmed')
    assert.deepEqual(one, type)
    assert.deepEqual([own[0]?.body, own[0]?.isEdited], [templates[0]?.body, false])

    const second = await put({ eventTypes: { other: { entity: 'x', recipients: [] } } })
    assert.equal(second.json().version, 2)
    assert.deepEqual(
      second
        .json()
        .changes.map(({ text }) => text)
        .slice(-3),
      [
        'adds the event type other',
        'removes the event type booking.confirmed: events of that type will be refused',
        'leaves the template booking.confirmed (email, en), which the catalogue no longer names: nothing uses it',
      ],
    )
    assert.equal((await f.call(keys.viewer, 'GET', '/api/event-types/booking.confirmed')).statusCode, 404)
  })

  it('is read back with everything that it can say', async (t) => {
    const { put, get } = await setup(t)
    const full = {
      description: 'Everything.',
      entity: 'booking',
      once: 'per-event',
      payload: { type: 'object', properties: { d: { type: 'string', format: 'date' }, token: {}, id: {} } },
      recipients: [{ list: 'ops', expand: true }],
      delivery: { fallback: ['whatsapp', 'sms'] },
      timing: { at: '09:00', field: 'd', before: 'P1D', ifPast: 'skip' },
      replaces: true,
      cancelledBy: ['booking.over'],
      approval: true,
      secrets: ['token'],
      scopes: { listing: 'id' },
      conversation: { type: 'trip', id: 'id' },
      expiresAfter: 'PT6H',
      retry: { delays: ['PT1M'] },
      onUndeliverable: 'fail',
    }
    const over = { entity: 'booking', delivery: { none: true } }

    const answer = await put({ eventTypes: { 'booking.full': full, 'booking.over': over } })

    assert.equal(answer.statusCode, 200, answer.body)
    assert.deepEqual(await get('/booking.full'), { name: 'booking.full', ...full, templateCount: 0, templates: [] })
    assert.deepEqual((await get('/booking.over')).delivery, { none: true })
  })

  it('is taken as the YAML it is written in, under every name that has', async (t) => {
    const { f, keys, putYaml, get } = await setup(t)

    for (const type of ['application/yaml', 'text/yaml; charset=utf-8', 'application/x-yaml', 'TEXT/X-YAML']) {
      const answer = await putYaml(YAML, type)
      assert.equal(answer.statusCode, 200, answer.body)
    }
    const { version } = await get()
    assert.equal(version, 1, 'the same document again makes no new version')
    assert.equal((await get('/versions/1')).document, YAML)
    for (const type of [
      'text/plain',
      'application/yaml; charset=utf-16',
      'application/yamls',
      'application/yaml, text/plain',
    ])
      assert.equal((await putYaml(YAML, type)).statusCode, 415, type)
    const elsewhere = await f.inject({
      method: 'POST',
      url: '/api/events',
      headers: { authorization: `Bearer ${keys.admin}`, 'content-type': 'application/yaml' },
      payload: 'type: order.paid',
    })
    assert.equal(elsewhere.statusCode, 415)
  })

  it('is refused with all its problems at once, and stays as it was', async (t) => {
    const { put, get } = await setup(t)
    await put(CATALOGUE)

    const answer = await put({
      defaultLocale: 'English',
      eventTypes: {
        'a.b': { entity: 'booking', once: 'twice', delivery: {}, templates: [{ channel: 'pigeon' }] },
        'a.c': {
          recipients: [],
          payload: { type: 'string' },
          templates: [{ channel: 'sms', body: 'Hi {{name} {% if %}' }],
        },
      },
    })

    assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_catalogue'])
    assert.deepEqual(
      answer
        .json()
        .errors.map(({ path }) => path)
        .sort(),
      [
        '/defaultLocale',
        '/eventTypes/a.b/delivery',
        '/eventTypes/a.b/once',
        '/eventTypes/a.b/templates/0/body',
        '/eventTypes/a.b/templates/0/channel',
        '/eventTypes/a.c/payload/type',
        '/eventTypes/a.c/templates/0/body',
      ],
    )
    assert.equal((await get()).version, 1)
    for (const body of [[], null, 5, {}, 'name: shop']) assert.equal((await put(body)).json().code, 'invalid_catalogue')
  })

  it('is refused as YAML with line and column', async (t) => {
    const { putYaml } = await setup(t)
    const message = async (text: string | Buffer) => {
      const answer = await putYaml(text)
      assert.equal(answer.statusCode, 422, answer.body)
      return answer.json().errors[0]?.message ?? ''
    }

    assert.match(
      await message(YAML.replace('email: email', 'emial: email')),
      /did you mean "email"\? \[line 7, column 20\]$/,
    )
    assert.match(await message('a: [b\n'), /not valid YAML.*\[line 2, column 1\]$/)
    assert.match(await message(''), /must be an object/)
    assert.equal((await putYaml(Buffer.from([0x6e, 0xe4]))).json().code, 'malformed_json')
  })

  it('says what it would change without changing it', async (t) => {
    const { put, get } = await setup(t)
    await put(CATALOGUE)
    const next = { ...CATALOGUE, defaultLocale: 'de' }

    const dry = await put(next, '?dryRun=true')

    assert.equal(dry.statusCode, 200, dry.body)
    assert.deepEqual([dry.json().dryRun, dry.json().version], [true, 1])
    assert.deepEqual(dry.json().changes[0], {
      kind: 'setting_changed',
      text: 'changes defaultLocale "en" → "de"',
      fields: [{ field: 'defaultLocale', from: 'en', to: 'de' }],
    })
    assert.equal((await get()).version, 1)
    assert.deepEqual((await put(next)).json().changes, dry.json().changes)
    assert.equal((await get()).version, 2)
    assert.equal((await put(next, '?dryRun=perhaps')).json().code, 'invalid_query')
  })

  it('updates templates that nobody edited, and keeps and reports those that somebody did', async (t) => {
    const { f, putYaml, get } = await setup(t)
    await putYaml(YAML)
    const later = YAML.replace('It is paid.', 'Thank you.')
    const body = async () => (await get('/order.paid')).templates[0]?.body

    assert.deepEqual(
      (await putYaml(later)).json().changes.map(({ kind }) => kind),
      ['template_updated'],
    )
    assert.equal(await body(), 'Thank you.')
    const [template] = await f.store.templates.ofEventType('acme', 'order.paid')
    await f.store.templates.update('acme', template?.id ?? '', { body: 'Mine.' }, 'key:admin')
    const kept = (await putYaml(YAML)).json()
    assert.deepEqual([kept.changes.map(({ kind }) => kind), kept.version], [['template_kept'], 3])
    assert.equal(await body(), 'Mine.')
  })

  it('warns of what is probably not meant', async (t) => {
    const { putYaml } = await setup(t)

    const { warnings } = (
      await putYaml(YAML.replace('{{orderId}}', '{{ordreId}}').replace('email: email', 'email: mail'))
    ).json()

    assert.deepEqual(
      warnings.map(({ key, message }) => [key, message]),
      [
        [
          '/eventTypes/order.paid/recipients/0/email',
          'leads nowhere: the payload’s schema has no "mail" [line 7, column 20]',
        ],
        [
          '/eventTypes/order.paid/templates/0',
          'uses {{ordreId}}, which the payload’s schema does not have; did you mean {{orderId}}? [line 9, column 9]',
        ],
      ],
    )
  })

  it('is refused with the problems and the warnings that a check of the same file gives, dry run or not', async (t) => {
    const { put, putYaml } = await setup(t)
    const document = YAML.replace('{{orderId}}', '{{ordreId}}')
      .replace('entity: order\n', 'entity: order\n    once: twice\n')
      .replace('- { channel: email', `${'- { channel: pigeon, body: x }\n      '.repeat(60)}- { channel: email`)
    const checked = readCatalogueText(
      document,
      catalogueChecks(createRenderer(), () => {}),
    )
    assert.ok('problems' in checked && checked.problems.length > 60 && checked.warnings.length > 0)
    const placed = ({ message, line, column }: { message: string; line: number | null; column: number | null }) =>
      `${message} [line ${line}, column ${column}]`

    for (const query of ['', '?dryRun=true']) {
      const answer = (await putYaml(document, 'application/yaml', query)).json()

      assert.deepEqual(
        answer.errors,
        checked.problems.map((problem) => ({ path: problem.path, message: placed(problem) })),
      )
      assert.deepEqual(
        answer.warnings,
        checked.warnings.map((warning) => ({
          code: 'probably_not_meant',
          key: warning.path,
          message: placed(warning),
        })),
      )
    }
    const asJson = (await put(parse(document))).json()
    assert.deepEqual(
      asJson.warnings.map(({ key }) => key),
      checked.warnings.map(({ path }) => path),
    )
    assert.equal('warnings' in (await put({})).json(), false, 'where there are none, nothing is said of them')
  })

  it('has versions: who, when and the document', async (t) => {
    const { f, keys, put, putYaml, get } = await setup(t)
    await put(CATALOGUE)
    f.advance(60_000)
    await putYaml(YAML)

    const { items } = await get('/versions')

    assert.deepEqual(items, [
      {
        version: 2,
        name: 'shop',
        defaultLocale: 'en',
        importedBy: 'key:admin',
        importedAt: new Date(f.now()).toISOString(),
      },
      {
        version: 1,
        name: 'test',
        defaultLocale: 'en',
        importedBy: 'key:admin',
        importedAt: new Date(f.now() - 60_000).toISOString(),
      },
    ])
    const { document, ...second } = await get('/versions/2')
    assert.deepEqual([document, second], [YAML, items[0]])
    assert.deepEqual(JSON.parse((await get('/versions/1')).document), CATALOGUE)
    for (const version of ['0', '3', '-1', '1.0', 'x', '01'])
      assert.equal((await f.call(keys.viewer, 'GET', `/api/event-types/versions/${version}`)).statusCode, 404)
  })

  it('may be any of those that ship', async (t) => {
    const { putYaml } = await setup(t)

    for (const name of readyCatalogues.names()) {
      const answer = await putYaml(readyCatalogues.document(name) ?? '')
      assert.equal(answer.statusCode, 200, answer.body)
      assert.deepEqual(answer.json().warnings, [], name)
    }
  })
})

describe('an event whose payload its type refuses', () => {
  it('is answered with every path, and spoils no other', async (t) => {
    const { f, keys, putYaml } = await setup(t)
    await putYaml(YAML)
    const event = (payload: object) => ({ type: 'order.paid', entity: { type: 'order', id: '1' }, payload })
    const publish = (body: unknown) => f.call(keys.publisher, 'POST', '/api/events', body)

    const refused = await publish(event({ orderId: 'one', email: 5 }))
    assert.equal(refused.statusCode, 422)
    assert.deepEqual(refused.json().errors, [
      { path: '/payload/orderId', message: 'must be integer' },
      { path: '/payload/email', message: 'must be string' },
    ])
    assert.equal((await publish(event({ orderId: 1 }))).statusCode, 202)
    const { results } = (await publish([event({}), event({ orderId: 1 })])).json()
    assert.deepEqual(
      results.map(({ status }) => status),
      [422, 202],
    )
  })

  it('is refused here as soon as the catalogue says so', async (t) => {
    const { f, keys, putYaml } = await setup(t)
    await putYaml(YAML)
    const event = { type: 'order.paid', entity: { type: 'order', id: '1' }, payload: { orderId: 1 } }
    const publish = async () => (await f.call(keys.publisher, 'POST', '/api/events', event)).statusCode

    assert.equal(await publish(), 202)
    await putYaml(YAML.replace('orderId: { type: integer }', 'orderId: { type: string }'))
    assert.equal(await publish(), 422)
  })
})

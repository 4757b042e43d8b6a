import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as ajvFormats from 'ajv-formats'
import { CORPUS, GOOD_EVENT } from '../../../../test/contract/corpus.ts'
import { withoutReferences } from '../../../../test/support/openapi-document.ts'
import { planEvents } from '../../../../test/support/planning.ts'
import { ERRORS } from '../model/errors.ts'
import { CATALOGUE, type Fixture, openFixture } from './fixture.ts'
import type { RouteEntry } from './operation.ts'
import { PATTERN_WORDS } from './schemas.ts'

interface Document {
  openapi: string
  info: Record<string, string>
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

interface Titled {
  title?: string
  examples?: unknown[]
}

interface Operation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, string[]>[]
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: object }[]
  requestBody?: { required: boolean; content: Record<string, { schema: object }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>
}

describe('the OpenAPI document', () => {
  let f: Fixture
  let document: Document

  before(async () => {
    f = await openFixture()
    document = withoutReferences(JSON.parse((await f.call(null, 'GET', '/openapi.json')).body) as Document)
  })
  after(() => f.app.close())

  it('is version 3.1 and names the product’s version', () => {
    assert.equal(document.openapi, '3.1.0')
    assert.equal(document.info['title'], 'Pillarbox')
    assert.equal(document.info['version'], '0.0.0-test')
  })

  it('has no pattern without words for those who do not meet it', () => {
    const words = new Map<string, string | undefined>()
    JSON.stringify(document, (_, value: { pattern?: unknown; title?: string } | null) => {
      // A catalogue's form has its words beside each pattern.
      if (typeof value?.pattern === 'string') words.set(value.pattern, PATTERN_WORDS[value.pattern] ?? value.title)
      return value
    })

    assert.ok(words.size > 5)
    for (const [pattern, said] of words) assert.ok(said, pattern)
  })

  it('has only patterns that mean the same to whoever reads them without the flag for Unicode', () => {
    JSON.stringify(document, (_, value: { pattern?: unknown } | null) => {
      if (typeof value?.pattern === 'string') assert.doesNotMatch(value.pattern, /\\p\{|\\u\{/i)
      return value
    })
  })

  it('has every route and nothing else', () => {
    const registered = f.app.routeTable
      .filter(({ url }) => url !== '/openapi.json')
      .map(({ method, url }) => `${method.toLowerCase()} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    )

    assert.deepEqual(documented.sort(), registered.sort())
  })

  it('says of every operation what it does, what it takes and what it answers', () => {
    const tags = document.tags.map(({ name }) => name)
    for (const { name, operation } of operations()) {
      assert.ok(operation.summary && operation.description, name)
      assert.ok(operation.tags?.every((tag) => tags.includes(tag)) && operation.tags.length === 1, name)
      assert.ok(
        Object.keys(operation.responses).some((status) => /^20\d$/.test(status)),
        name,
      )
      for (const parameter of name.matchAll(/\{(\w+)\}/g))
        assert.ok(
          operation.parameters?.some(({ in: place, name: given }) => place === 'path' && given === parameter[1]),
          name,
        )
      for (const parameter of operation.parameters ?? []) assert.ok(parameter.description, `${name} ${parameter.name}`)
      for (const [status, { description }] of Object.entries(operation.responses))
        assert.ok(description && description !== 'Default Response', `${name} ${status}`)
    }
    for (const { name, description } of document.tags) assert.ok(description, name)
  })

  it('calls every operation by a verb and a noun, each by one that no other has', () => {
    const names = [...operations()].map(({ operation }) => operation.operationId ?? '')

    for (const name of names) assert.match(name, /^[a-z]+(?:[A-Z][a-z0-9]+)+$/)
    assert.equal(new Set(names).size, names.length)
  })

  it('has the problems that stand in the way of each operation, by their status', () => {
    for (const { name, operation, route } of operations()) {
      const statuses = new Set(route.problems.map((code) => String(ERRORS[code].status)))
      const withProblem = Object.entries(operation.responses).filter(
        ([, { content = {} }]) => 'application/problem+json' in content,
      )
      assert.deepEqual(withProblem.map(([status]) => status).sort(), [...statuses, 'default'].sort(), name)
    }
    const answers = Object.keys(document.paths['/api/notifications']?.['post']?.responses ?? {})
    assert.deepEqual(
      answers.filter((status) => status >= '4' && status !== 'default'),
      ['400', '401', '403', '404', '408', '409', '413', '415', '422', '429', '500', '503'],
    )
    const health = Object.keys(document.paths['/health/live']?.['get']?.responses ?? {})
    assert.deepEqual(health, ['200', '422', '500', '503', 'default'])
  })

  it('asks for no parameter and no body that may be left out', () => {
    const optional = ['limit', 'cursor', 'tenantId']
    for (const { name, operation, route } of operations()) {
      const asked = operation.parameters?.filter(({ required }) => required).map((parameter) => parameter.name) ?? []
      assert.ok(!asked.some((parameter) => optional.includes(parameter) && !name.includes(`{${parameter}}`)), name)
      if (operation.requestBody) assert.equal(operation.requestBody.required, !route.isBodyOptional, name)
    }
    assert.equal(document.paths['/api/notifications/{id}/discard']?.['post']?.requestBody?.required, false)
    assert.equal(document.paths['/api/events']?.['post']?.requestBody?.required, true)
  })

  it('has only examples that are what their schemas ask for', () => {
    const ajv = new Ajv2020({ strict: false })
    ;(ajvFormats.default as unknown as (ajv: Ajv2020) => void)(ajv)
    const shown = new Set<string>()
    function check(schema: Titled, example: unknown): void {
      assert.ok(ajv.validate(schema, example), `${schema.title} ${ajv.errorsText()}`)
      shown.add(schema.title ?? '')
    }
    JSON.stringify(document, (_, value: (Titled & { example?: unknown; schema?: Titled }) | null) => {
      if (Array.isArray(value?.examples)) for (const example of value.examples) check(value, example)
      if (value?.example !== undefined && value.schema) check(value.schema, value.example)
      return value
    })

    for (const name of ['NewEvent', 'NewNotification', 'NewPush', 'NewAccount', 'NewTemplate', 'NewTenant', 'Problem'])
      assert.ok(shown.has(name), name)
  })

  it('holds only schemas that JSON Schema 2020-12 can compile', () => {
    const ajv = new Ajv2020({ strict: false })
    ;(ajvFormats.default as unknown as (ajv: Ajv2020) => void)(ajv)
    let compiled = 0
    for (const { name, operation } of operations()) {
      const schemas = [
        ...(operation.parameters ?? []).map(({ schema }) => schema),
        ...Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema),
        ...Object.values(operation.responses).flatMap(({ content = {} }) =>
          Object.values(content).map(({ schema }) => schema),
        ),
      ]
      for (const schema of schemas) {
        assert.doesNotThrow(() => ajv.compile(schema), name)
        compiled += 1
      }
    }
    assert.ok(compiled > 100)
  })

  it('refuses no event that is taken, and every event that breaks a rule which a schema can state', () => {
    const ajv = new Ajv2020({ strict: false })
    ;(ajvFormats.default as unknown as (ajv: Ajv2020) => void)(ajv)
    const { schema } = document.paths['/api/events']?.['post']?.requestBody?.content['application/json'] ?? {}
    const isInSchema = ajv.compile((schema as { anyOf: object[] }).anyOf[0] ?? false)
    const stated = CORPUS.filter(
      ({ kind, isBeyondSchema }) => !isBeyondSchema && (kind === 'any' || kind === 'not sql'),
    )

    assert.ok(stated.length > 100)
    for (const { name, changes, refused } of stated) {
      const event: unknown = JSON.parse(JSON.stringify({ ...GOOD_EVENT, ...changes }))
      assert.equal(isInSchema(event), refused === null, name)
    }
  })

  it('promises what the server answers', async () => {
    const tenant = await f.tenant('acme')
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    ;(ajvFormats.default as unknown as (ajv: Ajv2020) => void)(ajv)
    const account = { channel: 'email', provider: 'sandbox', name: 'mail', pace: { perSecond: 5 }, secrets: { a: 'b' } }
    const email = { channel: 'email', to: { email: 'a@example.test' }, body: 'x' }
    await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', account)
    const { id } = (await f.call(tenant.keys.admin, 'POST', '/api/notifications', email)).json()
    await f.call(tenant.keys.admin, 'PUT', '/api/event-types', CATALOGUE)
    const admin = async (url: string, body: object) => (await f.call(tenant.keys.admin, 'POST', url, body)).json().id
    const template = await admin('/api/message-templates', {
      eventType: 'booking.confirmed',
      channel: 'sms',
      body: 'Hi {{nobody}}',
      providerTemplate: { dltTemplateId: '1707' },
    })
    const contact = await admin('/api/contacts', { email: 'a@example.test' })
    const list = await admin('/api/recipient-lists', { name: 'team', members: [{ email: 'a@example.test' }] })
    const suppression = await admin('/api/suppressions', { channel: 'email', address: 'gone@example.test' })
    const booking = { type: 'booking', id: '42' }
    const about = { tenantId: 'acme', contactId: contact, conversation: booking }
    const [person] = await f.store.people.resolve([about], f.deps.ids)
    await f.call(tenant.keys.admin, 'POST', '/api/events', { type: 'booking.confirmed', entity: booking })
    const scheduleId = f.deps.ids()
    await planEvents(f.store, 1, () => ({
      kind: 'schedule',
      scheduleId,
      dueAt: f.now(),
      needsApproval: true,
      cancels: null,
    }))
    await f.call(tenant.keys.admin, 'POST', '/api/notifications', { ...email, entity: booking })
    const messageId = f.deps.ids()
    const words = JSON.stringify({ subject: null, text: 'Hi', html: '<p>Hi</p>', data: { a: [1] } })
    const place = { tenantId: 'acme', table: 'inbox_messages', rowId: messageId }
    await f.store.inbox.put({ id: messageId, tenantId: 'acme', userId: 'ada', sealed: f.deps.seal.seal(words, place) })
    for (const [path, url] of [
      ['/api/inbox/{userId}/messages', '/api/inbox/ada/messages'],
      ['/api/inbox/{userId}/unread-count', '/api/inbox/ada/unread-count'],
      ['/api/message-templates', '/api/message-templates'],
      ['/api/message-templates/{id}', `/api/message-templates/${template}`],
      ['/api/message-templates/{id}/versions', `/api/message-templates/${template}/versions`],
      ['/api/contacts', '/api/contacts'],
      ['/api/contacts/{id}', `/api/contacts/${contact}`],
      ['/api/conversations', '/api/conversations'],
      ['/api/conversations/{id}', `/api/conversations/${person?.conversationId}`],
      ['/api/recipient-lists', '/api/recipient-lists'],
      ['/api/recipient-lists/{id}', `/api/recipient-lists/${list}`],
      ['/api/recipient-lists/{id}/members', '/api/recipient-lists/team/members'],
      ['/api/suppressions', '/api/suppressions'],
      ['/api/suppressions/{id}', `/api/suppressions/${suppression}`],
      ['/api/automation-schedules', '/api/automation-schedules'],
      ['/api/automation-schedules/{id}', `/api/automation-schedules/${scheduleId}`],
      ['/api/communication-logs', '/api/communication-logs?bookingId=42'],
      ['/api/notifications', '/api/notifications'],
      ['/api/notifications/{id}', `/api/notifications/${id}`],
      ['/api/notifications/{id}/status', `/api/notifications/${id}/status`],
      ['/api/channel-accounts', '/api/channel-accounts'],
      ['/api/keys', '/api/keys'],
      ['/api/tenant', '/api/tenant'],
      ['/api/event-types', '/api/event-types'],
      ['/health', '/health'],
    ] as const) {
      const schema = document.paths[path]?.['get']?.responses['200']?.content?.['application/json']?.schema
      const validate = ajv.compile(schema ?? false)
      const key = url.startsWith('/api/inbox/') ? tenant.keys.publisher : tenant.keys.admin
      const answer = await f.call(key, 'GET', url)
      assert.equal(answer.statusCode, 200, `${path} ${answer.body}`)
      assert.ok(validate(answer.json()), `${path} ${JSON.stringify(validate.errors)}`)
    }
    const problem =
      document.paths['/api/keys']?.['get']?.responses['default']?.content?.['application/problem+json']?.schema
    assert.ok(ajv.validate(problem ?? false, (await f.call(null, 'GET', '/api/keys')).json()))
  })

  it('is sent only to whoever does not have it yet', async () => {
    const { headers, body } = await f.call(null, 'GET', '/openapi.json')
    const ask = (known: string) =>
      f.inject({ method: 'GET', url: '/openapi.json', headers: { 'if-none-match': known } })

    assert.match(String(headers.etag), /^"[\w-]{43}"$/)
    assert.equal(headers['cache-control'], 'no-cache')
    for (const known of [String(headers.etag), `W/${headers.etag}`, `"other", ${headers.etag}`]) {
      const again = await ask(known)
      assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', headers.etag], known)
    }
    const other = await ask('"other"')
    assert.deepEqual([other.statusCode, other.body], [200, body])
  })

  it('has a page that runs no inline script and loads nothing from elsewhere', async () => {
    const page = await f.call(null, 'GET', '/docs/')

    assert.equal(page.statusCode, 200)
    assert.match(String(page.headers['content-type']), /text\/html/)
    const policy = String(page.headers['content-security-policy'])
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /script-src 'self';/)
    assert.ok(!/https?:/.test(policy))
    assert.ok(!/<script(?![^>]*\bsrc=)[^>]*>/.test(page.body))
    for (const [, asset] of page.body.matchAll(/(?:src|href)="\.?([^"]+)"/g))
      assert.equal((await f.call(null, 'GET', `/docs${asset}`)).statusCode, 200, asset)
    const { statusCode, headers } = await f.call(null, 'GET', '/docs/json')
    assert.deepEqual([statusCode, headers.location], [302, '../openapi.json'])
    assert.equal((await f.call(null, 'GET', '/docs')).statusCode, 200)
  })

  function* operations(): Generator<{ name: string; operation: Operation; route: RouteEntry }> {
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, operation] of Object.entries(methods)) {
        const route = f.app.routeTable.find(
          (entry) => entry.method.toLowerCase() === method && entry.url.replaceAll(/:(\w+)/g, '{$1}') === path,
        )
        assert.ok(route, path)
        yield { name: `${method} ${path}`, operation, route }
      }
  }
})

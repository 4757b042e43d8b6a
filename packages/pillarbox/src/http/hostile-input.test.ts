import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Fixture, openFixture, type TestTenant } from './fixture.ts'

const EMAIL = { channel: 'email', to: { email: 'a@example.test' }, body: 'x' }
const INVALID = JSON.stringify({ ...EMAIL, nonsense: 1 })

const JSON_TYPES = [
  'application/json',
  'application/json;charset=utf-8',
  'application/json; charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json; charset="utf-8"',
  'Application/JSON',
  'APPLICATION/JSON; CHARSET=UTF-8',
]

const OTHER_TYPES = [
  '',
  ' ',
  'json',
  'text/json',
  'text/plain',
  'text/plain; application/json',
  'text/html',
  'text/xml',
  'application/xml',
  'application/jsonp',
  'application/json5',
  'application/x-json',
  'application/ld+json',
  'application/problem+json',
  'application/vnd.api+json',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/javascript',
  'application/x-ndjson',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/json, text/plain',
  'text/plain, application/json',
  'application/json; charset=utf-16',
  'application/json; charset=iso-8859-1',
  'application/json; charset=utf-7',
  'application/json; charset=utf8',
  'application/json; charset=',
  'application/json; charset=utf-8; charset=utf-16',
  'application/json; boundary=x',
  'application/json; q=0.5',
  'application/json;;charset=utf-8',
  'application/json charset=utf-8',
  'application / json',
  'application\\json',
  'application/json/',
  '/application/json',
  'application/json\u00a0',
  'application/json%20',
  '*/*',
  'application/*',
]

describe('hostile input', () => {
  let f: Fixture
  let tenant: TestTenant

  before(async () => {
    f = await openFixture()
    tenant = await f.tenant('acme')
  })
  after(() => f.app.close())

  const post = (
    payload: string | Buffer,
    headers: Record<string, string> = { 'content-type': 'application/json' },
    url = '/api/notifications',
  ) =>
    f.inject({
      method: 'POST',
      url,
      headers: { authorization: `Bearer ${tenant.keys.publisher}`, ...headers },
      payload,
    })

  it('knows at least 40 spellings of a content type', () => {
    assert.ok(JSON_TYPES.length + OTHER_TYPES.length >= 40)
  })

  for (const type of JSON_TYPES)
    it(`validates a body sent as ${JSON.stringify(type)}`, async () => {
      const answer = await post(INVALID, { 'content-type': type })

      assert.equal(answer.statusCode, 422, answer.body)
      assert.equal(answer.json().errors[0]?.path, '/nonsense')
    })

  for (const type of OTHER_TYPES)
    it(`refuses a body sent as ${JSON.stringify(type)}`, async () => {
      const answer = await post(JSON.stringify(EMAIL), { 'content-type': type })

      assert.equal(answer.statusCode, 415, answer.body)
      assert.equal(answer.json().code, 'unsupported_media_type')
    })

  it('refuses a body without a content type', async () => {
    const answer = await f.inject({
      method: 'POST',
      url: '/api/notifications',
      headers: { authorization: `Bearer ${tenant.keys.publisher}`, 'content-length': '2' },
      payload: Buffer.from('{}'),
    })

    assert.equal(answer.statusCode, 415)
  })

  for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'GZIP', 'identity, gzip', 'x-gzip'])
    it(`refuses a body that is compressed with ${encoding}`, async () => {
      const answer = await post('{}', { 'content-type': 'application/json', 'content-encoding': encoding })

      assert.equal(answer.statusCode, 415)
    })

  for (const [what, body, status, code] of [
    ['nothing', '', 400, 'malformed_json'],
    ['half an object', '{"channel":', 400, 'malformed_json'],
    ['a byte order mark', `\ufeff${JSON.stringify(EMAIL)}`, 400, 'malformed_json'],
    ['bad UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 400, 'malformed_json'],
    ['a key twice', '{"channel":"email","channel":"sms"}', 400, 'malformed_json'],
    ['33 levels', `{"data":${'['.repeat(32)}${']'.repeat(32)}}`, 422, 'invalid_body'],
    ['a megabyte of brackets', '['.repeat(1_000_000), 422, 'invalid_body'],
    ['__proto__', '{"data":{"__proto__":{"a":1}}}', 422, 'invalid_body'],
    ['NUL', '{"body":"\\u0000"}', 422, 'invalid_body'],
    ['half a surrogate pair', '{"body":"\\ud83d"}', 422, 'invalid_body'],
    ['1e400', '{"data":{"a":1e400}}', 422, 'invalid_body'],
    ['a whole number beyond 2^53', '{"data":{"a":9007199254740993}}', 422, 'invalid_body'],
    ['null', 'null', 422, 'invalid_body'],
    ['a list', '[]', 422, 'invalid_body'],
    ['a text', '"x"', 422, 'invalid_body'],
    ['a number', '5', 422, 'invalid_body'],
  ] as const)
    it(`answers ${what} with ${code}`, async () => {
      const answer = await post(body)

      assert.equal(answer.statusCode, status, answer.body)
      assert.equal(answer.json().code, code)
    })

  it('takes numbers and times at the edge of what can be kept', async () => {
    for (const data of [{ a: -0 }, { a: 1e308 }, { a: 9007199254740991 }, { a: 0.1 }])
      assert.equal((await post(JSON.stringify({ ...EMAIL, data }))).statusCode, 202)
    for (const dueAt of ['9998-12-31T23:59:59Z', '1970-01-01T00:00:00Z', '2026-03-15T09:30:00.123456789+05:30'])
      assert.equal((await post(JSON.stringify({ ...EMAIL, dueAt }))).statusCode, 202, dueAt)
  })

  for (const dueAt of [
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T25:00:00Z',
    '1970-01-01T00:00:00+05:00',
    '2026-01-01T23:59:60Z',
    '2026-01-01T00:00:00',
    '2026-01-01',
    '99999-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    '2026-01-01t00:00:00z',
    'tomorrow',
    '',
    '1e12',
    1_800_000_000_000,
    {},
  ])
    it(`refuses ${JSON.stringify(dueAt)} as a time`, async () => {
      const answer = await post(JSON.stringify({ ...EMAIL, dueAt }))

      assert.equal(answer.statusCode, 422, answer.body)
      assert.equal(answer.json().errors[0]?.path, '/dueAt')
    })

  it('takes a body of exactly the limit and refuses one byte more', async () => {
    const limit = 1_048_576
    const padded = (size: number): string => {
      const empty = JSON.stringify({ ...EMAIL, data: { pad: '' } })
      return JSON.stringify({ ...EMAIL, data: { pad: 'x'.repeat(size - empty.length) } })
    }

    assert.equal((await post(padded(limit))).statusCode, 202)
    const answer = await post(padded(limit + 1))
    assert.equal(answer.statusCode, 413)
    assert.equal(answer.json().code, 'body_too_large')
  })

  it('takes batches of 1,000 and up to 4 MiB, and no more', async () => {
    const batch = (count: number) =>
      post(JSON.stringify({ items: Array(count).fill(EMAIL) }), undefined, '/api/notifications/batch')

    assert.equal((await batch(1_000)).statusCode, 200)
    assert.equal((await batch(1_001)).statusCode, 422)
    assert.equal((await batch(0)).statusCode, 422)
    const pad = 'x'.repeat(1_300_000)
    const items = [1, 2, 3].map(() => ({ ...EMAIL, data: { pad } }))
    assert.equal((await post(JSON.stringify({ items }), undefined, '/api/notifications/batch')).statusCode, 200)
    const more = [...items, ...items]
    assert.equal((await post(JSON.stringify({ items: more }), undefined, '/api/notifications/batch')).statusCode, 413)
  })

  for (const path of [
    '/api//notifications',
    '//api/notifications',
    '/api/notifications/',
    '/API/notifications',
    '/api/Notifications',
    '/api/./notifications',
    '/ops/../api/notifications',
    '/api/%2e%2e/ops/tenants',
    '/api%2fnotifications',
    '/api/notifications%2f',
    '/api/notifications%00',
    '/api/notifications;x=1',
    '/api\\notifications',
    '/%61pi/notifications/../../ops/tenants',
    '/api/notifications/%2e%2e%2f%2e%2e%2fops',
    '/api/%ff',
    '/api/%',
    '/docs/../api/keys',
    '/docs/static/../../api/keys',
    '/docs/static/..%2f..%2fpackage.json',
    '/docs/static/%2e%2e/%2e%2e/package.json',
    '/health/../api/keys',
  ])
    it(`lets nobody past the guard by way of ${path}`, async () => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE'] as const) {
        const answer = await f.inject({ method, url: path })
        assert.ok(
          [400, 401, 403, 404, 405].includes(answer.statusCode),
          `${method} ${answer.statusCode} ${answer.body.slice(0, 100)}`,
        )
        assert.equal(answer.headers['x-content-type-options'] ?? 'nosniff', 'nosniff')
      }
    })

  it('guards an encoded spelling of a path like the path itself', async () => {
    assert.equal((await f.call(null, 'GET', '/%61pi/notifications')).statusCode, 401)
    assert.equal((await f.call(tenant.keys.publisher, 'GET', '/%61pi/notifications')).statusCode, 403)
    assert.equal((await f.call(tenant.keys.admin, 'GET', '/op%73/tenants')).statusCode, 403)
  })

  for (const query of [
    'q=%00',
    'q=a%00b',
    'limit=0',
    'limit=201',
    'limit=1.5',
    'limit=x',
    'limit=1e9',
    'limit=5&limit=6',
    'cursor=%00',
    'cursor=x',
    'cursor=WyJhIl0',
    'status=nonsense',
    'from=yesterday',
    'channel=pigeon',
    'reason=because',
    '__proto__=1',
    'constructor=1',
    'correlationId=1',
    'possibleDuplicate=maybe',
    'status[]=sent',
    'bookingId=1&guestId=2',
    'bookingId=',
  ])
    it(`refuses the query ${query}`, async () => {
      const answer = await f.call(tenant.keys.viewer, 'GET', `/api/notifications?${query}`)

      assert.equal(answer.statusCode, 422, answer.body)
      assert.equal(answer.json().code, 'invalid_query')
    })

  it('takes queries at their limits', async () => {
    for (const query of [
      'limit=1',
      'limit=200',
      `q=${'x'.repeat(300)}`,
      "q='%20or%201=1--",
      'q=%ff',
      'q=%F0%9F%98%80',
      'bookingId=1',
    ])
      assert.equal((await f.call(tenant.keys.viewer, 'GET', `/api/notifications?${query}`)).statusCode, 200, query)
  })

  it('answers a path longer than any id without looking it up', async () => {
    assert.equal((await f.call(f.opsKey, 'POST', `/ops/outbox/${'x'.repeat(5_000)}/replay`)).statusCode, 414)
    assert.equal((await f.call(f.opsKey, 'POST', `/ops/outbox/${'x'.repeat(300)}/replay`)).statusCode, 404)
  })

  it('leaves no trace of bodies, addresses or keys in the log', async () => {
    const canary = 'canary-in-the-coal-mine'
    await post(JSON.stringify({ ...EMAIL, body: canary, to: { email: `${canary}@example.test` }, subject: canary }))
    await f.call(tenant.keys.viewer, 'GET', `/api/notifications?q=${canary}`)
    await f.call(canary, 'GET', `/api/notifications/${canary}`)
    await post(`{"${canary}":`)

    const log = f.log.join('\n')
    assert.ok(log.includes('/api/notifications'))
    for (const secret of [canary, ...Object.values(tenant.keys), f.opsKey]) assert.ok(!log.includes(secret))
  })
})

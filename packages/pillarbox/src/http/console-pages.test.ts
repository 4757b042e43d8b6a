import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { NONCE } from './console-pages.ts'
import type { HttpConfig } from './context.ts'
import { openFixture } from './fixture.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function setup(t: TestContext, config: Partial<HttpConfig> = {}) {
  const assets = new Map([['app-1.js', Buffer.from('let x = 1')]])
  const f = await openFixture({
    config,
    deps: { console: { page: `<meta name="csp-nonce" content="${NONCE}">`, assets } },
  })
  t.after(() => f.app.close())
  const get = (url: string, headers: Record<string, string> = BROWSER) => f.app.inject({ method: 'GET', url, headers })
  return { f, get }
}

it('gives a browser the console at any address that is not the API’s', async (t) => {
  const { get } = await setup(t)

  for (const path of ['/', '/login?t=x', '/notifications/123', '/apix']) {
    const answer = await get(path)
    assert.equal(answer.statusCode, 200, path)
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-cache')
  }
  for (const path of ['/api', '/api/nothing', '/ops/nothing', '/assets/nothing.js', '/health/x'])
    assert.equal((await get(path)).statusCode, 404, path)
  assert.equal((await get('/events', { accept: 'application/json' })).statusCode, 404)
})

it('gives the console at / to whoever asks, as monitors do', async (t) => {
  const { f } = await setup(t)
  for (const method of ['GET', 'HEAD'] as const) {
    const { statusCode, headers, body } = await f.app.inject({ method, url: '/' })
    assert.deepEqual([statusCode, headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.equal(body === '', method === 'HEAD')
  }
  assert.equal((await f.app.inject({ method: 'GET', url: '/anything' })).statusCode, 404)
})

it('lets in no script but its own, and styles with a nonce that is new each time', async (t) => {
  const { get } = await setup(t)

  const [first, second] = [await get('/'), await get('/')]

  const policy = String(first.headers['content-security-policy'])
  const nonce = /style-src 'self' 'nonce-([\w-]{43})'/.exec(policy)?.[1] ?? assert.fail(policy)
  assert.match(policy, /default-src 'self'; script-src 'self';/)
  assert.doesNotMatch(policy, /unsafe/)
  assert.equal(first.body, `<meta name="csp-nonce" content="${nonce}">`)
  assert.notEqual(first.headers['content-security-policy'], second.headers['content-security-policy'])
  assert.equal(first.headers['x-frame-options'], 'DENY')
})

it('lets only the pages it was told of show an entity’s panel in a frame, and no other page', async (t) => {
  const { get } = await setup(t, { consoleFrames: ['https://desk.example.test'] })
  const framed = async (path: string) => {
    const { headers } = await get(path)
    const ancestors = /frame-ancestors (.*)$/.exec(String(headers['content-security-policy']))?.[1]
    return [ancestors, headers['x-frame-options']]
  }

  assert.deepEqual(await framed('/entities/booking/42?embed=1'), ['https://desk.example.test', undefined])
  for (const path of ['/entities/booking/42', '/entities/booking?embed=1', '/notifications?embed=1', '/?embed=1'])
    assert.deepEqual(await framed(path), ["'none'", 'DENY'], path)
})

it('gives files for good, compressed where that is understood', async (t) => {
  const { get } = await setup(t)

  const plain = await get('/assets/app-1.js', {})
  const small = await get('/assets/app-1.js', { 'accept-encoding': 'gzip, br' })

  assert.equal(plain.body, 'let x = 1')
  assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8')
  assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(small.headers['content-encoding'], 'br')
  assert.equal(brotliDecompressSync(small.rawPayload).toString(), 'let x = 1')
})

it('says what to do where there is no console', async (t) => {
  const f = await openFixture()
  t.after(() => f.app.close())

  const answer = await f.app.inject({ method: 'GET', url: '/', headers: BROWSER })

  assert.match(answer.body, /npm run console/)
})

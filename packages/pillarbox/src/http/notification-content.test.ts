import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openFixture } from './fixture.ts'

it('shows an HTML message as a page on which nothing runs, to those who may read it', async (t) => {
  const f = await openFixture()
  t.after(() => f.app.close())
  const acme = await f.tenant('acme')
  await f.call(acme.keys.admin, 'POST', '/api/channel-accounts', { channel: 'email', provider: 'sandbox', name: 'a' })
  const send = async (content: object) => {
    const mail = { channel: 'email', to: { email: 'ada@example.test' }, ...content }
    return (await f.call(acme.keys.publisher, 'POST', '/api/notifications', mail)).json().id
  }
  const html = await send({ body: '<!doctype html><p>Hello</p><script>alert(1)</script>', format: 'html' })
  const text = await send({ body: 'only text' })

  const page = await f.call(acme.keys.operator, 'GET', `/api/notifications/${html}/content`)

  assert.equal(page.statusCode, 200, page.body)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(String(page.headers['content-security-policy']), /^sandbox; default-src 'none';/)
  assert.match(String(page.headers['content-security-policy']), /frame-ancestors 'self'$/)
  assert.match(page.body, /<p>Hello<\/p>/)
  assert.equal((await f.call(acme.keys.operator, 'GET', `/api/notifications/${text}/content`)).statusCode, 404)
  assert.equal((await f.call(acme.keys.viewer, 'GET', `/api/notifications/${html}/content`)).statusCode, 403)
})

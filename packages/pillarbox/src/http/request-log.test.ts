import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { openFixture } from './fixture.ts'

async function setup(t: TestContext) {
  const f = await openFixture()
  t.after(() => f.app.close())
  const lines = (route: string | null): Record<string, unknown>[] =>
    f.log
      .filter((line) => line.startsWith('request ') || line.startsWith('more requests'))
      .map((line) => JSON.parse(line.slice(line.indexOf('{'))) as Record<string, unknown>)
      .filter((fields) => fields['route'] === route)
  return { f, lines }
}

it('the log has a line for the first refusals of a kind, and then their number', async (t) => {
  const { f, lines } = await setup(t)
  const { keys } = await f.tenant('acme')
  const refuse = async (times: number) => {
    for (let i = 0; i < times; i++) await f.call('wrong', 'GET', '/api/keys')
  }

  await refuse(25)
  assert.equal(lines('/api/keys').length, 10)
  // Other kinds, and those who may, have lines of their own.
  await f.call(null, 'GET', '/nowhere')
  await f.call(keys.admin, 'GET', '/api/keys')
  await f.call(keys.viewer, 'GET', '/api/keys')
  assert.deepEqual([lines(null).length, lines('/api/keys').length], [1, 12])

  f.advance(10_000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(lines('/api/keys').at(-1), { route: '/api/keys', status: 401, count: 15 })
  await refuse(11)
  assert.equal(lines('/api/keys').length, 23)

  await f.app.close()
  assert.deepEqual(lines('/api/keys').at(-1), { route: '/api/keys', status: 401, count: 1 })
  assert.deepEqual(lines(null).length, 1)
})

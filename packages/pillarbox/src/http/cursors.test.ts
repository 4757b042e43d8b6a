import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Fixture, openFixture, type TestTenant } from './fixture.ts'

describe('a cursor', () => {
  let f: Fixture
  let tenant: TestTenant
  /** Every list that is read in pages, as the API's own description has it. */
  let lists: string[]

  before(async () => {
    f = await openFixture({ deps: { sandbox: () => [] } })
    tenant = await f.tenant('acme')
    for (const name of ['first', 'second']) {
      await f.call(tenant.keys.admin, 'POST', '/api/contacts', { profileId: name })
      const members = ['a', 'b', 'c'].map((letter) => ({ email: `${letter}@example.com` }))
      await f.call(tenant.keys.admin, 'POST', '/api/recipient-lists', { name, members })
    }
    const { paths } = (await f.call(null, 'GET', '/openapi.json')).json() as unknown as {
      paths: Record<string, Record<string, { parameters?: { name: string }[] }>>
    }
    lists = Object.entries(paths).flatMap(([path, { get }]) =>
      get?.parameters?.some(({ name }) => name === 'cursor') ? [path] : [],
    )
  })
  after(() => f.app.close())

  const keyFor = (url: string): string =>
    url.startsWith('/ops') ? f.opsKey : tenant.keys[url.startsWith('/api/inbox/') ? 'publisher' : 'admin']
  const call = (url: string) => f.call(keyFor(url), 'GET', url)
  const refuses = async (url: string): Promise<void> => {
    const answer = await call(url)
    assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_query'], `${url}: ${answer.body}`)
    const message = 'is not the nextCursor of an earlier answer of this list'
    assert.deepEqual(answer.json().errors, [{ path: 'cursor', message }])
  }

  it('leads on in the list it came from', async () => {
    const first = (await call('/api/contacts?limit=1')).json()
    const second = (await call(`/api/contacts?limit=1&cursor=${first.nextCursor}`)).json()

    assert.deepEqual(
      [first, second].map(({ items }) => items[0]?.profileId),
      ['second', 'first'],
    )
    assert.equal(second.nextCursor, null)
  })

  it('is refused by every other list', async () => {
    const { nextCursor } = (await call('/api/contacts?limit=1')).json()
    const others = lists.filter((path) => path !== '/api/contacts')

    assert.ok(others.length > 10)
    for (const path of others) {
      const needed = path === '/api/communication-logs' ? '&entityType=booking&entityId=1' : ''
      await refuses(
        `${path.replaceAll(/\{\w+\}/g, '019bc186-0000-7000-8000-000000000000')}?cursor=${nextCursor}${needed}`,
      )
    }
  })

  it('of one list’s members is refused by another’s', async () => {
    const { nextCursor } = (await call('/api/recipient-lists/first/members?limit=1')).json()

    assert.equal((await call(`/api/recipient-lists/first/members?cursor=${nextCursor}`)).json().items.length, 2)
    await refuses(`/api/recipient-lists/second/members?cursor=${nextCursor}`)
  })

  it('that nobody gave is refused', async () => {
    for (const cursor of ['x', 'WyJhIl0', '019bc186-0000-7000-8000-000000000000', '%F0%9F%98%80'])
      await refuses(`/api/contacts?cursor=${cursor}`)
  })
})

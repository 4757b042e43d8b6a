import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openFixture } from '../../packages/pillarbox/src/http/fixture.ts'
import { PillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

/** Contacts cannot be listed, for a cause that the list does not name. */
function brokenBy(error: PillarboxError) {
  const list = (): Promise<never> => Promise.reject(error)
  return (store: Store): Store => ({ ...store, people: { ...store.people, listContacts: list } })
}

it('an answer whose status the document does not have fails the call that got it', async () => {
  const f = await openFixture({ wrapStore: brokenBy(new PillarboxError('last_key', 'Not a cause of this list.')) })
  const { keys } = await f.tenant('acme')

  await assert.rejects(
    f.call(keys.admin, 'GET', '/api/contacts'),
    /GET \/api\/contacts answered 409 .* does not have this status/,
  )
  await f.app.close()
})

it('so does a problem that the operation does not name, though another of its status is', async () => {
  const f = await openFixture({ wrapStore: brokenBy(new PillarboxError('invalid_template', 'Neither is this.')) })
  const { keys } = await f.tenant('acme')

  await assert.rejects(f.call(keys.admin, 'GET', '/api/contacts'), /invalid_template: the operation does not name/)
  await f.app.close()
})

it('one that came over a socket fails the end of the app', async () => {
  const f = await openFixture({ wrapStore: brokenBy(new PillarboxError('last_key', 'Not a cause of this list.')) })
  const { keys } = await f.tenant('acme')
  const origin = await f.app.listen({ host: '127.0.0.1', port: 0 })

  const answer = await fetch(`${origin}/api/contacts`, { headers: { authorization: `Bearer ${keys.admin}` } })

  assert.equal(answer.status, 409)
  await answer.body?.cancel()
  await assert.rejects(f.app.close(), /GET \/api\/contacts answered 409/)
})

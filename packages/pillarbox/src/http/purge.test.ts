import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { TENANT_STEPS } from '../operate/retention-store.ts'
import { type Fixture, openFixture, type TestTenant } from './fixture.ts'

const DAY_MS = 24 * 3_600_000

describe('POST /ops/purge', () => {
  let f: Fixture
  let tenants: TestTenant[]

  before(async () => {
    f = await openFixture()
    tenants = [await f.tenant('tenant-a'), await f.tenant('tenant-b')]
  })
  after(() => f.app.close())

  /** One notification that was cancelled, and one that waits. */
  async function submitTwo({ keys }: TestTenant): Promise<[string, string]> {
    const account = { channel: 'email', provider: 'sandbox', name: 'main' }
    await f.call(keys.admin, 'POST', '/api/channel-accounts', account)
    const body = { channel: 'email', to: { email: 'a@example.test' }, body: 'x' }
    const submit = async () => String((await f.call(keys.publisher, 'POST', '/api/notifications', body)).json().id)
    const ids: [string, string] = [await submit(), await submit()]
    await f.call(keys.operator, 'POST', `/api/notifications/${ids[0]}/cancel`)
    return ids
  }
  const purge = (body: unknown) => f.call(f.opsKey, 'POST', '/ops/purge', body)
  const status = async ({ keys }: TestTenant, id: string) =>
    (await f.call(keys.viewer, 'GET', `/api/notifications/${id}/status`)).statusCode

  it('counts, and then removes what is final, of the tenant that is named', async () => {
    const [mine, theirs] = tenants as [TestTenant, TestTenant]
    const [cancelled, waiting] = await submitTwo(mine)
    const [untouched] = await submitTwo(theirs)
    f.advance(2 * DAY_MS)
    const request = { olderThan: 'P1D', tenantId: mine.id }

    const counted = (await purge({ ...request, dryRun: true })).json()
    assert.equal(await status(mine, cancelled), 200)
    const removed = (await purge(request)).json()

    assert.deepEqual([counted.deleted['notifications'], removed.deleted['notifications']], [1, 1])
    assert.deepEqual([counted.dryRun, removed.dryRun, removed.more], [true, false, false])
    assert.equal(await status(mine, cancelled), 404)
    assert.equal(await status(mine, waiting), 200)
    assert.equal(await status(theirs, untouched), 200)
  })

  it('goes by each tenant’s own retention where no age is named', async () => {
    const [mine, theirs] = tenants as [TestTenant, TestTenant]
    const [short] = await submitTwo(mine)
    const [long] = await submitTwo(theirs)
    await f.call(mine.keys.admin, 'PATCH', '/api/tenant', { retention: 'P1D' })
    f.advance(2 * DAY_MS)

    assert.equal((await purge({})).statusCode, 200)

    assert.equal(await status(mine, short), 404)
    assert.equal(await status(theirs, long), 200)
  })

  it('refuses what it cannot read, and a tenant that is not there', async () => {
    for (const olderThan of ['', '1 year', 'P1Y', '-P1D', 'P', 'PT0S', 'PT59M'])
      assert.equal((await purge({ olderThan })).statusCode, 422, olderThan)
    assert.equal((await purge({ olderThan: 'P1D', tenantId: 'nobody' })).statusCode, 404)
    assert.equal((await purge({ olderThan: 'P1D', tenant: 'tenant-a' })).statusCode, 422)
  })

  it('is refused while another purge is under way', async () => {
    await f.store.retention.begin('somebody', { leaseMs: DAY_MS, everyMs: null })
    const answered = purge({ olderThan: 'P1D' })
    for (let i = 0; i < 100; i++) {
      await new Promise((resolve) => setImmediate(resolve))
      f.advance(100)
    }

    const answer = await answered
    assert.deepEqual([answer.statusCode, answer.json().code], [409, 'purge_running'])
  })
})

describe('the cursor of a purge', () => {
  let f: Fixture
  /** How often the time of an answer has been over as soon as a stretch of a tenant was looked at. */
  let slow = 0

  before(async () => {
    f = await openFixture({
      wrapStore: (store) => ({
        ...store,
        retention: {
          ...store.retention,
          purge: async (step, stretch) => {
            slow += 1
            f.advance(f.deps.config.handlerTimeoutMs)
            return await store.retention.purge(step, stretch)
          },
        },
      }),
    })
    for (const slug of ['tenant-a', 'tenant-b']) await f.tenant(slug)
  })
  after(() => f.app.close())

  const purge = (body: unknown, key = f.opsKey) => f.call(key, 'POST', '/ops/purge', body)

  it('leads on, a stretch at a time, to the end of a dry run and of a real one', async () => {
    for (const dryRun of [true, false]) {
      slow = 0
      let answers = 0
      for (let cursor: unknown; cursor !== null; answers += 1) {
        const answer = await purge({ olderThan: 'P1D', dryRun, ...(cursor === undefined ? {} : { cursor }) })
        assert.equal(answer.statusCode, 200, answer.body)
        const { more, nextCursor } = answer.json()
        assert.equal(more, nextCursor !== null)
        assert.ok(answers < 50, 'it ends')
        cursor = nextCursor
      }
      assert.deepEqual([slow, answers], [2 * TENANT_STEPS.length, 2 * TENANT_STEPS.length + 1], 'none is taken twice')
    }
  })

  it('is refused where it was made up, or given to another request or key', async () => {
    const { nextCursor } = (await purge({ olderThan: 'P1D', dryRun: true })).json()
    const another = await f.key({ tenantId: null, role: 'ops', name: 'another' })

    for (const answer of [
      await purge({ olderThan: 'P1D', dryRun: true, cursor: '{"tenantId":null,"step":"audit","after":null}' }),
      await purge({ olderThan: 'P1D', dryRun: false, cursor: nextCursor }),
      await purge({ olderThan: 'P1D', dryRun: true, tenantId: 'tenant-a', cursor: nextCursor }),
      await purge({ olderThan: 'P1D', dryRun: true, cursor: nextCursor }, another),
    ])
      assert.deepEqual([answer.statusCode, answer.json().errors?.[0]?.path], [422, '/cursor'], answer.body)
  })
})

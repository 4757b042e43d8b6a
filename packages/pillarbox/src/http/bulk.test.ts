import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { completion } from '../../../../test/conformance/fixtures.ts'
import type { Completion } from '../dispatch/dispatch-store.ts'
import { type Answer, type Fixture, openFixture, type TestTenant } from './fixture.ts'

describe('stopped notifications', () => {
  let f: Fixture
  let counter = 0

  before(async () => {
    f = await openFixture()
  })
  after(() => f.app.close())

  /** A tenant whose worker makes of each notification what it is told to. */
  async function setup() {
    const tenant: TestTenant = await f.tenant(`bulk-${++counter}`)
    const account = { channel: 'email', provider: 'sandbox', name: 'mail' }
    const accountId = (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', account)).json().id
    const workerId = f.deps.ids()
    await f.store.workers.register({ id: workerId, host: 'host', pid: 1, version: '0', channels: null })
    const call = (role: keyof TestTenant['keys'], method: string, url: string, body?: unknown): Promise<Answer> =>
      f.call(tenant.keys[role], method, url, body)
    return {
      tenant,
      accountId,
      call,
      async stopped(to: Completion['to'], changes: Partial<Completion> = {}): Promise<string> {
        const body = { channel: 'email', to: { email: 'ada@example.test', name: 'Ada Lovelace' }, body: 'x' }
        const { id } = (await call('publisher', 'POST', '/api/notifications', body)).json()
        const answer = await f.store.dispatch.claim(workerId, [{ accountId, limit: 1 }])
        assert.ok(!answer.fenced && answer.claims[0])
        await f.store.dispatch.complete(workerId, [completion(answer.claims[0], to, changes)])
        return id
      },
      preview: (body: object) => call('operator', 'POST', '/api/notifications/bulk/preview', body),
      start: (body: object) => call('operator', 'POST', '/api/notifications/bulk', body),
    }
  }

  it('are grouped by their cause, and found by it', async () => {
    const { stopped, call, accountId } = await setup()
    const full = { error: 'Mailbox 17 of <ada@example.test> is full', code: '552' }
    await stopped('parked', full)
    const newest = await stopped('parked', { ...full, error: 'Mailbox 4 of <bo@example.test> is full' })
    await stopped('uncertain')

    const { items, complete } = (await call('viewer', 'GET', '/api/notifications/causes')).json()
    assert.equal(complete, true)
    const [first, second] = items
    const { fingerprint, firstAt, lastAt, ...rest } = first ?? assert.fail()
    assert.deepEqual(rest, {
      reason: 'invalid_recipient',
      code: '552',
      text: 'mailbox # of <address> is full',
      accountId,
      channel: 'email',
      count: 2,
      sampleId: newest,
    })
    assert.ok(Date.parse(String(firstAt)) <= Date.parse(String(lastAt)))
    assert.deepEqual([second?.count, second?.reason], [1, 'outcome_unknown'])
    const listed = await call('viewer', 'GET', `/api/notifications?fingerprint=${String(fingerprint)}`)
    assert.equal(listed.json().items.length, 2)
    const parked = await call('viewer', 'GET', '/api/notifications/causes?status=parked&channel=email')
    assert.equal(parked.json().items.length, 1)
    assert.deepEqual((await call('viewer', 'GET', '/api/notifications/causes?status=sent')).json().items, [])
    const wrong = await call('viewer', 'GET', '/api/notifications?fingerprint=xyz')
    assert.equal(
      wrong.json().errors[0]?.message,
      'must be the fingerprint of a cause: 16 digits and letters from a to f',
    )
  })

  it('name nobody to a viewer, in their cause either', async () => {
    const { stopped, call } = await setup()
    await stopped('parked', { error: 'Ada Lovelace moved away' })

    const seenBy = async (role: 'viewer' | 'operator') =>
      (await call(role, 'GET', '/api/notifications/causes')).json().items[0]?.text ?? ''
    assert.equal(await seenBy('operator'), 'ada lovelace moved away')
    assert.doesNotMatch(await seenBy('viewer'), /lovelace/i)
    assert.doesNotMatch((await call('operator', 'GET', '/api/notifications/causes')).body, /"to"/)
  })

  it('are retried all at once, from their cause to the operation', async () => {
    const { stopped, call, preview, start, accountId } = await setup()
    const ids = [await stopped('parked'), await stopped('parked')]
    const other = await stopped('uncertain')
    const [cause] = (await call('operator', 'GET', '/api/notifications/causes')).json().items
    const { fingerprint } = cause ?? assert.fail()

    const previewed = await preview({ action: 'retry', filter: { fingerprint } })
    assert.equal(previewed.statusCode, 200, previewed.body)
    const { token, expiresAt, ...answer } = previewed.json()
    assert.deepEqual(answer, {
      count: 2,
      possibleDuplicates: 0,
      skipped: [],
      by: { channel: { email: 2 }, accountId: { [accountId]: 2 }, fingerprint: { [String(fingerprint)]: 2 } },
      estimatedSeconds: 0,
    })
    assert.equal(Date.parse(String(expiresAt)), f.now() + 15 * 60_000)

    const started = await start({ token, note: 'mended', pace: { perSecond: 5 }, grace: 'PT1M' })
    assert.deepEqual([started.statusCode, started.json()], [202, { operationId: token }])
    assert.deepEqual((await start({ token })).json(), { operationId: token })
    const seen = await call('viewer', 'GET', `/api/operations/${token}`)
    const { startedAt, graceUntil, ...operation } = seen.json() as unknown as Record<string, unknown>
    assert.deepEqual(operation, {
      id: token,
      tenantId: operation['tenantId'],
      action: 'retry',
      options: {},
      status: 'grace',
      total: 2,
      done: 0,
      leftAlone: 0,
      failed: 0,
      by: 'key:operator',
      note: '***',
      pace: { perSecond: 5 },
      canary: 5,
      endedAt: null,
      problem: null,
    })
    assert.equal(Date.parse(String(graceUntil)) - Date.parse(String(startedAt)), 60_000)
    assert.equal((await call('operator', 'GET', `/api/operations/${token}`)).json().note, 'mended')
    const items = (await call('viewer', 'GET', `/api/operations/${token}/items`)).json().items
    assert.deepEqual(items.map(({ notificationId }) => String(notificationId)).toSorted(), ids.toSorted())
    assert.ok(!ids.includes(other))
    assert.deepEqual((await call('viewer', 'GET', `/api/operations/${token}/items?outcome=failed`)).json().items, [])
    assert.equal((await call('viewer', 'GET', '/api/operations?status=grace')).json().items.length, 1)
    assert.equal((await call('viewer', 'GET', '/api/operations?status=done')).json().items.length, 0)
  })

  it('can be left to wait, and be undone, before anything happens', async () => {
    const { stopped, call, preview, start } = await setup()
    await stopped('parked')
    const { token } = (await preview({ action: 'discard', filter: { status: 'parked' } })).json()
    await start({ token, grace: 'PT1H' })
    const steer = (action: string) => call('operator', 'POST', `/api/operations/${token}/${action}`)

    assert.equal((await steer('pause')).json().status, 'paused')
    assert.equal((await steer('resume')).json().status, 'grace')
    assert.equal((await steer('undo')).json().status, 'cancelled')
    const again = await steer('undo')
    assert.deepEqual([again.statusCode, again.json().code], [409, 'operation_over'])
    assert.equal((await call('viewer', 'POST', `/api/operations/${token}/cancel`)).statusCode, 403)
  })

  it('are chosen by their ids, too, and what is wrong is said in words', async () => {
    const { stopped, preview, start, call } = await setup()
    const id = await stopped('parked')
    const wrong = async (body: object) => (await preview(body)).json().errors[0]

    assert.equal((await preview({ action: 'retry', ids: [id.toUpperCase(), f.deps.ids()] })).json().count, 1)
    assert.deepEqual(await wrong({ action: 'retry' }), { path: '', message: 'must have either a filter or ids' })
    assert.deepEqual(await wrong({ action: 'retry', ids: [id], filter: {} }), {
      path: '',
      message: 'must have either a filter or ids',
    })
    assert.equal(
      (await wrong({ action: 'discard', ids: [id], options: { rerender: true } }))?.path,
      '/options/rerender',
    )
    assert.equal((await wrong({ action: 'explode', ids: [id] }))?.path, '/action')
    assert.equal((await wrong({ action: 'retry', filter: { colour: 'red' } }))?.path, '/filter/colour')
    assert.equal((await wrong({ action: 'retry', filter: { status: ['lost'] } }))?.path, '/filter/status/0')
    assert.equal((await wrong({ action: 'retry', filter: { tenantId: 'other' } }))?.path, '/filter/tenantId')
    const token = String((await preview({ action: 'retry', ids: [id] })).json().token)
    for (const bad of [{ grace: 'P2D' }, { grace: 'soon' }, { pace: { perSecond: 0 } }, { canary: -1 }, { pace: {} }])
      assert.equal((await start({ token, ...bad })).json().code, 'invalid_body', JSON.stringify(bad))
    for (const unknown of ['x', f.deps.ids()]) assert.equal((await start({ token: unknown })).statusCode, 404)
    const { tenant: other } = await setup()
    assert.equal((await f.call(other.keys.operator, 'POST', '/api/notifications/bulk', { token })).statusCode, 404)
    assert.equal((await call('publisher', 'GET', '/api/operations')).statusCode, 403)
    f.advance(15 * 60_000)
    const expired = await start({ token })
    assert.deepEqual([expired.statusCode, expired.json().code], [410, 'preview_expired'])
  })
})

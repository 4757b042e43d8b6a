import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Alert } from '../model/alert.ts'
import type { AlertReading } from '../operate/alert-store.ts'
import { type Fixture, openFixture } from './fixture.ts'

interface AlertPage {
  items: Record<string, unknown>[]
  nextCursor: string | null
}

describe('alerts over HTTP', () => {
  let f: Fixture
  before(async () => {
    f = await openFixture()
  })
  after(() => f.app.close())

  async function raise(changes: Partial<AlertReading> = {}): Promise<string> {
    const id = f.deps.ids()
    const subject = { subject: 'tenant', subjectId: 'acme', tenantId: 'acme' } as const
    const reading: AlertReading = { rule: 'stuck', value: 3, ...subject, ...changes }
    const step = { step: 'raise', id, isNew: true, reading, now: f.now(), summary: 'Tenant acme has 3 stuck' } as const
    await f.store.alerts.apply([step], { ways: [], notByEvent: '' })
    return id
  }
  const list = async (query = ''): Promise<AlertPage> =>
    JSON.parse((await f.call(f.opsKey, 'GET', `/ops/alerts${query}`)).body) as AlertPage
  const acknowledge = (id: string, body?: object) => f.call(f.opsKey, 'POST', `/ops/alerts/${id}/acknowledge`, body)
  const clear = (id: string): Promise<{ alert: Alert }[]> =>
    f.store.alerts.apply([{ step: 'clear', id, now: f.now() }], { ways: [], notByEvent: '' })

  it('are shown with what is wrong and what to do, and with who has seen them', async () => {
    const id = await raise()

    const [shown] = (await list()).items
    const at = new Date(f.now()).toISOString()
    const { advice, ...alert } = shown ?? assert.fail()
    assert.deepEqual(alert, {
      id,
      rule: 'stuck',
      status: 'open',
      subject: 'tenant',
      subjectId: 'acme',
      tenantId: 'acme',
      summary: 'Tenant acme has 3 stuck',
      value: 3,
      since: at,
      raisedAt: at,
      clearedAt: null,
      acknowledgedAt: null,
      acknowledgedBy: null,
      note: null,
      repeats: 0,
    })
    assert.match(String(advice), /stuck=true/)

    const seen = await acknowledge(id, { note: 'the gateway is being replaced' })
    assert.equal(seen.statusCode, 200)
    const again = await acknowledge(id)
    for (const answer of [seen, again])
      assert.deepEqual(
        [answer.json().note, (answer.json() as unknown as Record<string, unknown>)['acknowledgedBy']],
        ['the gateway is being replaced', 'key:ops'],
      )
    assert.equal((await acknowledge(f.deps.ids())).statusCode, 404)
    assert.equal((await acknowledge(id, { note: '' })).statusCode, 422)
    assert.equal((await acknowledge(id, { reason: 'x' })).statusCode, 422)
  })

  it('are found by status, rule and tenant, a page at a time', async () => {
    const [mine, theirs] = [
      await raise({ tenantId: 'b', subjectId: 'b' }),
      await raise({ tenantId: 'c', subjectId: 'c' }),
    ]
    const other = await raise({ tenantId: 'b', subjectId: 'b', rule: 'parked_rate' })
    await clear(theirs)
    const ids = async (query: string): Promise<unknown[]> => (await list(query)).items.map(({ id }) => id)

    assert.deepEqual(await ids('?tenantId=b'), [other, mine])
    assert.deepEqual(await ids('?tenantId=b&rule=stuck'), [mine])
    assert.deepEqual(await ids('?status=cleared'), [theirs])
    const first = await list('?limit=1')
    assert.deepEqual(first.items[0]?.['id'], other)
    assert.deepEqual(await ids(`?limit=1&cursor=${first.nextCursor}`), [theirs])
    for (const wrong of ['?status=pending', '?rule=tired', '?subject=x'])
      assert.equal((await f.call(f.opsKey, 'GET', `/ops/alerts${wrong}`)).statusCode, 422, wrong)
  })
})

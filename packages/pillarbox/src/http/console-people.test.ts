import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { reachOf } from '../operate/list-reach.ts'
import { tryMembers } from '../operate/recipient-lists.ts'
import { type AnswerJson, type Fixture, openFixture, type TestTenant } from './fixture.ts'

describe('people at the console', () => {
  let f: Fixture
  let acme: TestTenant
  let cookie: string

  before(async () => {
    f = await openFixture()
    acme = await f.tenant('acme')
    const signedIn = await f.call(null, 'POST', '/api/session', { key: acme.keys.admin })
    cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? ''
  })
  after(() => f.app.close())

  const admin = (method: string, url: string, body?: unknown) => f.call(acme.keys.admin, method, url, body)
  async function atConsole(method: string, url: string): Promise<AnswerJson> {
    const answer = await f.inject({ method, url, headers: { cookie, 'sec-fetch-site': 'same-origin' } })
    assert.ok(answer.statusCode < 300, answer.body)
    return answer.json()
  }

  it('are masked for everybody, in lists and one by one, while a key sees them as they are', async () => {
    const { id } = (await admin('POST', '/api/contacts', { email: 'ada@example.test', name: 'Ada' })).json()

    assert.equal((await atConsole('GET', `/api/contacts/${id}`)).email, 'a***@example.test')
    assert.equal((await atConsole('GET', '/api/contacts')).items[0]?.email, 'a***@example.test')
    assert.equal((await admin('GET', `/api/contacts/${id}`)).json().email, 'ada@example.test')
  })

  it('are revealed one at a time, on record, to an operator and not to a viewer', async () => {
    const { id } = (await admin('POST', '/api/contacts', { email: 'bo@example.test' })).json()

    assert.equal((await atConsole('POST', `/api/contacts/${id}/reveal`)).email, 'bo@example.test')

    const { items } = (await admin('GET', `/api/audit?subject=contact:${id}&action=reveal`)).json()
    assert.deepEqual(
      items.map(({ actor }) => actor),
      ['console:admin'],
    )
    assert.equal((await f.call(acme.keys.viewer, 'POST', `/api/contacts/${id}/reveal`)).statusCode, 403)
  })

  it('on lists are masked, and those are told apart who cannot be reached', async () => {
    const members = [
      { name: 'Ada', email: 'ada@example.test', phone: '+12025550100' },
      { name: 'Bo', email: 'Bo@example.test' },
      { name: 'Cy', phone: '+12025550101' },
    ]
    const list = (await admin('POST', '/api/recipient-lists', { name: 'staff', members })).json()
    await admin('POST', '/api/channel-accounts', { channel: 'email', provider: 'sandbox', name: 'mail' })
    const dead = (await admin('POST', '/api/suppressions', { channel: 'email', address: 'bo@example.test' })).json()

    const reach = (await admin('GET', `/api/recipient-lists/${list.id}/reach`)).json() as unknown as {
      channels: object[]
      unreachable: { name: string; suppressionId: string }[]
    }

    assert.deepEqual(reach.channels, [
      { channel: 'email', hasAccount: true, reachable: 1, suppressed: 1, missing: 1 },
      { channel: 'sms', hasAccount: false, reachable: 2, suppressed: 0, missing: 1 },
      { channel: 'whatsapp', hasAccount: false, reachable: 2, suppressed: 0, missing: 1 },
    ])
    assert.deepEqual(
      reach.unreachable.map(({ name, suppressionId }) => [name, suppressionId]),
      [['Bo', dead.id]],
    )
    const shown = await atConsole('GET', `/api/recipient-lists/${list.id}/members`)
    assert.equal(shown.items[0]?.email, 'a***@example.test')
  })

  it('on a long list are read a part at a time, and everything else goes on in between', async () => {
    const members = Array.from({ length: 5_000 }, (_, i) => ({ email: `member-${i}@example.test` }))
    const { id } = (await admin('POST', '/api/recipient-lists', { name: 'everybody', members })).json()
    const list = (await f.store.lists.find(acme.id, String(id))) ?? assert.fail()
    let turns = 0
    const nextTurn = (run: () => void): void => {
      turns += 1
      setImmediate(run)
    }

    const reach = await reachOf({ store: f.store, nextTurn }, list)
    assert.deepEqual([reach.members, turns], [5_000, 2])
    const tried = await tryMembers({ store: f.store, nextTurn }, acme.id, list, members)
    assert.deepEqual(tried, { added: 0, duplicates: 5_000, bad: [] })
    assert.ok(turns > 10, String(turns))
  })

  it('are tried before they are added to a list: who is new, who is there, who is bad and why', async () => {
    const list = (
      await admin('POST', '/api/recipient-lists', { name: 'guests', members: [{ email: 'a@example.test' }] })
    ).json()
    const members = [
      { email: 'A@example.test' },
      { email: 'b@example.test' },
      { email: 'b@example.test' },
      { email: 'no address' },
      { name: 'Nobody' },
      { phone: '020 7946 0000' },
    ]

    const tried = (
      await admin('POST', `/api/recipient-lists/${list.id}/members/try`, { members })
    ).json() as unknown as {
      added: number
      duplicates: number
      bad: { index: number; message: string }[]
    }

    assert.deepEqual([tried.added, tried.duplicates], [1, 2])
    assert.deepEqual(
      tried.bad.map(({ index }) => index),
      [3, 4, 5],
    )
    assert.match(tried.bad[0]?.message ?? '', /must be an email address/)
    assert.equal((await admin('GET', `/api/recipient-lists/${list.id}`)).json().memberCount, 1)
  })

  it('are written to again where somebody lifts a suppression, and says why', async () => {
    const { id } = (await admin('POST', '/api/suppressions', { channel: 'email', address: 'cy@example.test' })).json()

    assert.equal((await atConsole('GET', `/api/suppressions/${id}`)).address, 'c***@example.test')

    const lifted = await admin('POST', `/api/suppressions/${id}/lift`, { note: 'she has a new mailbox' })

    assert.equal(lifted.statusCode, 204)
    assert.equal((await admin('GET', `/api/suppressions/${id}`)).statusCode, 404)
    const { items } = (await admin('GET', `/api/audit?subject=suppression:${id}&action=lift`)).json()
    assert.equal(items[0]?.note, 'she has a new mailbox')
  })
})

it('rotates a key: the new one is like it, and the former one is good until the overlap is over', async (t) => {
  const f = await openFixture()
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')
  const former = (
    await f.call(keys.admin, 'POST', '/api/keys', { name: 'billing', role: 'viewer', ratePerSecond: 5 })
  ).json()

  const next = await f.call(keys.admin, 'POST', `/api/keys/${former.id}/rotate`, { overlap: 'PT1H' })

  assert.equal(next.statusCode, 201, next.body)
  const { key, name, role } = next.json()
  assert.deepEqual([name, role], ['billing', 'viewer'])
  for (const each of [former.key, key]) assert.equal((await f.call(each, 'GET', '/api/events')).statusCode, 200)
  f.advance(3_600_000 + 5_000)
  assert.equal((await f.call(former.key, 'GET', '/api/events')).statusCode, 401)
  assert.equal((await f.call(key, 'GET', '/api/events')).statusCode, 200)
  assert.equal((await f.call(keys.admin, 'POST', `/api/keys/${former.id}/rotate`, {})).statusCode, 404)
  assert.equal((await f.call(keys.admin, 'POST', `/api/keys/${former.id}/rotate`, { overlap: 'P31D' })).statusCode, 422)
})

it('says whether the audit is as it was written', async (t) => {
  const f = await openFixture()
  t.after(() => f.app.close())
  const { keys } = await f.tenant('acme')

  const chain = await f.call(keys.operator, 'GET', '/api/audit/chain')

  assert.equal(chain.statusCode, 200, chain.body)
  const { fault, isWhole, links } = chain.json() as unknown as { fault: unknown; isWhole: boolean; links: number }
  assert.deepEqual([fault, isWhole, links], [null, true, 0])
})

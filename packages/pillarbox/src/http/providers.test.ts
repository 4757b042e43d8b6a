import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { closedOutbound } from '../../../../test/support/providers.ts'
import { allProviders } from '../channels/all.ts'
import { createRegistry } from '../channels/registry.ts'
import { systemClock } from '../runtime/system.ts'
import { type Fixture, openFixture } from './fixture.ts'

const providers = allProviders({
  outbound: closedOutbound().outbound,
  dial: async () => ({ kind: 'failure', code: 'connect_failed', error: 'no way out', hasLeft: false }),
  clock: systemClock,
  inbox: { put: () => assert.fail('nothing is sent here'), seal: () => assert.fail('nothing is sent here') },
})

interface ProviderField {
  name: string
  kind: string
  isRequired: boolean
  choices?: string[]
  parts?: ProviderField[]
}
interface ProviderAnswer {
  name: string
  channel: string
  canConnect: boolean
  settings: ProviderField[]
  secrets: ProviderField[]
}

describe('what accounts can be made of', () => {
  let f: Fixture
  let items: ProviderAnswer[]

  before(async () => {
    f = await openFixture({ deps: { registry: createRegistry(providers) } })
    const { keys } = await f.tenant('acme')
    items = (await f.call(keys.viewer, 'GET', '/api/providers')).json()['items'] as unknown as ProviderAnswer[]
  })
  after(() => f.app.close())

  it('is every provider on every channel it serves', () => {
    const told = items.map(({ channel, name }) => `${channel} ${name}`)
    const known = providers.flatMap(({ name, channels }) => channels.map((channel) => `${channel} ${name}`))
    assert.deepEqual(told.toSorted(), known.toSorted())
  })

  it('says of each field what a form should offer for it', () => {
    const smtp = items.find(({ name }) => name === 'smtp')
    const field = (name: string) => smtp?.settings.find((each) => each.name === name)
    assert.deepEqual([field('host')?.kind, field('host')?.isRequired], ['text', true])
    assert.equal(field('port')?.kind, 'number')
    assert.deepEqual([field('tls')?.kind, field('tls')?.choices], ['choice', ['none', 'starttls', 'implicit']])
    assert.deepEqual(
      [field('oauth2')?.kind, field('oauth2')?.parts?.map(({ name }) => name)],
      ['object', ['tokenUrl', 'clientId', 'scope']],
    )
    assert.ok(smtp?.secrets.some(({ name }) => name === 'password'))
  })

  it('says which vendors can be told where receipts go', () => {
    const able = items.filter(({ canConnect }) => canConnect).map(({ name }) => name)
    assert.deepEqual(able, ['meta'])
  })
})

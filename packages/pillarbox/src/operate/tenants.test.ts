import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { silent } from '../../../../test/support/samples.ts'
import { readyCatalogues } from '../catalogue/ready.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock, systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { provisionTenant } from './tenants.ts'

describe('a tenant made with a ready-made catalogue by its name', () => {
  async function made(t: TestContext, given: { defaultLocale?: string; settings?: object; catalogue: unknown }) {
    const store = await openSqlite({ path: ':memory:', clock: systemClock, logger: silent })
    t.after(() => store.close())
    await store.migrate()
    const { defaultLocale, settings = {}, catalogue } = given
    const { tenant } = await provisionTenant(
      {
        store,
        ids: createIdSource(systemClock, systemRandom()),
        readyMade: readyCatalogues,
        untrusted: createUntrustedInProcess(),
      },
      { id: 'acme', name: 'Acme', timeZone: 'UTC', defaultLocale, settings: { ...settings }, catalogue },
      'test',
    )
    return [tenant.defaultLocale, tenant.settings] as const
  }

  it('has the region and currency that it is written for', async (t) => {
    assert.deepEqual(await made(t, { catalogue: 'busflow' }), ['de-DE', { region: 'DE', currency: 'EUR' }])
  })

  it('has its own where it names them', async (t) => {
    const settings = { currency: 'CHF' }
    assert.deepEqual(await made(t, { catalogue: 'busflow', settings }), ['de-DE', { region: 'DE', currency: 'CHF' }])
  })

  it('has none where it is at home somewhere else', async (t) => {
    assert.deepEqual(await made(t, { catalogue: 'busflow', defaultLocale: 'de-CH' }), ['de-CH', {}])
  })

  it('has none where the catalogue is for everybody, or is its own', async (t) => {
    assert.deepEqual(await made(t, { catalogue: 'push' }), ['en', {}])
    const templates = [{ channel: 'sms', body: 'Hello' }]
    const eventTypes = { hello: { entity: 'guest', recipients: [{ phone: 'phone' }], templates } }
    const own = { name: 'busflow', defaultLocale: 'de-DE', entities: { guest: 'guests' }, eventTypes }
    assert.deepEqual(await made(t, { catalogue: own }), ['de-DE', {}])
  })
})

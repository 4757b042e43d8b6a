import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { silent } from '../../../../test/support/samples.ts'
import { readyCatalogues } from '../catalogue/ready.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemClock, systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { provisionTenant } from './tenants.ts'

describe('a tenant made with a catalogue', () => {
  type Given = Partial<Parameters<typeof provisionTenant>[1]> & { catalogue: unknown }

  async function made(t: TestContext, given: Given) {
    const store = await openSqlite({ path: ':memory:', clock: systemClock, logger: silent })
    t.after(() => store.close())
    await store.migrate()
    const { tenant } = await provisionTenant(
      {
        store,
        ids: createIdSource(systemClock, systemRandom()),
        readyMade: readyCatalogues,
        untrusted: createUntrustedInProcess(),
      },
      { id: 'acme', name: 'Acme', settings: {}, ...given },
      'test',
    )
    const { defaultLocale, timeZone, settings } = tenant
    return { defaultLocale, timeZone, ...settings }
  }

  const INDIA = { timeZone: 'Asia/Kolkata', region: 'IN', currency: 'INR', dateFormat: 'dd-MMM-yyyy' }

  it('has the locale, zone, region, currency and date format that it is written for', async (t) => {
    assert.deepEqual(await made(t, { catalogue: 'atlas' }), { defaultLocale: 'en-IN', ...INDIA })
    const eventTypes = { hello: { entity: 'guest', recipients: [], delivery: { none: true } } }
    const own = { name: 'own', defaultLocale: 'fr', timeZone: 'Europe/Paris', currency: 'EUR', eventTypes }
    assert.deepEqual(await made(t, { catalogue: own }), {
      defaultLocale: 'fr',
      timeZone: 'Europe/Paris',
      currency: 'EUR',
    })
  })

  it('has its own where it names them, and none where it says so', async (t) => {
    const settings = { currency: 'USD', dateFormat: null }
    assert.deepEqual(await made(t, { catalogue: 'atlas', defaultLocale: 'hi-IN', timeZone: 'Asia/Dubai', settings }), {
      defaultLocale: 'hi-IN',
      timeZone: 'Asia/Dubai',
      region: 'IN',
      currency: 'USD',
    })
  })

  it('has none where it is at home in another country', async (t) => {
    assert.deepEqual(await made(t, { catalogue: 'busflow', defaultLocale: 'de-CH' }), {
      defaultLocale: 'de-CH',
      timeZone: 'UTC',
    })
  })

  it('has UTC where the catalogue says nothing', async (t) => {
    const eventTypes = { hello: { entity: 'guest', recipients: [], delivery: { none: true } } }
    assert.deepEqual(await made(t, { catalogue: { name: 'own', eventTypes } }), {
      defaultLocale: 'en',
      timeZone: 'UTC',
    })
  })
})

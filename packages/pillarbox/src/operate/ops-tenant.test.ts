import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, silent } from '../../../../test/support/samples.ts'
import { parseCatalogue } from '../catalogue/parse.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { ensureOpsTenant } from './ops-tenant.ts'

async function setup(t: TestContext) {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  const logger = recordingLogger()
  const ids = createIdSource(clock, systemRandom())
  const deps = { store, logger, ids, untrusted: createUntrustedInProcess() }
  const warnings = () => logger.lines.filter(({ level }) => level === 'warn')
  return { store, ids, warnings, ensure: () => ensureOpsTenant(deps) }
}

const CATALOGUE = { eventTypes: { 'booking.confirmed': { entity: 'booking', recipients: [{ email: 'email' }] } } }

describe('the tenant that alerts are sent from', () => {
  it('is made once with its catalogue, however many processes start', async (t) => {
    const { store, ensure, warnings } = await setup(t)

    await Promise.all([ensure(), ensure()])
    await ensure()

    assert.equal((await store.tenants.find('ops'))?.name, 'Operations')
    for (const type of ['alert.raised', 'alert.cleared']) assert.ok(await store.catalogue.eventType('ops', type), type)
    assert.equal((await store.templates.list('ops', {}, { limit: 50 })).items.length, 4)
    assert.deepEqual(await store.accounts.list('ops'), [])
    assert.deepEqual(warnings(), [])
  })

  it('gets its catalogue where whoever made it died before', async (t) => {
    const { store, ensure, warnings } = await setup(t)
    await store.tenants.insert({ id: 'ops', name: 'Operations', defaultLocale: 'en', timeZone: 'UTC', settings: {} })

    await ensure()
    await ensure()

    assert.equal((await store.catalogue.current('ops'))?.version, 1)
    assert.deepEqual(warnings(), [])
  })

  it('keeps the catalogue that somebody gave it before, and the log says what is missing', async (t) => {
    const { store, ids, ensure, warnings } = await setup(t)
    await store.tenants.insert({ id: 'ops', name: 'Mine', defaultLocale: 'de', timeZone: 'UTC', settings: {} })
    const parsed = parseCatalogue(CATALOGUE)
    assert.ok('catalogue' in parsed)
    await store.catalogue.replace('ops', parsed.catalogue, { document: '{}', actor: 'key:ada', newId: ids })

    await ensure()

    assert.equal((await store.tenants.find('ops'))?.name, 'Mine')
    assert.equal((await store.catalogue.current('ops'))?.version, 1)
    assert.match(warnings()[0]?.message ?? '', /Import the ready-made catalogue ops into it/)
  })
})

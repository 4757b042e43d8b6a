import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readyCatalogues } from './ready.ts'

it('ships the catalogues that the documentation names', () => {
  assert.deepEqual(readyCatalogues.names(), ['atlas', 'busflow', 'eventhub', 'push', 'scada'])
})

it('has a document for every name, and for nothing else', () => {
  for (const name of readyCatalogues.names())
    assert.match(readyCatalogues.document(name) ?? '', new RegExp(`^name: ${name}$`, 'm'))
  for (const name of ['', 'Atlas', 'atlas.yaml', '../ready/atlas', '../../package', 'toString', '__proto__'])
    assert.equal(readyCatalogues.document(name), null)
  assert.deepEqual(readyCatalogues.tenantSettings('toString'), {})
})

it('says for what is written for one country which region and currency its tenants have', () => {
  for (const name of readyCatalogues.names()) {
    const [, region] = /^defaultLocale: [a-z]+-([A-Z]{2})$/m.exec(readyCatalogues.document(name) ?? '') ?? []
    assert.equal(readyCatalogues.tenantSettings(name).region, region, name)
  }
  assert.deepEqual(readyCatalogues.tenantSettings('busflow'), { region: 'DE', currency: 'EUR' })
})

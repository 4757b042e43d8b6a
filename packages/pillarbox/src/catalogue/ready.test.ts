import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readCatalogueText } from './file.ts'
import { readyCatalogues } from './ready.ts'

it('ships the catalogues that the documentation names', () => {
  assert.deepEqual(readyCatalogues.names(), ['atlas', 'busflow', 'eventhub', 'ops', 'push', 'scada'])
})

it('has a document for every name, and for nothing else', () => {
  for (const name of readyCatalogues.names())
    assert.match(readyCatalogues.document(name) ?? '', new RegExp(`^name: ${name}$`, 'm'))
  for (const name of ['', 'Atlas', 'atlas.yaml', '../ready/atlas', '../../package', 'toString', '__proto__'])
    assert.equal(readyCatalogues.document(name), null)
})

it('says for what is written for one country where its tenants are', () => {
  for (const name of readyCatalogues.names()) {
    const read = readCatalogueText(readyCatalogues.document(name) ?? '')
    assert.ok('catalogue' in read)
    const { defaultLocale, tenantDefaults } = read.catalogue
    assert.equal(tenantDefaults.region, new Intl.Locale(defaultLocale).region, name)
    assert.ok(tenantDefaults.timeZone, name)
  }
})

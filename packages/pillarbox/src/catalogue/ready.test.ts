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
})

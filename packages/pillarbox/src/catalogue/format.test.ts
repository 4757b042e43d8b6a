import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readCatalogueText } from './file.ts'
import { definitionOf } from './format.ts'
import { parseCatalogue } from './parse.ts'
import { readyCatalogues } from './ready.ts'

for (const name of readyCatalogues.names())
  it(`writes the event types of ${name} so that reading it gives the same again`, () => {
    const read = readCatalogueText(readyCatalogues.document(name) ?? '')
    assert.ok('catalogue' in read)

    const written = Object.fromEntries(read.catalogue.eventTypes.map((type) => [type.name, definitionOf(type)]))
    const again = parseCatalogue({ eventTypes: written })

    assert.ok('catalogue' in again)
    assert.deepEqual(again.catalogue.eventTypes, read.catalogue.eventTypes)
  })

for (const timing of [
  { after: 'PT0S' },
  { after: 'P1DT2H' },
  { before: 'P1D', field: 'd' },
  { after: 'PT2H', field: 'd', ifPast: 'skip' },
  { at: '09:00' },
  { at: '09:00', after: 'P1D' },
  { at: '09:00', field: 'd', before: 'P1D' },
])
  it(`writes the timing ${JSON.stringify(timing)} as it was written`, () => {
    const read = parseCatalogue({ eventTypes: { a: { recipients: [], timing } } })
    assert.ok('catalogue' in read)
    const [type] = read.catalogue.eventTypes

    assert.ok(type)
    assert.deepEqual(definitionOf(type).timing, timing)
  })

it('leaves out what says nothing', () => {
  const read = parseCatalogue({ eventTypes: { a: { recipients: [] } } })
  assert.ok('catalogue' in read)
  const [type] = read.catalogue.eventTypes

  assert.ok(type)
  assert.deepEqual(definitionOf(type), {
    entity: 'entity',
    once: 'per-entity',
    recipients: [],
    delivery: { all: true },
    timing: { after: 'PT0S' },
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { closest } from './closest.ts'

it('finds the name that a slip of the finger missed', () => {
  const known = ['port', 'host', 'logLevel', 'workerTtl']

  assert.equal(closest('prot', known), 'port')
  assert.equal(closest('loglevel', known), 'logLevel')
  assert.equal(closest('workersTTL', known), 'workerTtl')
})

it('makes nothing up where no name is near', () => {
  assert.equal(closest('key', ['demo', 'port']), null)
  assert.equal(closest('retention', ['port', 'host']), null)
  assert.equal(closest('x', []), null)
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAllowance } from './allowance.ts'

it('blames the tenant that took the most, once nothing is left', () => {
  const allowance = createAllowance(100)
  allowance.charge('a', 30)
  allowance.charge('b', 50)
  assert.deepEqual([allowance.leftMs(), allowance.toBlame()], [20, null])

  allowance.charge('a', 40)

  assert.equal(allowance.toBlame(), 'a')
})

it('blames nobody where many took a little each', () => {
  const allowance = createAllowance(100)
  for (const tenant of ['a', 'b', 'c', 'd', 'e', 'f']) allowance.charge(tenant, 20)

  assert.equal(allowance.toBlame(), null)
})

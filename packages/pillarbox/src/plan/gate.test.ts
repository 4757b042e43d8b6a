import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGate } from './gate.ts'

it('what must be alone begins when nothing is under way, and what comes meanwhile waits', async () => {
  const gate = createGate()
  const told: string[] = []
  const ends = { first: Promise.withResolvers<void>(), alone: Promise.withResolvers<void>() }
  const step = async (name: string, until?: Promise<void>): Promise<void> => {
    told.push(`${name} begins`)
    await until
    told.push(`${name} ends`)
  }

  const all = [
    gate.together(() => step('first', ends.first.promise)),
    gate.together(() => step('second')),
    gate.alone(() => step('alone', ends.alone.promise)),
    gate.together(() => step('third')),
  ]
  await nextTurn()
  assert.deepEqual(told, ['first begins', 'second begins', 'second ends'])
  ends.first.resolve()
  await nextTurn()
  assert.deepEqual(told.slice(3), ['first ends', 'alone begins'])
  ends.alone.resolve()
  await Promise.all(all)

  assert.deepEqual(told.slice(5), ['alone ends', 'third begins', 'third ends'])
})

it('work that fails leaves the gate open', async () => {
  const gate = createGate()
  const failing = (): Promise<never> => Promise.reject(new Error('no'))

  await assert.rejects(gate.together(failing))
  await assert.rejects(gate.alone(failing))

  assert.equal(await gate.together(async () => 1), 1)
  assert.equal(await gate.alone(async () => 2), 2)
})

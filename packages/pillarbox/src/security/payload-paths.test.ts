import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findSecrets } from './payload-paths.ts'

describe('secrets of a payload', () => {
  it('are found by name in any case, nested or run together, and in lists', () => {
    const payload = { Guest: { PIN: 1 }, guestpin: 2, guests: [{ pin: 3 }], pin: null }

    const found = findSecrets(payload, ['guest.pin', 'guests[].pin', 'pin'])

    assert.deepEqual(
      found.map(({ pointer, value }) => [pointer, value]),
      [
        ['/Guest/PIN', 1],
        ['/guestpin', 2],
        ['/guests/0/pin', 3],
      ],
    )
  })

  it('are not looked for below a field without a name, which no path leads through', () => {
    assert.deepEqual(findSecrets({ '': { pin: 1 }, '.': { pin: 2 } }, ['pin']), [])
  })
})

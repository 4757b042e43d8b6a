import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readKeyState, turnedTo, writeKeyState } from './key-state.ts'

describe('the state of the master key', () => {
  it('is the key’s id alone where no rotation is under way', () => {
    assert.equal(writeKeyState({ current: 'aaaaaaaa', former: [] }), 'aaaaaaaa')
    assert.deepEqual(readKeyState('aaaaaaaa'), { current: 'aaaaaaaa', former: [] })
  })

  it('comes back as it was written', () => {
    const id = fc.stringMatching(/^[0-9a-f]{8}$/)

    fc.assert(
      fc.property(id, fc.array(id, { maxLength: 4 }), (current, former) => {
        assert.deepEqual(readKeyState(writeKeyState({ current, former })), { current, former })
      }),
    )
  })

  it('forgets no key that something may still be sealed under, however often it turns', () => {
    const ids = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 8 })

    fc.assert(
      fc.property(ids, ([first = 'a', ...turns]) => {
        const state = turns.reduce(turnedTo, { current: first, former: [] as string[] })

        assert.equal(state.current, turns.at(-1) ?? first)
        assert.deepEqual(new Set([state.current, ...state.former]), new Set([first, ...turns]))
        assert.equal(new Set([state.current, ...state.former]).size, state.former.length + 1)
      }),
    )
  })
})

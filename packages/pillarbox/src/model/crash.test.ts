import assert from 'node:assert/strict'
import { it } from 'node:test'
import { afterCrash, POISONED, SUSPECT } from './crash.ts'

const ALONE = { isAlone: true }
const AMONG_OTHERS = { isAlone: false }

it('a row that ends whatever plans it ends two processes alone, and one more where it first was among others', () => {
  const alone = [ALONE, ALONE].reduce(afterCrash, 0)
  const amongOthers = [AMONG_OTHERS, ALONE, ALONE].reduce(afterCrash, 0)

  assert.deepEqual([alone, amongOthers], [POISONED, POISONED])
})

it('deaths among others make a row suspect, however many they are, and never poison it', () => {
  assert.equal(Array.from({ length: 10 }, () => AMONG_OTHERS).reduce(afterCrash, 0), SUSPECT)
  assert.ok([AMONG_OTHERS, ALONE].reduce(afterCrash, 0) < POISONED, 'nor does a second death that had another cause')
})

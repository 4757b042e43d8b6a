import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createTurnstile, type Passer } from './turnstile.ts'

/** A turnstile whose turns a test makes, and who has passed it so far. */
function setup(limits: { perTurn: number; mostRefusals: number }) {
  const turns: (() => void)[] = []
  const passed: string[] = []
  const cut: string[] = []
  const { pass } = createTurnstile((run) => void turns.push(run), limits)
  return {
    passed,
    cut,
    come: (who: Passer, name: string) => void pass(who).then((isTurn) => (isTurn ? passed : cut).push(name)),
    /** The next turn of the event loop; answers how many passed in it. */
    async turn(): Promise<number> {
      await settle()
      const before = passed.length
      assert.ok(turns.length <= 1, 'one turn is arranged at a time')
      turns.shift()?.()
      await settle()
      return passed.length - before
    },
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the turnstile', () => {
  it('lets so many pass in a turn, each kind in its order, and forgets nobody', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom<Passer | 'turn'>('arrival', 'refusal', 'turn'), { maxLength: 80 }),
        async (happenings) => {
          const stile = setup({ perTurn: 3, mostRefusals: 5 })
          let atOnce = 0
          const came: Record<Passer, string[]> = { arrival: [], refusal: [] }
          for (const [i, what] of happenings.entries()) {
            if (what === 'turn') {
              assert.ok((await stile.turn()) <= 3)
              atOnce = 0
              continue
            }
            const before = stile.passed.length
            stile.come(what, `${what} ${i}`)
            came[what].push(`${what} ${i}`)
            await settle()
            atOnce += stile.passed.length - before
            assert.ok(atOnce <= 3, 'between two turns, too')
          }
          for (let last = 1; last > 0; ) last = (await stile.turn()) + (await stile.turn())

          assert.deepEqual([...stile.passed, ...stile.cut].toSorted(), [...came.arrival, ...came.refusal].toSorted())
          for (const kind of ['arrival', 'refusal'] as const)
            assert.deepEqual(
              stile.passed.filter((name) => name.startsWith(kind)),
              came[kind].filter((name) => !stile.cut.includes(name)),
            )
        },
      ),
      { numRuns: 200 },
    )
  })

  it('lets arrivals and refusals take turns, and lets no more refusals wait than it was told', async () => {
    const stile = setup({ perTurn: 2, mostRefusals: 3 })
    for (let i = 1; i <= 8; i++) stile.come('refusal', `r${i}`)
    for (let i = 1; i <= 4; i++) stile.come('arrival', `a${i}`)
    await settle()

    assert.deepEqual(stile.passed, ['r1', 'r2'])
    assert.deepEqual(stile.cut, ['r6', 'r7', 'r8'])
    while ((await stile.turn()) > 0);
    assert.deepEqual(stile.passed, ['r1', 'r2', 'a1', 'r3', 'a2', 'r4', 'a3', 'r5', 'a4'])
  })
})

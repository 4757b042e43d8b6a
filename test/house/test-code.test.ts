import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readFiles } from './source-files.ts'
import { endlessPolls, sleeps, testsWithoutAssertion } from './test-code.ts'

/** Where real time has to pass, how often, and why. To be emptied where it says so; nothing else may be added lightly. */
const KNOWN_SLEEPS: Readonly<Record<string, { times: number; why: string }>> = {
  'test/support/until.ts': { times: 1, why: 'the one poll of all tests, and it has an end' },
  'test/demo/past-clock.ts': { times: 1, why: 'a clock that the product is handed, and sleeps by' },
  'test/chaos/paused-worker.test.ts': { times: 1, why: 'a claim can be seen, the call that follows cannot' },
  'test/chaos/rotate-keys.test.ts': {
    times: 2,
    why: 'kills after a while, whatever is under way; publishes at a pace',
  },
  'packages/pillarbox/src/runtime/system.test.ts': { times: 3, why: 'the real clock is what is tested' },
  'packages/pillarbox/src/operate/rotate-keys.test.ts': { times: 2, why: 'a slow store among writers at random' },
  'packages/pillarbox/src/store/postgres/conformance.test.ts': { times: 2, why: 'PostgreSQL keeps its own time' },
  'packages/pillarbox/src/store/postgres/workers.test.ts': { times: 1, why: 'the end of a wait for a lock' },
  'packages/client/src/http/event-stream.test.ts': { times: 1, why: 'a server that falls silent' },
  'packages/pillarbox/src/http/list-turns.test.ts': {
    times: 4,
    why: 'to be emptied: a list that waits cannot be seen',
  },
}

/** Loops that end with the work they do, which the scan cannot see. */
const KNOWN_LOOPS = [
  // Until no row is left to take over.
  'test/conformance/workers.ts',
  // Until the seed's plan is over, in virtual time.
  'test/simulation/simulate.ts',
]

const files = readFiles(['test/**/*.ts', 'packages/*/src/**/*.ts', 'examples/**/*.ts']).filter(({ path }) =>
  /^test\/|\.test\.ts$|\/fixture\.ts$/.test(path),
)
const fileOf = (place: string): string => place.slice(0, place.lastIndexOf(':'))

describe('test code', () => {
  it('asserts something in every test', () => {
    assert.deepEqual(testsWithoutAssertion(files), [])
  })

  it('waits for conditions and not for time', () => {
    const found = Map.groupBy(sleeps(files), fileOf)
    const more = [...found.values()].filter(
      (places) => places.length > (KNOWN_SLEEPS[fileOf(places[0] ?? '')]?.times ?? 0),
    )
    const gone = Object.keys(KNOWN_SLEEPS).filter((file) => !found.has(file))

    assert.deepEqual(more.flat(), [], 'wait with until() of test/support/until.ts, or move a manual clock')
    assert.deepEqual(gone, [], 'files that no longer sleep: strike them out of the list')
  })

  it('polls with an end', () => {
    assert.deepEqual(
      endlessPolls(files).filter((place) => !KNOWN_LOOPS.includes(fileOf(place))),
      [],
      'poll with until() of test/support/until.ts',
    )
  })
})

describe('the scan of test code', () => {
  const scan = <T>(what: (files: { path: string; text: string }[]) => T, ...lines: string[]): T =>
    what([{ path: 'a.test.ts', text: lines.join('\n') }])

  it('finds tests that assert nothing', () => {
    const found = scan(
      testsWithoutAssertion,
      `it('asserts', () => {`,
      `  assert.ok(true)`,
      `})`,
      `it('only says (assert.ok(', async () => {`,
      `  // assert.ok(true)`,
      `  await work(/assert.ok\\(/)`,
      `})`,
      `it('hands on', () => holds())`,
      `it('only prepares', () => {`,
      `  const it = setup()`,
      `})`,
      `function holds() {`,
      `  assert.ok(true)`,
      `}`,
      `function setup() {`,
      `  assert.ok(true)`,
      `}`,
    )

    assert.deepEqual(found, ['a.test.ts:4', 'a.test.ts:9'])
  })

  it('looks into helpers of other files', () => {
    const found = testsWithoutAssertion([
      {
        path: 'x/a.test.ts',
        text: `import { holds, opens } from './b.ts'\nit('1', () => holds())\nit('2', () => opens())`,
      },
      {
        path: 'x/b.ts',
        text: `export const holds = () => {\n  assert.ok(1)\n}\nexport const opens = () => {\n  open()\n}`,
      },
    ])

    assert.deepEqual(found, ['x/a.test.ts:3'])
  })

  it('finds sleeps by the real clock, under any name, and none by another clock', () => {
    const found = scan(
      sleeps,
      `import { setTimeout as wait } from 'node:timers/promises'`,
      `await wait(5)`,
      `setTimeout(go, 5)`,
      `await systemClock.sleep(5)`,
      `await clock.sleep(5)`,
      `await bell.wait(5)`,
    )

    assert.deepEqual(found, ['a.test.ts:2', 'a.test.ts:3', 'a.test.ts:4'])
  })

  it('finds loops that ask for ever', () => {
    const found = scan(
      endlessPolls,
      `for (;;) {`,
      `  if (await isDone()) break`,
      `}`,
      `while (!isDone()) await new Promise((resolve) => setImmediate(resolve))`,
      `for (;;) {`,
      `  if (await isDone()) break`,
      `  if (isLate()) throw new Error('too late')`,
      `}`,
      `while (left.length > 0) await end(left.pop())`,
    )

    assert.deepEqual(found, ['a.test.ts:1', 'a.test.ts:4'])
  })
})

import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, it } from 'node:test'
import type { SourceFile } from '../house/source-files.ts'
import { seededRandom } from '../simulation/scheduler.ts'
import { filesOfRoom, importersIn, sampleLines, sourceFiles, testsFor } from './select.ts'

const house = (files: Record<string, string>): SourceFile[] =>
  Object.entries(files).map(([file, text]) => ({ path: `packages/pillarbox/src/${file}`, text }))

const testsOf = (file: string, files: SourceFile[], most = 10): string[] =>
  testsFor(`packages/pillarbox/src/${file}`, importersIn(files), most).map((test) =>
    test.replace('packages/pillarbox/src/', ''),
  )

describe('the tests that concern a file', () => {
  const files = house({
    'dispatch/decide.ts': '',
    'dispatch/attempt.ts': `import { decide } from './decide.ts'`,
    'dispatch/dispatcher.ts': `import { attempt } from './attempt.ts'`,
    'dispatch/decide.test.ts': `import { decide } from './decide.ts'`,
    'dispatch/attempt.test.ts': `import { attempt } from './attempt.ts'`,
    'dispatch/dispatcher.test.ts': `import { start } from './dispatcher.ts'`,
    'catalogue/policy.test.ts': `import {\n  decide,\n} from '../dispatch/decide.ts'`,
    'catalogue/words.test.ts': `import type { Decision } from '../dispatch/decide.ts'`,
  })

  it('are the one beside it, then those that import it, then those one step away, and no others', () => {
    assert.deepEqual(testsOf('dispatch/decide.ts', files), [
      'dispatch/decide.test.ts',
      'catalogue/policy.test.ts',
      'dispatch/attempt.test.ts',
    ])
    assert.deepEqual(testsOf('dispatch/decide.ts', files, 2), ['dispatch/decide.test.ts', 'catalogue/policy.test.ts'])
  })

  it('are the nearest there are where none is one step away', () => {
    const far = house({
      'plan/a.ts': '',
      'plan/b.ts': `import './a.ts'`,
      'plan/c.ts': `import './b.ts'`,
      'plan/c.test.ts': `import './c.ts'`,
      'plan/d.ts': `import './c.ts'\nimport './d.ts'`,
      'plan/d.test.ts': `import './d.ts'`,
    })

    assert.deepEqual(testsOf('plan/a.ts', far), ['plan/c.test.ts'])
    assert.deepEqual(testsOf('plan/nobody.ts', far), [])
  })

  it('include the conformance suite of its engine for a file of the store', () => {
    const sources = sourceFiles()
    const importers = importersIn(sources)
    const firstTests = (folder: string): Set<string | undefined> =>
      new Set(filesOfRoom(folder, sources).map((file) => testsFor(file.path, importers, 1)[0]))

    const store = 'packages/pillarbox/src/store'
    assert.deepEqual(firstTests('store/postgres'), new Set([`${store}/postgres/conformance.test.ts`]))
    assert.deepEqual(firstTests('store/sqlite'), new Set([`${store}/sqlite/conformance.test.ts`]))
    assert.deepEqual(firstTests('store/shared'), new Set([`${store}/sqlite/conformance.test.ts`]))
  })

  it('exist for every file of the rooms that are measured', () => {
    const sources = sourceFiles()
    const importers = importersIn(sources)

    for (const room of ['dispatch', 'plan', 'model', 'security', 'store']) {
      const files = filesOfRoom(room, sources)
      // What holds types alone is run by nobody and has nothing to change.
      const untested = files.filter(
        ({ path: file, text }) =>
          /^export (?:async )?function/m.test(text) && testsFor(file, importers, 1).length === 0,
      )

      assert.ok(files.length > 3, `${room}/ has hardly any files`)
      assert.deepEqual(
        untested.map(({ path: file }) => file),
        [],
      )
    }
  })
})

describe('a sample of lines', () => {
  const files = house({
    'model/b.ts': `const b1 = 1\nconst b2 = 2\n`,
    'model/a.ts': `import { b1 } from './b.ts'\n\n/**\n * About a1.\n */\nexport const a1 = {\n  // why\n  b1,\n}\nexport type A = 1\n`,
  })
  const draw = (count: number, seed: number, from = files): string[] =>
    sampleLines(from, count, seededRandom(seed)).map(({ file, line }) => `${path.basename(file)}:${line}`)

  it('holds lines of code only, as many as asked for if there are so many', () => {
    assert.deepEqual(draw(9, 1).toSorted(), ['a.ts:6', 'a.ts:8', 'b.ts:1', 'b.ts:2'])
    assert.equal(draw(3, 1).length, 3)
  })

  it('repeats with its seed, however the files are listed, and changes with the seed', () => {
    assert.deepEqual(draw(3, 7), draw(3, 7, files.toReversed()))
    assert.ok([1, 2, 3, 4, 5].some((seed) => draw(2, seed).join() !== draw(2, 7).join()))
  })
})

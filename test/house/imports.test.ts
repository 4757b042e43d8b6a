import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { importsOf, importViolations, type SourceFile } from './imports.ts'

const root = path.resolve(import.meta.dirname, '../..')

function sourceFiles(): SourceFile[] {
  return globSync('packages/*/src/**/*.ts', { cwd: root }).map((file) => ({
    path: file.split(path.sep).join('/'),
    text: readFileSync(path.join(root, file), 'utf8'),
  }))
}

describe('imports', () => {
  it('follow the direction of the design, everywhere', () => {
    const violations = importViolations(sourceFiles())

    assert.deepEqual(violations, [], `\n${violations.join('\n')}`)
  })

  it('are refused when a ground stage reaches for another stage', () => {
    const inFile = (from: string, specifier: string): string[] =>
      importViolations([
        { path: `packages/${from}`, text: `import { x } from '${specifier}'` },
        ...['plan/plan.ts', 'plan/plan-store.ts', 'model/event.ts', 'render/render.ts', 'pillarbox.ts'].map((file) => ({
          path: `packages/pillarbox/src/${file}`,
          text: '',
        })),
      ])

    assert.match(inFile('pillarbox/src/model/a.ts', '../plan/plan.ts').join(), /leaves model\/.*no other stage/)
    assert.match(inFile('pillarbox/src/channels/sms/a.ts', '../../render/render.ts').join(), /only model\//)
    assert.match(inFile('pillarbox/src/store/a.ts', '../pillarbox.ts').join(), /leaves store\//)
    assert.match(inFile('pillarbox/src/plan/a.ts', './plan.js').join(), /names no source file/)
    assert.match(inFile('pillarbox/src/plan/a.ts', '../../../../test/x.ts').join(), /leaves packages\/pillarbox\/src/)
    assert.match(inFile('client/src/a.ts', 'pg').join(), /no dependencies/)
    assert.deepEqual(inFile('pillarbox/src/channels/sms/a.ts', '../../model/event.ts'), [])
    assert.deepEqual(inFile('pillarbox/src/plan/a.ts', '../render/render.ts'), [])
    assert.deepEqual(inFile('client/src/a.ts', 'node:crypto'), [])
    assert.deepEqual(inFile('pillarbox/src/store/a.ts', '../plan/plan-store.ts'), [])
    assert.match(inFile('pillarbox/src/plan/other-store.ts', './plan.ts').join(), /leaves model\//)
  })

  it('are found in every form, and not in comments', () => {
    const text = [
      `import 'a'`,
      `import {\n  b,\n} from 'b'`,
      `export type { C } from "c"`,
      `const d = await import('d')`,
      `// import 'no'`,
      `/** like import('no') */`,
      `export const sentence = 'taken from "no"'`,
    ]

    assert.deepEqual(importsOf(text.join('\n')).toSorted(), ['a', 'b', 'c', 'd'])
  })
})

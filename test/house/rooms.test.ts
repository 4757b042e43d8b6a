import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { doorsUpwards, fileCycles, repeatedTypes } from './rooms.ts'
import { engineFiles } from './source-files.ts'

const files = engineFiles()

describe('the rooms of the engine', () => {
  it('open their doors downwards only', () => {
    assert.deepEqual(doorsUpwards(files), [])
  })

  it('have no files that import each other', () => {
    assert.deepEqual(fileCycles(files), [])
  })

  it('give one name to one type', () => {
    assert.deepEqual([...repeatedTypes(files)], [], 'types with a name that another module has for something else')
  })
})

describe('the check of the rooms', () => {
  const importing = (path: string, ...targets: string[]) => ({
    path,
    text: targets.map((target) => `import { x } from '${target}'\n`).join(''),
  })

  it('finds doors that go up or sideways, and rooms without a floor', () => {
    const found = doorsUpwards([
      importing('model/event.ts', '../plan/plan.ts'),
      importing('plan/plan.ts', '../model/event.ts', '../render/render.ts'),
      importing('render/render.ts', '../store/store.ts', './dates.ts'),
      importing('render/dates.ts'),
      importing('store/store.ts'),
      importing('engine.ts', './plan/plan.ts'),
      importing('attic/box.ts'),
      importing('plan/plan-store.ts', '../model/event.ts', '../render/render.ts'),
      importing('store/open.ts', '../plan/plan-store.ts'),
    ])

    assert.deepEqual(found, [
      'attic/ has no floor',
      'model/event.ts → plan/plan.ts',
      'render/render.ts → store/store.ts',
      'plan/plan-store.ts → render/render.ts',
    ])
  })

  it('finds circles, also by way of others', () => {
    const found = fileCycles([
      importing('plan/a.ts', './b.ts'),
      importing('plan/b.ts', './c.ts'),
      importing('plan/c.ts', './a.ts', './d.ts'),
      importing('plan/d.ts'),
    ])

    assert.deepEqual(found, [['plan/a.ts', 'plan/b.ts', 'plan/c.ts']])
  })

  it('finds a name in two modules, exported or not, and takes no re-export for a declaration', () => {
    const found = repeatedTypes([
      { path: 'plan/a.ts', text: 'interface Parts {}\nexport type Plan = Parts' },
      { path: 'plan/b.ts', text: "export type Parts = string\nexport type { Plan } from './a.ts'" },
      { path: 'plan/c.ts', text: 'class Other {\n  type Parts = 1\n}' },
    ])

    assert.deepEqual([...found], [['Parts', ['plan/a.ts', 'plan/b.ts']]])
  })
})

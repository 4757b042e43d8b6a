import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

const root = path.resolve(import.meta.dirname, '../..')
const source = path.join(root, 'packages/pillarbox/src')

interface Entry {
  noun: string
  file: string | null
}

function glossary(): Entry[] {
  const text = readFileSync(path.join(root, 'docs/glossary.md'), 'utf8')
  return [...text.matchAll(/^\| (?!noun)([^|]+?) \| [^|]+ \| *(?:`([^`]+)` )?\|$/gm)].map(([, noun = '', file]) => ({
    noun,
    file: file ?? null,
  }))
}

describe('the glossary', () => {
  it('explains each noun once', () => {
    const nouns = glossary().map(({ noun }) => noun)

    assert.ok(nouns.length >= 40, `${nouns.length} nouns`)
    assert.deepEqual(nouns, [...new Set(nouns)])
  })

  it('names files that speak of their noun', () => {
    const astray = glossary().filter(({ noun, file }) => {
      if (file === null) return false
      const place = path.join(source, file)
      if (!existsSync(place)) return true
      const text = `${file} ${readFileSync(place, 'utf8')}`.toLowerCase()
      return noun
        .toLowerCase()
        .split(/[\s-]/)
        .some((word) => !text.includes(word))
    })

    assert.deepEqual(astray, [])
  })
})

describe('the architecture page', () => {
  const page = readFileSync(path.join(root, 'docs/architecture.md'), 'utf8')

  it('names files that exist', () => {
    const named = [...page.matchAll(/`((?:packages\/)?[\w-]+\/[\w/.-]+\.ts)`/g)].map(([, file = '']) => file)
    const missing = named.filter((file) => ![source, root].some((folder) => existsSync(path.join(folder, file))))

    assert.ok(named.length > 30)
    assert.deepEqual(missing, [])
  })

  it('follows a notification through ten files at most, none of them twice', () => {
    const steps = [...page.matchAll(/^\| (\d+) \| `([^`]+)`/gm)].map(([, number, file]) => ({ number, file }))
    const path = steps
      .slice(
        0,
        steps.findIndex(({ file }) => file === 'http/webhooks.ts'),
      )
      .map(({ file }) => file)

    assert.ok(path.length > 5 && path.length <= 10, `${path.length} files`)
    assert.deepEqual(path, [...new Set(path)])
  })
})

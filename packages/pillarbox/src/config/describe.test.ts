import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { it } from 'node:test'
import { parse } from 'yaml'
import { resolveConfig } from './config.ts'
import { exampleFile, referencePage } from './describe.ts'
import { optionEntries } from './options.ts'

const EXAMPLE = new URL('../../config.example.yaml', import.meta.url)
const REFERENCE = new URL('../../../../docs/reference/config.md', import.meta.url)
const UPDATE = 'UPDATE_DOCS=1 npm run test:file -- packages/pillarbox/src/config/describe.test.ts'

if (process.env['UPDATE_DOCS'] === '1') {
  writeFileSync(EXAMPLE, exampleFile())
  writeFileSync(REFERENCE, referencePage())
}

it('keeps config.example.yaml equal to the options', () => {
  assert.equal(readFileSync(EXAMPLE, 'utf8'), exampleFile(), `config.example.yaml is out of date: ${UPDATE}`)
})

it('keeps docs/reference/config.md equal to the options', () => {
  assert.equal(readFileSync(REFERENCE, 'utf8'), referencePage(), `config.md is out of date: ${UPDATE}`)
})

it('gives an example whose every key, taken in, means the default', () => {
  const taken = exampleFile().replaceAll(/^#(?=\w)/gm, '')
  const content = parse(taken) as Record<string, unknown>
  const input = { flags: {}, env: {}, cwd: '/srv' }

  const fromExample = resolveConfig({ ...input, file: { path: 'config.example.yaml', content } })
  const fromNothing = resolveConfig({ ...input, file: null })

  assert.deepEqual(
    Object.keys(content),
    optionEntries().map(([, entry]) => entry.key),
  )
  assert.ok('config' in fromExample && 'config' in fromNothing)
  assert.deepEqual(fromExample.config, fromNothing.config)
})

it('shows no line longer than 120 characters in the example', () => {
  assert.deepEqual(
    exampleFile()
      .split('\n')
      .filter((line) => line.length > 120),
    [],
  )
})

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { it } from 'node:test'
import { exampleFile, referencePage } from './config-page.ts'

const EXAMPLE = new URL('../../packages/pillarbox/config.example.yaml', import.meta.url)
const REFERENCE = new URL('../../docs/reference/config.md', import.meta.url)
const UPDATE = 'UPDATE_DOCS=1 npm run test:file -- test/docs/config-page.test.ts'

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

it('shows no line longer than 120 characters in the example', () => {
  assert.deepEqual(
    exampleFile()
      .split('\n')
      .filter((line) => line.length > 120),
    [],
  )
})

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { it } from 'node:test'
import { COMMANDS } from '../../packages/pillarbox/src/cli/commands.ts'
import { commandLinePage } from './command-line-page.ts'

const REFERENCE = new URL('../../docs/reference/command-line.md', import.meta.url)
const UPDATE = 'UPDATE_DOCS=1 npm run test:file -- test/docs/command-line-page.test.ts'

if (process.env['UPDATE_DOCS'] === '1') writeFileSync(REFERENCE, commandLinePage())

it('keeps docs/reference/command-line.md equal to the commands', () => {
  assert.equal(readFileSync(REFERENCE, 'utf8'), commandLinePage(), `command-line.md is out of date: ${UPDATE}`)
})

it('has every command, with its flags', () => {
  const page = commandLinePage()
  for (const { name, options = [] } of COMMANDS) {
    assert.match(page, new RegExp(`^###? ${name}$`, 'm'))
    for (const { flags } of options) assert.ok(page.includes(flags.split(' ')[0] ?? ''), `${name} ${flags}`)
  }
})

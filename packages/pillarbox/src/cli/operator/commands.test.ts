import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { operatorCommand } from '../../../../../test/support/operator-command.ts'
import { COMMANDS } from '../commands.ts'
import { OPERATOR_COMMANDS } from './commands.ts'

/** Help needs no server. */
const NOWHERE = { url: 'http://127.0.0.1:4400', dataDir: '.' }

describe('every command', () => {
  it('has a name of its own', () => {
    const names = COMMANDS.map(({ name }) => name)

    assert.deepEqual(names, [...new Set(names)])
  })

  for (const { name, run } of COMMANDS)
    it(`helps with ${name}: what it does, and an example of that very command`, async () => {
      const said = await operatorCommand(NOWHERE, [...name.split(' '), '--help'])

      assert.equal(said.code, 0, said.stderr)
      assert.match(said.stdout, /\nExamples:\n {2}\$ /)
      const [, examples = ''] = said.stdout.split('\nExamples:\n')
      assert.ok(examples.includes(`pillarbox ${run ? name : `${name} `}`), examples)
    })

  it('takes a URL and a key where it asks a server', async () => {
    for (const { name, options = [], run } of OPERATOR_COMMANDS) {
      const flags = options.map(({ flags }) => flags.split(' ')[0])
      if (run)
        for (const flag of ['--url', '--key', '--tenant', '--json', '--utc']) assert.ok(flags.includes(flag), name)
    }
  })
})

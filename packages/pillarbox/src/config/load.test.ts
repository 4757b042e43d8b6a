import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { systemClock } from '../runtime/system.ts'
import type { ConfigAnswer } from './config.ts'
import { loadConfig } from './load.ts'

function setup(t: TestContext, content: string, name = 'pillarbox.yaml') {
  const cwd = mkdtempSync(join(tmpdir(), 'config-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, name), content)
  return {
    cwd,
    path: join(cwd, name),
    load: () => loadConfig({ flags: { '--config': name }, env: {}, cwd, clock: systemClock }),
  }
}

function problem(answer: ConfigAnswer): string {
  return 'problems' in answer ? `${answer.problems[0]?.option}: ${answer.problems[0]?.got}` : 'accepted'
}

it('reads YAML', async (t) => {
  const { load } = setup(t, '# mine\nport: 8080\nchannels: [sms]\nstuckAfter: PT1M\n')

  const answer = await load()

  assert.ok('config' in answer)
  assert.deepEqual([answer.config.port, answer.config.channels, answer.config.stuckAfterMs], [8080, ['sms'], 60_000])
})

it('reads JSON', async (t) => {
  const { load } = setup(t, '{"port": 8080}', 'pillarbox.json')

  const answer = await load()

  assert.ok('config' in answer)
  assert.equal(answer.config.port, 8080)
})

it('takes the file from the environment, and rather the one the flag names', async (t) => {
  const { cwd, path } = setup(t, 'port: 1')
  writeFileSync(join(cwd, 'other.yaml'), 'port: 2')
  const port = async (flags: Record<string, string>): Promise<number> => {
    const answer = await loadConfig({ flags, env: { PILLARBOX_CONFIG: path }, cwd, clock: systemClock })
    return 'config' in answer ? answer.config.port : -1
  }

  assert.equal(await port({}), 1)
  assert.equal(await port({ '--config': 'other.yaml' }), 2)
})

it('starts with the defaults where the file is empty', async (t) => {
  assert.ok('config' in (await setup(t, '# nothing yet\n').load()))
})

it('refuses a file that is missing, naming who asked for it', async (t) => {
  const { cwd } = setup(t, '')

  const answer = await loadConfig({ flags: {}, env: { PILLARBOX_CONFIG: 'absent.yaml' }, cwd, clock: systemClock })

  assert.equal(problem(answer), `PILLARBOX_CONFIG: ENOENT on ${join(cwd, 'absent.yaml')}`)
})

it('refuses broken YAML with the place, and without quoting what may be secret', async (t) => {
  const { load, path } = setup(t, 'port: 1\nopsKey: "hunter2\n')

  const said = problem(await load())

  assert.match(said, new RegExp(`^${path}: [A-Z_]+ in line \\d+, column \\d+$`))
  assert.doesNotMatch(said, /hunter2/)
})

it('refuses a key given twice, aliases, and a file that holds no settings', async (t) => {
  assert.match(problem(await setup(t, 'port: 1\nport: 2').load()), /DUPLICATE_KEY in line 2/)
  assert.match(problem(await setup(t, 'host: &a x\ndataDir: *a').load()), /aliases/)
  assert.match(problem(await setup(t, '- port').load()), /a list/)
  assert.match(problem(await setup(t, 'port').load()), /string/)
})

it('refuses unknown keys', async (t) => {
  const { load, path } = setup(t, 'ports: 1')

  assert.equal(problem(await load()), `ports in ${path}: an unknown one`)
})

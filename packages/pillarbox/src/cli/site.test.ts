import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { commandLineOnFile } from '../../../../test/support/command-line.ts'
import { until } from '../../../../test/support/until.ts'

const CENTRAL = ['--central', 'http://127.0.0.1:1'] as const
const ALL = [...CENTRAL, '--site', 'plant-1', '--key', 'pbx_secret', '--port', '0'] as const

async function refused(t: TestContext, ...args: string[]): Promise<[number, string]> {
  const { cli, output } = commandLineOnFile(t)
  const code = await cli('site', ...args)
  return [code, output.stderr + output.stdout]
}

describe('pillarbox site', () => {
  it('says what it lacks, and begins nothing', async (t) => {
    const cases: [number, RegExp, string[]][] = [
      [2, /--central or PILLARBOX_CENTRAL is needed/, ['--site', 'plant-1', '--key', 'k']],
      [2, /--site or PILLARBOX_SITE is needed/, [...CENTRAL, '--key', 'k']],
      [1, /a key is needed[\s\S]*PILLARBOX_KEY_FILE/, [...CENTRAL, '--site', 'plant-1']],
      [2, /PILLARBOX_SITE_MAX_ITEMS must be a whole number from 1/, [...ALL, '--max-items', 'many']],
      [1, /site must be 1 to 100 letters/, [...CENTRAL, '--site', '../x', '--key', 'k', '--port', '0']],
      [1, /must be the http or https address/, ['--central', 'x', '--site', 'plant-1', '--key', 'k', '--port', '0']],
    ]
    for (const [code, words, args] of cases) {
      const [answered, said] = await refused(t, ...args)
      assert.match(said, words)
      assert.equal(answered, code, args.join(' '))
    }
  })

  it('runs until it is told to stop, and never shows its key', async (t) => {
    const { cli, output, events, cwd } = commandLineOnFile(t)
    const running = cli('site', ...ALL)
    const line = await until(
      'it is ready',
      () => output.stdout.split('\n').find((each) => /"msg":"ready"/.test(each)) ?? null,
    )
    const { url } = JSON.parse(line) as { url: string }
    const health = (await (await fetch(`${url}/health`)).json()) as Record<string, unknown>
    assert.equal(health['site'], 'plant-1')

    events.emit('SIGTERM')

    assert.equal(await running, 0)
    assert.ok(existsSync(join(cwd, '.pillarbox/site-plant-1.db')))
    assert.ok(!(output.stdout + output.stderr).includes('pbx_secret'))
  })
})

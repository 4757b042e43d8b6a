import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { until } from '../../../../test/support/until.ts'
import { systemClock } from '../runtime/system.ts'
import { describeProblem, resolveConfig } from './config.ts'
import { loadConfig } from './load.ts'
import { optionEntries } from './options.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')
const OTHER = Buffer.alloc(32, 8).toString('base64')
const THIRD = Buffer.alloc(32, 9).toString('base64')

function setup(t: TestContext) {
  const cwd = mkdtempSync(join(tmpdir(), 'secrets-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const file = (name: string, text: string): string => {
    writeFileSync(join(cwd, name), text)
    return name
  }
  /** A command that runs this program with our own Node, as a list of words. */
  const running = (program: string): string => JSON.stringify([process.execPath, '-e', program])
  const load = (env: Record<string, string>, clock = systemClock, flags = {}) => loadConfig({ flags, env, cwd, clock })
  const problems = async (env: Record<string, string>, clock = systemClock): Promise<string> => {
    const answer = await load(env, clock)
    assert.ok('problems' in answer)
    return answer.problems.map(describeProblem).join('\n')
  }
  return { cwd, file, running, load, problems }
}

describe('a secret from elsewhere', () => {
  it('comes from a file, for each setting that is or holds a secret', async (t) => {
    const { file, load } = setup(t)
    const texts: Record<string, string> = {
      DATABASE_URL: 'postgres://u:hidden@db.example/x',
      PILLARBOX_MASTER_KEY: KEY,
      PILLARBOX_FORMER_MASTER_KEYS: `${OTHER},${THIRD}`,
      PILLARBOX_OPS_KEY: 'b7c1f0d2e94a4c6f8a51d3027be6f9c8',
      PILLARBOX_AUDIT_SINK_SECRET: `whsec_${Buffer.alloc(32, 5).toString('base64')}`,
      PILLARBOX_ALERT_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 6).toString('base64')}`,
    }
    const names = optionEntries().flatMap(([, { env, from }]) => (from ? [env] : []))
    assert.deepEqual(names, Object.keys(texts))
    const env = Object.fromEntries(names.map((name) => [`${name}_FILE`, file(name, `${texts[name]}\n`)]))

    const answer = await load(env)

    assert.ok('config' in answer, JSON.stringify(answer))
    const { databaseUrl, masterKey, formerMasterKeys, opsKey, auditSinkSecret, alertWebhookSecret } = answer.config
    assert.deepEqual(
      [databaseUrl, masterKey?.toString('base64'), formerMasterKeys.map((key) => key.toString('base64'))],
      [texts['DATABASE_URL'], KEY, [OTHER, THIRD]],
    )
    assert.deepEqual(
      [opsKey, auditSinkSecret, alertWebhookSecret],
      ['PILLARBOX_OPS_KEY', 'PILLARBOX_AUDIT_SINK_SECRET', 'PILLARBOX_ALERT_WEBHOOK_SECRET'].map((name) => texts[name]),
    )
    assert.deepEqual(answer.warnings, [])
  })

  it('comes from a command, whose words no shell reads', async (t) => {
    const { cwd, file, running, load } = setup(t)
    file('key', KEY)
    const commands = [
      running(`process.stdout.write(${JSON.stringify(`${KEY}\n`)})`),
      'cat key',
      '  cat   ./key ',
      JSON.stringify(['cat', 'key']),
    ]
    for (const PILLARBOX_MASTER_KEY_COMMAND of commands) {
      const answer = await load({ PILLARBOX_MASTER_KEY_COMMAND, PATH: process.env['PATH'] ?? '' })
      assert.ok('config' in answer, JSON.stringify(answer))
      assert.equal(answer.config.masterKey?.toString('base64'), KEY, PILLARBOX_MASTER_KEY_COMMAND)
    }
    await load({ PILLARBOX_MASTER_KEY_COMMAND: 'cat key;touch made $(touch made) > made' })
    assert.equal(existsSync(join(cwd, 'made')), false)
  })

  it('is what a flag says, where there is one', async (t) => {
    const { file, load } = setup(t)
    const env = { DATABASE_URL_FILE: file('url', 'postgres://db.example/file') }

    const answer = await load(env, systemClock, { '--database-url': 'postgres://db.example/flag' })

    assert.equal('config' in answer && answer.config.databaseUrl, 'postgres://db.example/flag')
  })

  it('is refused with what to do, and never shown', async (t) => {
    const { cwd, file, running, problems } = setup(t)
    const hidden = 'hunter2-hunter2'
    const cases: [Record<string, string>, RegExp][] = [
      [{ PILLARBOX_OPS_KEY_FILE: 'absent' }, /^PILLARBOX_OPS_KEY_FILE: expected a readable file .*ENOENT on .*absent$/],
      [{ PILLARBOX_OPS_KEY_FILE: '.' }, /EISDIR/],
      [{ PILLARBOX_OPS_KEY_FILE: file('empty', ' \n') }, /nothing in .*empty$/],
      [{ PILLARBOX_OPS_KEY_FILE: file('huge', 'x'.repeat(70_000)) }, /more than 65536 bytes/],
      [
        { PILLARBOX_MASTER_KEY_FILE: file('wrong', hidden) },
        /^PILLARBOX_MASTER_KEY_FILE: expected 32 bytes.*not shown/,
      ],
      [
        { PILLARBOX_MASTER_KEY: KEY, PILLARBOX_MASTER_KEY_FILE: 'x' },
        /^PILLARBOX_MASTER_KEY, PILLARBOX_MASTER_KEY_FILE: expected one/,
      ],
      [{ PILLARBOX_MASTER_KEY_COMMAND: `no-such-program ${hidden}` }, /ENOENT on no-such-program$/],
      [{ PILLARBOX_MASTER_KEY_COMMAND: `["${hidden}"` }, /as a JSON list of its words.*not shown/],
      [{ PILLARBOX_MASTER_KEY_COMMAND: '[]' }, /as a JSON list of its words/],
      [{ PILLARBOX_MASTER_KEY_COMMAND: JSON.stringify(['cat', 'a\0b']) }, /a NUL character in it$/],
      [
        {
          PILLARBOX_MASTER_KEY_COMMAND: running(
            `console.log('${hidden}'); console.error('${hidden}'); process.exit(3)`,
          ),
        },
        /got exit 3 of .*; run it by hand to see what it says$/,
      ],
      [{ PILLARBOX_MASTER_KEY_COMMAND: running('') }, /nothing in what .* prints$/],
      [
        { PILLARBOX_MASTER_KEY_COMMAND: running(`console.log('${hidden}')`) },
        /^PILLARBOX_MASTER_KEY_COMMAND: expected 32 bytes/,
      ],
      [
        { PILLARBOX_MASTER_KEY_COMMAND: running(`for (;;) process.stdout.write('x'.repeat(9_999))`) },
        /more than 65536 bytes/,
      ],
    ]
    for (const [env, said] of cases) {
      const text = await problems(env)
      assert.match(text, said)
      assert.ok(!text.replaceAll(cwd, '').includes(hidden), text)
    }
  })

  it('is waited for until the deadline, after which the command and what it started are ended', async (t) => {
    const { cwd, running, problems } = setup(t)
    const clock = createManualClock()
    // Its own child keeps the output open: the end of the command alone would end nothing.
    const child = `require('fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000)`
    const program = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' }); setInterval(() => {}, 1000)`
    const asked = problems({ PILLARBOX_MASTER_KEY_COMMAND: running(program) }, clock)
    const pid = await until('the child runs', async () => {
      const file = join(cwd, 'pid')
      return existsSync(file) && Number(readFileSync(file, 'utf8'))
    })

    await clock.advance(10_000)

    assert.match(await asked, /no end of .* within 10 seconds$/)
    await until('the child has ended', async () => {
      try {
        process.kill(pid, 0)
      } catch {
        return true
      }
      return isZombie(pid)
    })
  })

  it('is not passed over by who reads neither files nor commands', () => {
    const answer = resolveConfig({ flags: {}, env: { PILLARBOX_OPS_KEY_FILE: 'x' }, file: null, cwd: '/' })

    assert.ok('problems' in answer)
    assert.deepEqual(
      answer.problems.map(({ option }) => option),
      ['PILLARBOX_OPS_KEY_FILE'],
    )
  })
})

/** Ended, and not yet collected by whoever adopted it. */
function isZombie(pid: number): boolean {
  const status = `/proc/${pid}/status`
  return existsSync(status) && /^State:\s+Z/m.test(readFileSync(status, 'utf8'))
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { parse } from 'yaml'
import { ALERT_RULES } from '../model/alert.ts'
import { type Config, type ConfigInput, describeProblem, resolveConfig } from './config.ts'
import { OPTIONS, optionEntries } from './options.ts'

const SINK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

function resolved(input: Partial<ConfigInput> = {}) {
  return resolveConfig({ flags: {}, env: {}, file: null, cwd: '/srv/app', ...input })
}

function settled(input: Partial<ConfigInput> = {}): Config {
  const answer = resolved(input)
  if ('problems' in answer) assert.fail(answer.problems.map(describeProblem).join('\n'))
  return answer.config
}

function problems(input: Partial<ConfigInput>): string[] {
  const answer = resolved(input)
  return 'problems' in answer ? answer.problems.map(describeProblem) : []
}

function warnings(input: Partial<ConfigInput>): string[] {
  const answer = resolved(input)
  return 'problems' in answer ? assert.fail('refused') : answer.warnings
}

it('has the documented defaults', () => {
  const config = settled()

  assert.deepEqual(config, {
    port: 4400,
    host: '127.0.0.1',
    publicUrl: null,
    trustedProxies: [],
    inboxOrigins: [],
    consoleFrames: [],
    databaseUrl: 'sqlite:/srv/app/.pillarbox/pillarbox.db',
    dataDir: '/srv/app/.pillarbox',
    masterKey: null,
    formerMasterKeys: [],
    opsKey: null,
    allowPrivateEndpoints: false,
    snsCertHosts: [],
    demo: true,
    logLevel: 'info',
    auditSink: null,
    auditSinkSecret: null,
    stuckAfterMs: 600_000,
    stuckScanEveryMs: 300_000,
    staleAfterMs: 86_400_000,
    kpiWindowMs: 60_000,
    retentionMs: 365 * 86_400_000,
    purgeEveryMs: 86_400_000,
    alertTo: [],
    alertWebhook: null,
    alertWebhookSecret: null,
    alertRules: [...ALERT_RULES],
    alertEveryMs: 15_000,
    alertClearAfterMs: 300_000,
    alertRepeatEveryMs: null,
    alertStuckMost: 0,
    alertStuckForMs: 300_000,
    alertOldestMs: 300_000,
    alertParkedRate: 5,
    alertParkedLeast: 10,
    alertParkedOverMs: 900_000,
    alertBreakerForMs: 60_000,
    alertNoWorkerMs: 60_000,
    alertSiteSilentMs: 900_000,
    metricsPort: null,
    workerTtlMs: 30_000,
    shutdownGraceMs: 10_000,
    providerTimeoutMs: 10_000,
    callGraceMs: 500,
    concurrency: 256,
    channels: null,
    planRetryDelaysMs: [60_000, 120_000, 240_000, 480_000, 960_000],
    planBatch: 200,
    claimBatch: 256,
    flushMs: 5,
    databasePoolSize: 10,
    pollMaxMs: 1_000,
  })
  assert.deepEqual(warnings({}), [])
})

it('prefers a flag to the environment, the environment to the file, the file to the default', () => {
  const file = { path: 'p.yaml', content: { port: 1, host: 'file', logLevel: 'warn' } }
  const answer = resolved({ flags: { '--port': '3' }, env: { PILLARBOX_PORT: '2', PILLARBOX_HOST: 'env' }, file })

  assert.ok('config' in answer)
  const { port, host, logLevel, concurrency } = answer.config
  assert.deepEqual([port, host, logLevel, concurrency], [3, 'env', 'warn', 256])
})

it('takes every option from the environment and from a file', () => {
  const [key, former] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)] as const
  const values: Record<string, [string, unknown]> = {
    port: ['0', 0],
    host: ['0.0.0.0', '0.0.0.0'],
    publicUrl: ['https://notify.example.com/', 'https://notify.example.com'],
    trustedProxies: ['10.0.0.0/8, 2001:db8::1', ['10.0.0.0/8', '2001:db8::1']],
    inboxOrigins: [
      'https://app.example.com, http://localhost:3000',
      ['https://app.example.com', 'http://localhost:3000'],
    ],
    consoleFrames: ['https://desk.example.com', ['https://desk.example.com']],
    databaseUrl: ['postgresql://u:p@db/x', 'postgresql://u:p@db/x'],
    dataDir: ['data', '/srv/app/data'],
    masterKey: [key.toString('base64'), key],
    formerMasterKeys: [`${former.toString('base64')}, ${former.toString('base64url')}`, [former, former]],
    opsKey: ['pbx_an-ops-key-that-is-long-enough', 'pbx_an-ops-key-that-is-long-enough'],
    allowPrivateEndpoints: ['1', true],
    snsCertHosts: ['127.0.0.1:8443, localhost', ['127.0.0.1:8443', 'localhost']],
    demo: ['0', false],
    logLevel: ['debug', 'debug'],
    auditSink: ['https://siem.example.com/in?x=1', 'https://siem.example.com/in?x=1'],
    auditSinkSecret: [SINK_SECRET, SINK_SECRET],
    stuckAfterMs: ['PT1M', 60_000],
    stuckScanEveryMs: ['PT1M', 60_000],
    staleAfterMs: ['P2D', 172_800_000],
    kpiWindowMs: ['PT5M', 300_000],
    retentionMs: ['P30D', 30 * 86_400_000],
    purgeEveryMs: ['PT1H', 3_600_000],
    alertTo: ['ops@example.com, +4915112345678', ['ops@example.com', '+4915112345678']],
    alertWebhook: ['https://chat.example.com/in?x=1', 'https://chat.example.com/in?x=1'],
    alertWebhookSecret: [SINK_SECRET, SINK_SECRET],
    alertRules: ['stuck, no_worker', ['stuck', 'no_worker']],
    alertEveryMs: ['PT1M', 60_000],
    alertClearAfterMs: ['PT0S', 0],
    alertRepeatEveryMs: ['PT4H', 14_400_000],
    alertStuckMost: ['7', 7],
    alertStuckForMs: ['PT1M', 60_000],
    alertOldestMs: ['PT1H', 3_600_000],
    alertParkedRate: ['20', 20],
    alertParkedLeast: ['1', 1],
    alertParkedOverMs: ['PT1H', 3_600_000],
    alertBreakerForMs: ['PT2M', 120_000],
    alertNoWorkerMs: ['PT2M', 120_000],
    alertSiteSilentMs: ['PT1H', 3_600_000],
    metricsPort: ['9464', 9464],
    workerTtlMs: ['PT1M30S', 90_000],
    shutdownGraceMs: ['PT25S', 25_000],
    providerTimeoutMs: ['PT20S', 20_000],
    concurrency: ['8', 8],
    channels: ['sms, whatsapp', ['sms', 'whatsapp']],
    planRetryDelaysMs: ['PT5S, PT5S', [5_000, 5_000]],
    planBatch: ['10', 10],
    claimBatch: ['20', 20],
    flushMs: ['0', 0],
    databasePoolSize: ['4', 4],
    pollMaxMs: ['PT0.5S', 500],
  }
  const env = Object.fromEntries(optionEntries().map(([name, { env: variable }]) => [variable, values[name]?.[0]]))
  const content = Object.fromEntries(optionEntries().map(([name, { key: fileKey }]) => [fileKey, values[name]?.[0]]))
  const expected = Object.fromEntries(Object.entries(values).map(([name, [, value]]) => [name, value]))

  for (const input of [{ env }, { file: { path: 'p.yaml', content } }]) {
    const { callGraceMs: _derived, ...config } = settled(input)
    assert.deepEqual(config, expected)
  }
})

it('takes numbers, switches and lists of a file as they are', () => {
  const content = { port: 8080, demo: false, channels: ['sms', 'sms'] }

  const { port, demo, channels } = settled({ file: { path: 'p.yaml', content } })

  assert.deepEqual([port, demo, channels], [8080, false, ['sms']])
})

it('takes a switch off by flag, whatever the environment says', () => {
  assert.equal(settled({ flags: { '--demo': false }, env: { PILLARBOX_DEMO: '1' } }).demo, false)
})

it('counts an empty variable and an empty key as not set', () => {
  const config = settled({ env: { PILLARBOX_PORT: '' }, file: { path: 'p.yaml', content: { host: null } } })

  assert.deepEqual([config.port, config.host], [4400, '127.0.0.1'])
})

it('makes a relative SQLite path absolute, and leaves :memory: alone', () => {
  assert.equal(settled({ env: { DATABASE_URL: 'sqlite:db/x.db' } }).databaseUrl, 'sqlite:/srv/app/db/x.db')
  assert.equal(settled({ env: { DATABASE_URL: 'sqlite::memory:' } }).databaseUrl, 'sqlite::memory:')
})

it('takes a file or a signed endpoint for the audit, and nothing that would send it in clear', () => {
  const sink = (given: string) => ({
    env: { PILLARBOX_AUDIT_SINK: given, PILLARBOX_AUDIT_SINK_SECRET: SINK_SECRET },
  })

  assert.equal(settled(sink('file:log/audit.jsonl')).auditSink, 'file:/srv/app/log/audit.jsonl')
  assert.equal(settled(sink('file:/var/audit.jsonl')).auditSink, 'file:/var/audit.jsonl')
  assert.equal(settled(sink('http://127.0.0.1:9/x')).auditSink, 'http://127.0.0.1:9/x')
  for (const given of ['http://siem.example.com/x', 'https://u:p@siem.example.com/', 'file://host/x', 'file:', 'x'])
    assert.equal(problems(sink(given)).length, 1, given)
  assert.deepEqual(problems({ env: { PILLARBOX_AUDIT_SINK: 'https://siem.example.com/' } }), [
    'PILLARBOX_AUDIT_SINK_SECRET: expected whsec_ and base64 of 24 to 64 bytes, or several of them separated by spaces, got nothing, with a URL as sink',
  ])
  assert.deepEqual(settled({ env: { PILLARBOX_AUDIT_SINK: 'file:x' } }).auditSinkSecret, null)
})

it('takes whom to tell of alerts and by which rules, and posts nothing that is not signed', () => {
  const rules = (given: string) => settled({ env: { PILLARBOX_ALERT_RULES: given } }).alertRules

  assert.deepEqual(rules('none'), [])
  assert.deepEqual(rules('stuck,stuck'), ['stuck'])
  for (const env of [
    { PILLARBOX_ALERT_TO: 'ops@example.com, 0151 12345678' },
    { PILLARBOX_ALERT_RULES: 'stuck, tired' },
    { PILLARBOX_ALERT_WEBHOOK: 'http://chat.example.com/', PILLARBOX_ALERT_WEBHOOK_SECRET: SINK_SECRET },
  ])
    assert.equal(problems({ env }).length, 1, JSON.stringify(env))
  assert.deepEqual(problems({ env: { PILLARBOX_ALERT_WEBHOOK: 'https://chat.example.com/' } }), [
    'PILLARBOX_ALERT_WEBHOOK_SECRET: expected whsec_ and base64 of 24 to 64 bytes, or several of them separated by spaces, got nothing, with a URL to post alerts to',
  ])
})

it('takes proxies by their number, or by their addresses and ranges', () => {
  const proxies = (given: string) => settled({ env: { PILLARBOX_TRUSTED_PROXIES: given } }).trustedProxies

  assert.equal(proxies('1'), 1)
  assert.deepEqual(proxies('127.0.0.1, 10.0.0.0/8,fd00::/8,127.0.0.1'), ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])
  assert.equal(settled({ file: { path: 'p.yaml', content: { trustedProxies: 2 } } }).trustedProxies, 2)
  assert.deepEqual(problems({ env: { PILLARBOX_TRUSTED_PROXIES: 'true' } }), [
    'PILLARBOX_TRUSTED_PROXIES: expected a number of proxies from 0 to 10, or a list of IP addresses and ranges such as 10.0.0.0/8 (but no /0, which is everybody), got "true"',
  ])
})

it('takes origins as browsers name them, or all of them, and nothing longer', () => {
  const origins = (given: string) => settled({ env: { PILLARBOX_INBOX_ORIGINS: given } }).inboxOrigins

  assert.deepEqual(origins('HTTPS://App.Example.com:443/, http://localhost:3000'), [
    'https://app.example.com',
    'http://localhost:3000',
  ])
  assert.deepEqual(origins('*'), ['*'])
  for (const given of [
    'app.example.com',
    'https://app.example.com/path',
    'https://u:p@x.example',
    'ftp://x',
    'null',
    '*,x',
  ])
    assert.equal(problems({ env: { PILLARBOX_INBOX_ORIGINS: given } }).length, 1, given)
})

it('takes hosts with and without a port, in any case, once each', () => {
  const { snsCertHosts } = settled({
    env: { PILLARBOX_SNS_CERT_HOSTS: '127.0.0.1:8443, LOCALHOST,localhost,[::1]:80' },
  })

  assert.deepEqual(snsCertHosts, ['127.0.0.1:8443', 'localhost', '[::1]:80'])
  assert.deepEqual(settled({}).snsCertHosts, [])
})

it('takes a public URL with or without a path, and nothing behind it', () => {
  const publicUrl = (given: string) => settled({ env: { PILLARBOX_PUBLIC_URL: given } }).publicUrl

  assert.equal(publicUrl('HTTPS://Notify.Example.com'), 'https://notify.example.com')
  assert.equal(publicUrl('http://10.0.0.7:4400/notify/'), 'http://10.0.0.7:4400/notify')
  for (const wrong of [
    'notify.example.com',
    'ftp://example.com',
    'https://',
    'https://a@example.com',
    'https://a/?b=1',
    'https://a/#b',
    'https://a b',
  ])
    assert.match(
      problems({ env: { PILLARBOX_PUBLIC_URL: wrong } })[0] ?? '',
      /^PILLARBOX_PUBLIC_URL: expected a URL/,
      wrong,
    )
})

it('names every problem at once, each as the user gave it, with what was expected and what was got', () => {
  const found = problems({
    flags: { '--port': '70000' },
    env: { PILLARBOX_WORKER_TTL: '30s' },
    file: { path: 'p.yaml', content: { logLevel: 'loud', prot: 4400 } },
  })

  assert.deepEqual(found, [
    'prot in p.yaml: expected a known setting; did you mean port?, got an unknown one',
    '--port: expected a whole number from 0 to 65535, got "70000"',
    'logLevel in p.yaml: expected one of debug, info, warn, error, silent, got "loud"',
    'PILLARBOX_WORKER_TTL: expected an ISO 8601 duration from PT1S to PT1H, got "30s"',
  ])
})

const WRONG: [string, string][] = [
  ['PILLARBOX_PORT', '-1'],
  ['PILLARBOX_PORT', '4400.5'],
  ['PILLARBOX_PORT', '0x10'],
  ['PILLARBOX_PORT', ' 4400'],
  ['PILLARBOX_HOST', 'http://localhost'],
  ['DATABASE_URL', 'mysql://db/x'],
  ['DATABASE_URL', 'sqlite:'],
  ['DATABASE_URL', 'sqlite://data/x.db'],
  ['DATABASE_URL', 'postgres://'],
  ['PILLARBOX_DEMO', 'maybe'],
  ['PILLARBOX_STUCK_AFTER', '10'],
  ['PILLARBOX_STUCK_AFTER', 'P1M'],
  ['PILLARBOX_PROVIDER_TIMEOUT', 'PT0S'],
  ['PILLARBOX_CHANNELS', 'sms,fax'],
  ['PILLARBOX_CHANNELS', ','],
  ['PILLARBOX_TRUSTED_PROXIES', '11'],
  ['PILLARBOX_TRUSTED_PROXIES', '*'],
  ['PILLARBOX_TRUSTED_PROXIES', '0.0.0.0/0'],
  ['PILLARBOX_TRUSTED_PROXIES', '::/0'],
  ['PILLARBOX_TRUSTED_PROXIES', '10.0.0.0/33'],
  ['PILLARBOX_TRUSTED_PROXIES', '10.0.0.1,,10.0.0.2'],
  ['PILLARBOX_TRUSTED_PROXIES', 'proxy.internal'],
  ['PILLARBOX_SNS_CERT_HOSTS', 'https://127.0.0.1'],
  ['PILLARBOX_SNS_CERT_HOSTS', '127.0.0.1,,localhost'],
  ['PILLARBOX_MASTER_KEY', Buffer.alloc(16).toString('base64')],
  ['PILLARBOX_MASTER_KEY', `${Buffer.alloc(32).toString('base64').slice(0, -3)}!B=`],
  ['PILLARBOX_FORMER_MASTER_KEYS', Buffer.alloc(16).toString('base64')],
  ['PILLARBOX_FORMER_MASTER_KEYS', `${Buffer.alloc(32).toString('base64')},`],
  ['PILLARBOX_OPS_KEY', 'has a space'],
]

for (const [variable, value] of WRONG) {
  it(`refuses ${variable}=${value}`, () => {
    assert.match(problems({ env: { [variable]: value } })[0] ?? '', new RegExp(`^${variable}: expected `))
  })
}

it('never echoes a secret', () => {
  const env = {
    PILLARBOX_MASTER_KEY: 'hunter2-master',
    PILLARBOX_FORMER_MASTER_KEYS: 'hunter2-former',
    PILLARBOX_OPS_KEY: 'hunter2 ops',
    DATABASE_URL: 'mysql://user:hunter2@db/x?password=hunter2&a=b',
  }

  const found = problems({ env })

  assert.equal(found.length, 4)
  assert.doesNotMatch(found.join('\n'), /hunter2/)
  assert.match(found.join('\n'), /mysql:\/\/user:\*\*\*@db/)
})

it('never takes a secret from the command line', () => {
  for (const [name, entry] of optionEntries()) assert.equal(entry.flag === null, entry.isSecret ?? false, name)
})

it('refuses a worker TTL that a provider call and its flush would outlast', () => {
  const tooShort = { PILLARBOX_WORKER_TTL: 'PT4S', PILLARBOX_PROVIDER_TIMEOUT: 'PT2.8S', PILLARBOX_FLUSH_MS: '1' }

  assert.match(
    problems({ env: tooShort })[0] ?? '',
    /^PILLARBOX_WORKER_TTL: expected at least .*\(PILLARBOX_PROVIDER_TIMEOUT is PT2.8S, PILLARBOX_FLUSH_MS is 1 ms\), got PT4S$/,
  )
  assert.deepEqual(problems({ env: { ...tooShort, PILLARBOX_FLUSH_MS: '0' } }), [])
  assert.match(problems({ env: { PILLARBOX_PROVIDER_TIMEOUT: 'PT1M' } })[0] ?? '', /^PILLARBOX_WORKER_TTL/)
})

it('shortens the provider timeout nobody set to fit a short worker TTL', () => {
  const { providerTimeoutMs, callGraceMs } = settled({ env: { PILLARBOX_WORKER_TTL: 'PT3S' } })

  assert.deepEqual([providerTimeoutMs, callGraceMs], [1_000, 150])
})

it('doubts what works but is probably not meant', () => {
  const found = warnings({
    env: {
      PILLARBOX_SHUTDOWN_GRACE: 'PT1S',
      PILLARBOX_PROT: '1',
      PILLARBOX_SOMETHING_ELSE_ENTIRELY: '1',
    },
  })

  assert.equal(found.length, 2)
  assert.match(found.join('\n'), /PILLARBOX_PROT is not known: did you mean PILLARBOX_PORT\?/)
})

it('takes an ops key that nobody can guess', () => {
  const hex = '00112233445566778899aabbccddeeff'
  for (const key of [hex, hex.toUpperCase(), 'pbx_0aZ-9xQkLm3nB7vC2sD1', 'q8Rv2nXc7TzL4kWp9mYs3B'])
    assert.equal(settled({ env: { PILLARBOX_OPS_KEY: key } }).opsKey, key)
})

it('refuses an ops key of less than 128 bits, says how to make one, and does not repeat it', () => {
  const hex = '00112233445566778899aabbccddee'
  for (const key of [
    'short-key',
    hex,
    '1234567890'.repeat(3),
    'k'.repeat(64),
    'abcabcabc'.repeat(10),
    `x${' '.repeat(40)}`,
  ]) {
    const said = JSON.stringify(
      resolveConfig({ flags: {}, env: { PILLARBOX_OPS_KEY: key }, file: null, cwd: '/srv/app' }),
    )
    assert.match(said, /PILLARBOX_OPS_KEY.*at least 128 random bits.*openssl rand -hex 32/)
    assert.ok(!said.includes(key))
  }
})

it('doubts a former master key that is the master key', () => {
  const [present, other] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string]
  const warned = (former: string) =>
    warnings({ env: { PILLARBOX_MASTER_KEY: present, PILLARBOX_FORMER_MASTER_KEYS: former } })

  assert.deepEqual(warned(other), [])
  assert.match(
    warned(`${other},${present}`).join(),
    /^PILLARBOX_FORMER_MASTER_KEYS has the master key itself in it: .*PILLARBOX_MASTER_KEY must be the new key$/,
  )
})

it('explains a port that Kubernetes set', () => {
  assert.match(problems({ env: { PILLARBOX_PORT: 'tcp://10.0.0.1:4400' } })[0] ?? '', /enableServiceLinks/)
})

it('gives every option names of its own', () => {
  for (const field of ['key', 'env', 'flag'] as const) {
    const names = optionEntries().flatMap(([, entry]) => entry[field] ?? [])
    assert.equal(new Set(names).size, names.length, field)
  }
})

it('has defaults that its own checks accept', () => {
  for (const [name, entry] of optionEntries())
    if (entry.defaultText === undefined)
      assert.deepEqual(entry.check.read(entry.check.write(entry.default)), entry.default, name)
  assert.equal(OPTIONS.workerTtlMs.default, 30_000)
})

it('has an example file whose every key, taken in, means the default', () => {
  const example = readFileSync(new URL('../../config.example.yaml', import.meta.url), 'utf8')
  const content = parse(example.replaceAll(/^#(?=\w)/gm, '')) as Record<string, unknown>
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

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createLogger, type LoggerDeps } from './logger.ts'

function setup(changes: Partial<LoggerDeps> = {}) {
  const lines: string[] = []
  const later: (() => void)[] = []
  const logger = createLogger({
    level: 'info',
    clock: { now: () => Date.UTC(2026, 2, 15, 14, 2, 11, 123) },
    scrub: (text) => text.replaceAll('hunter2', '***'),
    write: (text) => void lines.push(text),
    defer: (run) => void later.push(run),
    style: 'json',
    ...changes,
  })
  const written = (): Record<string, unknown>[] => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { logger, lines, written, later }
}

it('writes one JSON line per call, with level, time and message', () => {
  const { logger, lines, written } = setup()

  logger.info({ port: 4400 }, 'listening')
  logger.error({}, 'two\nlines')

  assert.ok(lines.every((line) => line.indexOf('\n') === line.length - 1))
  assert.deepEqual(written(), [
    { level: 'info', time: '2026-03-15T14:02:11.123Z', port: 4400, msg: 'listening' },
    { level: 'error', time: '2026-03-15T14:02:11.123Z', msg: 'two\nlines' },
  ])
})

it('leaves out what is less important than its level', () => {
  const { logger, written } = setup({ level: 'warn' })

  logger.debug({}, 'no')
  logger.info({}, 'no')
  logger.warn({}, 'yes')

  assert.deepEqual(
    written().map((line) => line['msg']),
    ['yes'],
  )
})

it('writes nothing when silent', () => {
  const { logger, lines } = setup({ level: 'silent' })

  logger.error({}, 'no')

  assert.deepEqual(lines, [])
})

it('gives a child’s lines the child’s fields, and its children’s too', () => {
  const { logger, written } = setup()

  logger.child({ correlationId: 'c-1' }).child({ attempt: 2 }).info({ channel: 'sms' }, 'sent')
  logger.info({}, 'other')

  const [line, other] = written()
  assert.deepEqual([line?.['correlationId'], line?.['attempt'], line?.['channel']], ['c-1', 2, 'sms'])
  assert.equal(other?.['correlationId'], undefined)
})

it('replaces fields whose name says that they are secret, at any depth', () => {
  const { logger, lines } = setup({ scrub: (text) => text })
  const secret = { value: 'hunter2' }

  logger.info(
    {
      password: 'hunter2',
      accessToken: 'hunter2',
      'X-Api-Key': 'hunter2',
      headers: { Authorization: 'hunter2', 'set-cookie': ['hunter2'] },
      accounts: [{ settings: { client_secret: secret } }],
      DATABASE_URL: 'hunter2',
      token: 'hunter2',
    },
    'careless',
  )
  logger.child({ opsKey: 'hunter2' }).info({}, 'child')

  assert.doesNotMatch(lines.join(''), /hunter2/)
  assert.match(lines.join(''), /\[redacted\]/)
})

it('keeps what merely sounds secret', () => {
  const { logger, written } = setup()

  logger.info({ token: 7, idempotencyKey: 'order-1', secretNames: ['a'], keyId: 'k' }, 'claimed')

  const { token, idempotencyKey, secretNames, keyId } = written()[0] ?? {}
  assert.deepEqual([token, idempotencyKey, secretNames, keyId], [7, 'order-1', ['a'], 'k'])
})

it('scrubs every text: messages, fields, errors, their causes and their stacks', () => {
  const { logger, lines, written } = setup()
  const error = new TypeError('no hunter2 here', { cause: new Error('hunter2 again') })

  logger.child({ note: 'hunter2' }).error({ error, list: ['hunter2'] }, 'failed: hunter2')

  assert.doesNotMatch(lines.join(''), /hunter2/)
  const logged = written()[0]?.['error'] as Record<string, unknown>
  assert.deepEqual([logged['type'], logged['message']], ['TypeError', 'no *** here'])
  assert.match(String((logged['stack'] as string[])[0]), /^at .*logger\.test\.ts/)
  assert.equal((logged['cause'] as Record<string, unknown>)['message'], '*** again')
})

it('leaves the places of an error readable, and lets no message pass for one', () => {
  const { logger, written } = setup({ scrub: () => '***' })

  logger.error({ error: new Error('no\n    at hunter2 (/x:1:1)') }, 'failed')

  const error = written()[0]?.['error'] as { stack: string[] } | undefined
  assert.match(error?.stack[0] ?? '', /logger\.test\.ts/)
  assert.doesNotMatch(error?.stack.join() ?? '', /hunter2/)
})

it('writes of an error only what is safe: not the request that hangs on it', () => {
  const { logger, lines } = setup({ scrub: (text) => text })
  const error = Object.assign(new Error('no'), { code: 'ECONNRESET', config: { body: 'hunter2' } })

  logger.error({ error }, 'failed')

  assert.doesNotMatch(lines.join(''), /hunter2/)
  assert.match(lines.join(''), /"code":"ECONNRESET"/)
})

it('never fails on a field that JSON cannot hold', () => {
  const { logger, written } = setup()
  const loop: Record<string, unknown> = {}
  loop['self'] = loop
  const many = Array.from({ length: 200 }, (_, i) => i)

  logger.info({ loop, big: 1n, many, key: Buffer.alloc(32), at: new Date(Number.NaN), run: () => 0 }, 'odd')

  const line = written()[0] ?? {}
  assert.deepEqual(
    [line['big'], line['key'], line['at'], line['run']],
    ['1', '[32 bytes]', 'Invalid Date', '[function]'],
  )
  assert.equal((line['many'] as unknown[]).at(-1), '[100 more]')
})

it('does not let fields stand in for the line’s own', () => {
  const { logger, written } = setup()

  logger.info({ msg: 'forged', level: 'error', time: 'never' }, 'true')

  assert.deepEqual(written()[0], {
    level: 'info',
    time: '2026-03-15T14:02:11.123Z',
    msg_: 'forged',
    level_: 'error',
    time_: 'never',
    msg: 'true',
  })
})

it('gathers lines that come often, and writes them like any other', () => {
  const { logger, lines, later } = setup()
  const fields = { tenantId: 'acme', correlationId: 'hunter2 "quoted"', attempt: 1, reason: null }

  logger.child({ workerId: 'w' }).often?.(fields, 'sent')
  logger.often?.({ correlationId: null }, 'sent "too"')
  assert.deepEqual([lines.length, later.length], [0, 1])
  later[0]?.()

  assert.equal(lines.length, 1)
  const time = '2026-03-15T14:02:11.123Z'
  const [first = '', second = '', end] = lines.join('').split('\n')
  assert.deepEqual(JSON.parse(first), {
    level: 'info',
    time,
    workerId: 'w',
    ...fields,
    correlationId: '*** "quoted"',
    msg: 'sent',
  })
  assert.deepEqual(JSON.parse(second), { level: 'info', time, correlationId: null, msg: 'sent "too"' })
  assert.equal(end, '')
})

it('keeps the order of its lines, and gathers no more than it should', () => {
  const { logger, lines, written } = setup()

  logger.often?.({ correlationId: 'first' }, 'sent')
  logger.warn({}, 'second')
  assert.equal(lines.length, 2)
  logger.often?.({ correlationId: null }, 'x'.repeat(70_000))

  assert.deepEqual(
    written().map(({ msg }) => String(msg).slice(0, 6)),
    ['sent', 'second', 'xxxxxx'],
  )
})

it('does nothing for lines that come often where they are not written', () => {
  const { logger, lines, later } = setup({
    level: 'warn',
    scrub: () => {
      throw new Error('searched')
    },
  })

  logger.often?.({ correlationId: 'c' }, 'sent')
  logger.info({ note: 'n' }, 'no')

  assert.deepEqual([lines, later], [[], []])
})

it('writes one readable line for people', () => {
  const { logger, lines } = setup({ style: 'plain' })

  logger.warn({ channel: 'sms', note: 'two words', count: 3 }, 'slow')

  assert.deepEqual(lines, ['[14:02:11.123] WARN: slow {"channel":"sms","note":"two words","count":3}\n'])
})

it('shows people where an error came from', () => {
  const { logger, lines } = setup({ style: 'plain' })

  logger.error({ error: new Error('broken') }, 'failed')

  assert.match(
    lines[0] ?? '',
    /^\[14:02:11\.123\] ERROR: failed \n {4}error: \{\n.*"message": "broken",\n.*"stack": \[\n +"at .*logger\.test\.ts/s,
  )
})

it('colours lines where that is wanted', () => {
  const { logger, lines } = setup({ style: 'coloured' })

  logger.error({ a: 1 }, 'failed')

  assert.equal(lines[0], '[14:02:11.123] \x1b[31mERROR\x1b[39m: \x1b[36mfailed\x1b[39m \x1b[90m{"a":1}\x1b[39m\n')
})

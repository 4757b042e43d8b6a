import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import type { Clock } from '../../model/ports.ts'
import { createSandboxVendor, type SandboxVendor, type Submission, VendorUnavailable } from './vendor.ts'

const OPEN = { honoursKeys: true, perSecond: null }
const FORGETFUL = { honoursKeys: false, perSecond: null }

function setup(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-vendor-'))
  const path = join(folder, 'sandbox.db')
  const clock = { time: 1_000_000, now: () => clock.time, monotonic: () => clock.time, sleep: async () => {} }
  const vendors: SandboxVendor[] = []
  t.after(() => {
    for (const vendor of vendors) vendor.close()
    rmSync(folder, { recursive: true })
  })
  const open = (): SandboxVendor => {
    const vendor = createSandboxVendor({ path, clock: clock satisfies Clock, busyTimeoutMs: 50 })
    vendors.push(vendor)
    return vendor
  }
  return { path, clock, open, vendor: open() }
}

function submission(changes: Partial<Submission> = {}): Submission {
  return {
    tenantId: 'acme',
    accountId: 'account-1',
    channel: 'email',
    key: 'key-1',
    notificationId: 'n-1',
    attempt: 1,
    to: { email: 'ana@example.test', name: 'Ana' },
    subject: 'Paid',
    body: 'Thanks',
    data: { orderId: 7 },
    providerTemplate: null,
    correlationId: 'c-1',
    ...changes,
  }
}

it('shows an accepted message exactly as its recipient gets it', async (t) => {
  const { vendor } = setup(t)

  const reply = await vendor.accept(submission(), OPEN)

  assert.deepEqual(reply, { kind: 'accepted', id: 'sbx-000001', isRepeat: false })
  const expected = { ...submission(), id: 'sbx-000001', acceptedAt: 1_000_000, duplicateOf: null }
  assert.deepEqual(vendor.get('acme', 'sbx-000001'), expected)
  assert.deepEqual(vendor.list({ tenantId: 'acme', limit: 10 }), [expected])
})

it('answers a repeated key with the first message where keys are honoured', async (t) => {
  const { vendor } = setup(t)
  await vendor.accept(submission(), OPEN)

  const reply = await vendor.accept(submission({ attempt: 2 }), OPEN)

  assert.deepEqual(reply, { kind: 'accepted', id: 'sbx-000001', isRepeat: true })
  assert.equal(vendor.count({ tenantId: null }), 1)
})

it('honours a key also between two messages of one turn', async (t) => {
  const { vendor } = setup(t)

  const replies = await Promise.all([vendor.accept(submission(), OPEN), vendor.accept(submission(), OPEN)])

  assert.deepEqual(
    replies.map((reply) => reply.kind === 'accepted' && reply.isRepeat),
    [false, true],
  )
  assert.equal(vendor.count({ tenantId: null }), 1)
})

it('records a repeated key as a duplicate of the first where keys are not honoured', async (t) => {
  const { vendor } = setup(t)

  for (let attempt = 1; attempt <= 3; attempt += 1) await vendor.accept(submission({ attempt }), FORGETFUL)

  const duplicates = vendor.list({ tenantId: 'acme', limit: 10 }).map((message) => message.duplicateOf)
  assert.deepEqual(duplicates, ['sbx-000001', 'sbx-000001', null])
})

it('keeps the keys of two accounts apart', async (t) => {
  const { vendor } = setup(t)
  await vendor.accept(submission(), OPEN)

  const reply = await vendor.accept(submission({ accountId: 'account-2' }), OPEN)

  assert.deepEqual(reply, { kind: 'accepted', id: 'sbx-000002', isRepeat: false })
})

it('answers a lookup by key, and null for a key it has never seen', async (t) => {
  const { vendor } = setup(t)
  await vendor.accept(submission(), OPEN)

  assert.equal(vendor.lookup('account-1', 'key-1'), 'sbx-000001')
  assert.equal(vendor.lookup('account-1', 'key-2'), null)
  assert.equal(vendor.lookup('account-2', 'key-1'), null)
})

it('lists by tenant, channel, address, key and notification, newest first, page by page', async (t) => {
  const { vendor } = setup(t)
  await vendor.accept(submission({ key: 'a' }), OPEN)
  await vendor.accept(submission({ key: 'b', channel: 'sms', to: { phone: '+4912345' }, notificationId: 'n-2' }), OPEN)
  await vendor.accept(submission({ key: 'c' }), OPEN)
  await vendor.accept(submission({ key: 'd', tenantId: 'other' }), OPEN)
  const keys = (filter: Partial<Parameters<SandboxVendor['list']>[0]>): string[] =>
    vendor.list({ tenantId: 'acme', limit: 10, ...filter }).map((message) => message.key)

  assert.deepEqual(keys({}), ['c', 'b', 'a'])
  assert.deepEqual(keys({ tenantId: null }), ['d', 'c', 'b', 'a'])
  assert.deepEqual(keys({ channel: 'sms' }), ['b'])
  assert.deepEqual(keys({ to: 'ANA@example.test' }), ['c', 'a'])
  assert.deepEqual(keys({ key: 'a' }), ['a'])
  assert.deepEqual(keys({ notificationId: 'n-2' }), ['b'])
  assert.deepEqual(keys({ limit: 2 }), ['c', 'b'])
  assert.deepEqual(keys({ limit: 2, before: 'sbx-000002' }), ['a'])
  assert.deepEqual(keys({ before: 'nonsense' }), [])
  assert.equal(vendor.count({ tenantId: 'acme', channel: 'email' }), 2)
})

it('reads another tenant’s message as absent', async (t) => {
  const { vendor } = setup(t)
  await vendor.accept(submission(), OPEN)

  assert.equal(vendor.get('other', 'sbx-000001'), null)
  assert.equal(vendor.get('acme', 'sbx-1'), null)
  assert.equal(vendor.get(null, 'sbx-000001')?.tenantId, 'acme')
})

it('clears one tenant’s inbox, erases its words, and still knows its keys', async (t) => {
  const { vendor, path } = setup(t)
  await vendor.accept(submission({ body: 'the secret word' }), OPEN)
  await vendor.accept(submission({ tenantId: 'other', accountId: 'account-2' }), OPEN)

  const cleared = vendor.clear('acme')

  assert.equal(cleared, 1)
  assert.equal(vendor.count({ tenantId: 'acme' }), 0)
  assert.equal(vendor.count({ tenantId: 'other' }), 1)
  const reply = await vendor.accept(submission({ attempt: 2 }), OPEN)
  assert.deepEqual(reply, { kind: 'accepted', id: 'sbx-000001', isRepeat: true })
  const db = new DatabaseSync(path)
  const row = db.prepare('select body, recipient, subject from message where id = 1').get()
  db.close()
  assert.deepEqual({ ...row }, { body: '', recipient: '{}', subject: null })
})

it('counts a fault exactly, over two handles and a restart', (t) => {
  const { vendor, open } = setup(t)
  const second = open()

  const taken = [vendor, second, vendor, second].map((handle) => handle.takeFault('account-1', 'rule', 3))

  assert.deepEqual(taken, [true, true, true, false])
  assert.equal(open().takeFault('account-1', 'rule', 3), false)
  assert.equal(vendor.takeFault('account-1', 'other rule', 1), true)
  assert.equal(vendor.takeFault('account-2', 'rule', 1), true)
})

it('counts an account’s faults from zero after a reset', (t) => {
  const { vendor } = setup(t)
  vendor.takeFault('account-1', 'rule', 1)

  vendor.resetFaults('account-1')

  assert.equal(vendor.takeFault('account-1', 'rule', 1), true)
})

it('never accepts more than the limit in any second, over two handles at once', async (t) => {
  const { vendor, open, clock } = setup(t)
  const handles = [vendor, open()]
  const terms = { honoursKeys: true, perSecond: 10 }
  let calls = 0

  for (let step = 0; step < 60; step += 1) {
    clock.time += 50
    const burst = handles.flatMap((handle) => Array.from({ length: 3 }, () => ({ handle, key: `k-${calls++}` })))
    await Promise.all(burst.map(({ handle, key }) => handle.accept(submission({ key }), terms)))
  }

  const times = vendor.list({ tenantId: null, limit: 10_000 }).map((message) => message.acceptedAt)
  for (const from of times) assert.ok(times.filter((at) => at >= from && at < from + 1_000).length <= 10)
  assert.equal(times.length, 30, 'three seconds at ten a second are used to the full')
})

it('says how long to wait when the limit is reached, and accepts then', async (t) => {
  const { vendor, clock } = setup(t)
  const terms = { honoursKeys: true, perSecond: 1 }
  await vendor.accept(submission({ key: 'a' }), terms)
  clock.time += 300

  const refused = await vendor.accept(submission({ key: 'b' }), terms)
  clock.time += 700
  const accepted = await vendor.accept(submission({ key: 'b' }), terms)

  assert.deepEqual(refused, { kind: 'limited', retryAfterMs: 700 })
  assert.equal(accepted.kind, 'accepted')
})

it('counts neither repeats nor refusals against the limit', async (t) => {
  const { vendor, clock } = setup(t)
  const terms = { honoursKeys: true, perSecond: 2 }
  await vendor.accept(submission({ key: 'a' }), terms)
  await vendor.accept(submission({ key: 'a' }), terms)

  const replies = []
  for (const key of ['b', 'c', 'd']) replies.push((await vendor.accept(submission({ key }), terms)).kind)
  clock.time += 1_000
  replies.push((await vendor.accept(submission({ key: 'c' }), terms)).kind)

  assert.deepEqual(replies, ['accepted', 'limited', 'limited', 'accepted'])
})

it('does not block a limited account when the clock is set back', async (t) => {
  const { vendor, clock } = setup(t)
  const terms = { honoursKeys: true, perSecond: 1 }
  await vendor.accept(submission({ key: 'a' }), terms)
  clock.time -= 3_600_000

  const reply = await vendor.accept(submission({ key: 'b' }), terms)

  assert.equal(reply.kind, 'accepted')
})

it('keeps the limit over processes that race for it', async (t) => {
  const { path, vendor } = setup(t)
  const body = `
    const replies = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
      await new Promise((resolve) => setImmediate(resolve))
      return vendor.accept({ ...message, key: process.pid + '-' + i }, { honoursKeys: true, perSecond: 50 })
    }))
    vendor.close()`

  const children = [0, 1, 2].map(() => child(t, path, body))
  const codes = await Promise.all(children.map(async (process) => (await once(process, 'exit'))[0] as number))

  assert.deepEqual(codes, [0, 0, 0])
  const times = vendor.list({ tenantId: null, limit: 10_000 }).map((message) => message.acceptedAt)
  assert.ok(times.length >= 50)
  for (const from of times) assert.ok(times.filter((at) => at >= from && at < from + 1_000).length <= 50)
})

it('has every message it answered for after the process is killed', async (t) => {
  const { path, vendor } = setup(t)
  const body = `
    for (let i = 0; ; i += 1) {
      const { id } = await vendor.accept({ ...message, key: 'k-' + i }, { honoursKeys: true, perSecond: null })
      require('node:fs').writeSync(1, id + '\\n')
    }`
  const process = child(t, path, body)
  const answered: string[] = []

  for await (const line of createInterface({ input: process.stdout })) {
    answered.push(line)
    if (answered.length === 100) process.kill('SIGKILL')
  }

  assert.ok(answered.length >= 100)
  for (const id of answered) assert.equal(vendor.get('acme', id)?.body, 'Thanks', id)
})

it('opens one new file from several processes at once', async (t) => {
  const { path } = setup(t)
  const fresh = `${path}-fresh`

  const children = Array.from({ length: 4 }, () => child(t, fresh, 'vendor.close()'))
  const codes = await Promise.all(children.map(async (process) => (await once(process, 'exit'))[0] as number))

  assert.deepEqual(codes, [0, 0, 0, 0])
})

it('says that nothing was recorded when the file cannot be locked', async (t) => {
  const { path, vendor } = setup(t)
  const blocker = new DatabaseSync(path)
  blocker.exec('begin immediate')

  const refused = vendor.accept(submission(), OPEN)

  await assert.rejects(refused, (error) => error instanceof VendorUnavailable && !error.mayBeRecorded)
  blocker.exec('rollback')
  blocker.close()
  assert.equal((await vendor.accept(submission(), OPEN)).kind, 'accepted')
  assert.equal(vendor.count({ tenantId: null }), 1)
})

it('refuses one message that is not JSON without harming the others of its turn', async (t) => {
  const { vendor } = setup(t)

  const replies = await Promise.allSettled([
    vendor.accept(submission({ key: 'a' }), OPEN),
    vendor.accept(submission({ key: 'b', data: { big: 1n } }), OPEN),
    vendor.accept(submission({ key: 'c' }), OPEN),
  ])

  assert.deepEqual(
    replies.map((reply) => reply.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.equal(vendor.count({ tenantId: null }), 2)
})

it('refuses a file written by a newer version', (t) => {
  const { path, open } = setup(t)
  const db = new DatabaseSync(path)
  db.exec('pragma user_version = 99')
  db.close()

  assert.throws(open, /newer version \(99; this one knows 3\)/)
})

it('works in memory', async () => {
  const clock = { now: () => 5, monotonic: () => 5, sleep: async () => {} }
  const vendor = createSandboxVendor({ path: ':memory:', clock })

  await vendor.accept(submission(), OPEN)

  assert.equal(vendor.get('acme', 'sbx-000001')?.acceptedAt, 5)
  vendor.close()
})

/** A process of its own with a vendor on the same file and the machine's clock. */
function child(t: TestContext, path: string, body: string) {
  const script = `
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    const { createSandboxVendor } = await import(${JSON.stringify(new URL('./vendor.ts', import.meta.url).href)})
    const clock = { now: Date.now, monotonic: () => performance.now(), sleep: async () => {} }
    const vendor = createSandboxVendor({ path: ${JSON.stringify(path)}, clock })
    const message = ${JSON.stringify(submission())}
    ${body}`
  const spawned = spawn(process.execPath, ['--conditions=source', '--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => spawned.kill('SIGKILL'))
  return spawned
}

it('shows what a provider template was filled with', async (t) => {
  const { vendor } = setup(t)
  const providerTemplate = { name: 'booking_confirmed', language: 'en', components: [{ type: 'body' }] }

  await vendor.accept(submission({ providerTemplate }), OPEN)

  assert.deepEqual(vendor.get('acme', 'sbx-000001')?.providerTemplate, providerTemplate)
  vendor.clear('acme')
  assert.equal(vendor.get('acme', 'sbx-000001'), null)
})

it('finds a message to a list by the list and by everybody it stood for', async (t) => {
  const { vendor } = setup(t)
  const to = { list: 'ops-team', bcc: ['Ana@example.test', 'bo@example.test'] }
  await vendor.accept(submission({ to }), OPEN)
  await vendor.accept(submission({ key: 'key-2', to: { email: 'bo@example.test' } }), OPEN)

  assert.deepEqual(vendor.list({ tenantId: 'acme', to: 'ana@example.test', limit: 10 })[0]?.to, to)
  assert.equal(vendor.count({ tenantId: 'acme', to: 'ops-team' }), 1)
  assert.equal(vendor.count({ tenantId: 'acme', to: 'bo@example.test' }), 2)
  assert.equal(vendor.count({ tenantId: 'acme', to: 'cy@example.test' }), 0)
})

it('reads a file of the version before this one', async (t) => {
  const { path, open } = setup(t)
  const old = new DatabaseSync(path)
  old.exec('alter table message drop column provider_template; pragma user_version = 1')
  old.close()

  const vendor = open()
  await vendor.accept(submission({ providerTemplate: { name: 'x' } }), OPEN)

  assert.deepEqual(vendor.get('acme', 'sbx-000001')?.providerTemplate, { name: 'x' })
})

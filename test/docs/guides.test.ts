import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { startWebhookReceiver } from '@pillarbox/vendors'
import { createIdSource } from '../../packages/pillarbox/src/runtime/ids.ts'
import { systemClock, systemRandom } from '../../packages/pillarbox/src/runtime/system.ts'
import { createSiteAgent } from '../../packages/pillarbox/src/site/site-agent.ts'
import { OPS_KEY, succeed } from '../support/api.ts'
import { silent } from '../support/samples.ts'
import { until } from '../support/until.ts'
import { openWorld, startWorld, type World } from '../support/world.ts'
import { follow, stepsOf } from './follow.ts'

const root = path.resolve(import.meta.dirname, '../..')

async function open(t: TestContext): Promise<World> {
  const world = await startWorld('sqlite')
  t.after(() => world[Symbol.asyncDispose]())
  return world
}

async function guide(name: string): Promise<string> {
  return await readFile(path.join(root, 'docs/guides', name), 'utf8')
}

describe('docs/guides/first-tenant.md', () => {
  it('shows commands that work, and what they answer', async (t) => {
    const steps = stepsOf(await guide('first-tenant.md'))
    assert.ok(steps.length > 12)
    await follow(await open(t), steps, { OPS_KEY })
  })
})

describe('docs/guides/recovery.md', () => {
  it('shows commands that lead from what is parked to what is sent', async (t) => {
    const world = await open(t)
    const tenant = await world.tenant()
    await tenant.account({
      channel: 'email',
      provider: 'sandbox',
      name: 'gateway',
      settings: { faults: [{ kind: 'permanent', times: 3, reason: 'permanent_refusal' }] },
    })
    for (const name of ['ana', 'ben', 'eva']) {
      const id = await tenant.submit({ channel: 'email', to: { email: `${name}@example.test` }, body: 'Hello' })
      await tenant.comesTo(id, 'parked')
    }
    const steps = stepsOf(await guide('recovery.md'))
    assert.equal(steps.length, 5)
    await follow(world, steps, { KEY: await tenant.key('operator') })
  })
})

describe('docs/guides/observe.md', () => {
  it('shows how the server is started so that it records traces', async (t) => {
    const [, script = ''] = /^```js\n(.*?)^```/ms.exec(await guide('observe.md')) ?? []
    const cache = path.join(root, 'node_modules/.cache')
    await mkdir(cache, { recursive: true })
    // Where the packages that it imports are found.
    const folder = await mkdtemp(path.join(cache, 'pillarbox-guide-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const file = path.join(folder, 'tracing.mjs')
    await writeFile(file, script)
    await using world = await openWorld('sqlite')
    const { url, log, signal, exited } = await world.startProcess('start', { NODE_OPTIONS: `--import=${file}` })
    const ask = (target: string, key: string, body: object): Promise<Record<string, unknown>> =>
      succeed(url + target, { key, method: 'POST', body })
    const { keys } = await ask('/ops/tenants', OPS_KEY, { id: 'acme', name: 'Acme' })
    const { admin } = keys as { admin: string }
    await ask('/api/channel-accounts', admin, { channel: 'email', provider: 'sandbox', name: 'email' })
    await ask('/api/notifications', admin, { channel: 'email', to: { email: 'ada@example.test' }, body: 'Hello' })
    await until('the call was recorded', () => log().includes('pillarbox.attempt'))
    signal('SIGTERM')

    assert.equal((await exited).code, 0)
    assert.match(log(), /pillarbox\.publish/)
  })
})

interface Message {
  id: string
  type: string
  data: Record<string, unknown>
  correlationId?: string
}

interface Receiver {
  verified(rawBody: Buffer, headers: Record<string, string>, secret: string, now?: number): Message | null
  createReceiver(secret: string, keep: (message: Message) => Promise<void>): Server
}

describe('docs/guides/webhooks.md', () => {
  /** The code of the guide. */
  async function receiver(t: TestContext): Promise<Receiver> {
    const blocks = [...(await guide('webhooks.md')).matchAll(/```js receiver\n([\s\S]*?)```/g)].map(([, code]) => code)
    assert.equal(blocks.length, 2)
    const cache = path.join(root, 'node_modules/.cache')
    await mkdir(cache, { recursive: true })
    const folder = await mkdtemp(path.join(cache, 'webhooks-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const file = path.join(folder, 'receiver.mjs')
    await writeFile(file, blocks.join('\n'))
    return (await import(pathToFileURL(file).href)) as Receiver
  }

  async function setup(t: TestContext) {
    const tenant = await (await open(t)).tenant()
    const secret = `whsec_${randomBytes(32).toString('base64')}`
    return {
      secret,
      makeAccount: (signingSecret = secret) =>
        tenant.account({
          channel: 'webhook',
          provider: 'webhook',
          name: 'hooks',
          retry: { maxAttempts: 3, fixed: 'PT0.05S' },
          breaker: { failures: 100 },
          secrets: { signingSecret },
        }),
      send: (url: string) =>
        tenant.submit({
          channel: 'webhook',
          to: { url },
          subject: 'order.paid',
          body: 'Order 1001 is paid.',
          data: { orderId: 1001 },
          correlationId: 'c-1',
        }),
      settled: tenant.comesToRest,
    }
  }

  async function listen(t: TestContext, server: Server): Promise<string> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
  }

  it('shows a receiver that takes what Pillarbox sends, again after it failed to keep it', async (t) => {
    const { secret, makeAccount, send, settled } = await setup(t)
    const { createReceiver } = await receiver(t)
    await makeAccount()
    const kept: Message[] = []
    let failures = 1
    const hooks = await listen(
      t,
      createReceiver(secret, async (message) => {
        if (failures-- > 0) throw new Error('the disk is full')
        kept.push(message)
      }),
    )

    const id = await send(hooks)
    const { status, attemptCount } = await settled(id)

    assert.deepEqual([status, attemptCount], ['sent', 2])
    assert.deepEqual(
      kept.map(({ id: of, type, data, correlationId }) => [of, type, data, correlationId]),
      [[id, 'order.paid', { orderId: 1001, body: 'Order 1001 is paid.' }, 'c-1']],
    )
  })

  it('shows how to verify, which refuses what was changed, is old, or is signed by somebody else', async (t) => {
    const { secret, makeAccount, send } = await setup(t)
    const { verified, createReceiver } = await receiver(t)
    await makeAccount()
    const hooks = await startWebhookReceiver()
    t.after(hooks.close)
    const id = await send(`${hooks.url}/hooks`)
    await until('the receiver has it', () => hooks.received.length === 1)
    const [{ headers, body } = assert.fail('nothing came')] = hooks.received
    const raw = Buffer.from(body)
    const at = Number(headers['webhook-timestamp']) * 1_000

    assert.equal(verified(raw, headers, secret, at)?.id, id)
    assert.equal(verified(raw, headers, secret, at + 301_000), null)
    assert.equal(verified(Buffer.from(body.replace('1001', '1002')), headers, secret, at), null)
    assert.equal(verified(raw, { ...headers, 'webhook-id': 'another' }, secret, at), null)
    assert.equal(verified(raw, { ...headers, 'webhook-timestamp': '' }, secret, at), null)
    assert.equal(verified(raw, headers, `whsec_${randomBytes(32).toString('base64')}`, at), null)
    const url = await listen(
      t,
      createReceiver(secret, async () => assert.fail('it is forged')),
    )
    assert.equal((await fetch(url, { method: 'POST', body })).status, 401)
  })

  it('tells the headers, and that a secret can be changed for another', async (t) => {
    const { secret, makeAccount, send } = await setup(t)
    const { verified } = await receiver(t)
    const next = `whsec_${randomBytes(32).toString('base64')}`
    await makeAccount(`${next} ${secret}`)
    const hooks = await startWebhookReceiver()
    t.after(hooks.close)
    await send(`${hooks.url}/hooks`)
    await until('the receiver has it', () => hooks.received.length === 1)
    const [{ method, headers, body } = assert.fail('nothing came')] = hooks.received

    for (const known of [next, secret]) assert.notEqual(verified(Buffer.from(body), headers, known), null)
    const [, shown = ''] = /```http\n([\s\S]*?)\n\n/.exec(await guide('webhooks.md')) ?? []
    const names = shown
      .split('\n')
      .slice(1)
      .map((line) => line.split(':')[0] ?? '')
    assert.equal(method, 'POST')
    assert.deepEqual(
      names.filter((name) => !(name in headers)),
      [],
    )
  })

  it('tells what an answer comes to', async (t) => {
    const { makeAccount, send, settled } = await setup(t)
    await makeAccount()
    const results: Record<string, unknown> = {}
    for (const [answer, times] of [
      [410, 1],
      [302, 1],
      [413, 1],
      [503, 3],
      [404, 3],
      [504, 1],
    ] as const) {
      const hooks = await startWebhookReceiver()
      t.after(hooks.close)
      const headers = { location: hooks.url, 'retry-after': '0' }
      hooks.answerWith(...Array.from({ length: times }, () => ({ status: answer, headers })))
      const { status, reason } = await settled(await send(`${hooks.url}/${answer}`))
      results[answer] = [status, reason, hooks.requests.length]
    }

    assert.deepEqual(results, {
      410: ['parked', 'invalid_recipient', 1],
      302: ['parked', 'invalid_recipient', 1],
      413: ['parked', 'content_rejected', 1],
      503: ['parked', 'attempts_exhausted', 3],
      404: ['parked', 'attempts_exhausted', 3],
      504: ['sent', null, 2],
    })
  })
})

describe('npm run vendors', () => {
  const main = path.join(root, 'packages/vendors/src/main.ts')

  it('hands out accounts that Pillarbox can use, shows what was taken, and ends when it is told to', async (t) => {
    const { url } = await open(t)
    const vendors = spawn(process.execPath, ['--conditions=source', main, '--port', '0'])
    t.after(() => vendors.kill('SIGKILL'))
    let said = ''
    vendors.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    await until('the vendors say where they are', () => said.includes('/answers/'))
    const [desk = ''] = /http:\/\/127\.0\.0\.1:\d+(?=\/accounts)/.exec(said) ?? []
    const call = async (target: string, body?: unknown) => {
      const headers = { authorization: `Bearer ${OPS_KEY}`, 'content-type': 'application/json' }
      const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      return (await fetch(target, { headers, ...request })).json() as Promise<Record<string, unknown>>
    }
    await call(`${url}/ops/tenants`, { id: 'acme', name: 'Acme' })

    const names = Object.values(await call(`${desk}/`)).map((vendor) => (vendor as { name: string }).name)
    const verified: Record<string, unknown> = {}
    for (const name of names) {
      const account = await call(`${desk}/accounts/${name}`)
      const { id, warnings } = await call(`${url}/api/channel-accounts?tenantId=acme`, account)
      const { isGood, detail } = await call(`${url}/api/channel-accounts/${String(id)}/verify?tenantId=acme`, {})
      verified[name] = isGood === true ? warnings : detail
    }
    assert.ok(names.length > 10)
    assert.deepEqual(verified, Object.fromEntries(names.map((name) => [name, []])))

    const refused = await call(`${desk}/answers/smtp`, 'nonsense')
    assert.match(String(refused['error']), /an answer is \{at: auth \| mail/)
    await call(`${url}/api/notifications?tenantId=acme`, {
      channel: 'email',
      to: { email: 'a@example.com' },
      body: 'Hi',
    })
    await until('the mail was taken', async () => Object.keys(await call(`${desk}/taken/smtp`)).length === 1)
    vendors.kill('SIGTERM')
    assert.deepEqual(await once(vendors, 'exit'), [0, null])
  })

  it('says what it can do, and what it cannot', async () => {
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, ['--conditions=source', main, ...args]).catch(
        (error: { code: number; stderr: string }) => error,
      )

    assert.match(((await run('--help')) as { stdout?: string }).stdout ?? '', /--port <number>[\s\S]*--only <names>/)
    for (const wrong of [['--only', 'pigeon'], ['--port', 'x'], ['--nonsense']])
      assert.match((await run(...wrong)).stderr, /^vendors: .*--help shows what there is\n$/)
  })
})

describe('docs/guides/sites.md', () => {
  it('shows commands that work, and what they answer', async (t) => {
    const world = await open(t)
    const tenant = await world.tenant({ channels: ['email'] })
    const made = await tenant.call('POST', '/api/keys', { name: 'plant-1', role: 'publisher', site: 'plant-1' })
    const key = String(made.body['key'])
    const agent = createSiteAgent(
      { central: world.url, key, site: 'plant-1', dataDir: path.join(world.dataDir, 'site'), port: 0, heartbeatMs: 50 },
      { logger: silent, ids: createIdSource(systemClock, systemRandom()) },
    )
    const { host } = new URL(await agent.start())
    t.after(agent.stop)
    const page = (await guide('sites.md')).replaceAll('localhost:4401', host)
    const steps = stepsOf(page)
    assert.equal(steps.length, 7)
    await follow(world, steps, { ADMIN_KEY: tenant.adminKey, SITE_KEY: key })
  })
})

describe('docs/guides/hasura.md', () => {
  it('shows commands that work, and what they answer', async (t) => {
    const world = await open(t)
    const tenant = await world.tenant({ channels: ['email'] })
    const steps = stepsOf(await guide('hasura.md'))
    assert.equal(steps.length, 4)
    await follow(world, steps, { ADMIN_KEY: tenant.adminKey, PUBLISHER_KEY: await tenant.key('publisher') })
    assert.equal((await tenant.inbox()).length, 2)
  })
})

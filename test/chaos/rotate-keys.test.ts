import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { sealWith } from '@pillarbox/client'
import { loadConfig } from '../../packages/pillarbox/src/config/load.ts'
import { loadMasterKey, masterKeyPath, readMasterKey } from '../../packages/pillarbox/src/config/master-key.ts'
import { SEALED_TABLES } from '../../packages/pillarbox/src/operate/sealed-store.ts'
import { openStore } from '../../packages/pillarbox/src/pillarbox.ts'
import { createIdSource } from '../../packages/pillarbox/src/runtime/ids.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { MASTER_KEY } from '../../packages/pillarbox/src/security/key-state.ts'
import { createKeyring, keyIdOf } from '../../packages/pillarbox/src/security/keyring.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { succeed } from '../support/api.ts'
import { ENGINE_NAMES, type EngineName } from '../support/engines.ts'
import { CLI, type Exit } from '../support/product-process.ts'
import { silent } from '../support/samples.ts'
import { makeTenant, openAll, type Secrets, sealedRows } from '../support/sealed-rows.ts'
import { until } from '../support/until.ts'
import type { World } from '../support/world.ts'
import { chaosWorld } from './chaos-world.ts'
import { ROTATION_STEPS, rotationSteps } from './rotation-steps.ts'

/** `PILLARBOX_CHAOS=full` kills at each step alone as well, on both stores and with both ways to give keys. */
const isFull = process.env['PILLARBOX_CHAOS'] === 'full'

type Keys = 'key files' | 'configured keys'

const UNDER_TEST = path.join(import.meta.dirname, 'rotation-under-test.ts')

/** Delays after which it is killed: while it begins, waits for the servers, seals anew, waits for them to settle. */
const KILL_AFTER_MS = isFull ? [100, 500, 900, 1_300, 2_000, 3_000, 4_000, 5_500, 7_000] : [900, 3_000]

// Where servers run, most of the time is waited: meanwhile the processes that are killed start and die.
describe('a rotation', { concurrency: 2 }, () => {
  describe('that is killed at any step', { concurrency: 2 }, () => {
    const combinations: [EngineName, Keys][] = isFull
      ? ENGINE_NAMES.flatMap((engine): [EngineName, Keys][] => [
          [engine, 'key files'],
          [engine, 'configured keys'],
        ])
      : [
          ['sqlite', 'key files'],
          ['postgres', 'configured keys'],
        ]

    for (const [engine, keys] of combinations) {
      it(`${engine}, ${keys}: goes on when it is run again, step after step`, () =>
        killedAt(engine, keys, rotationSteps(keys === 'key files')))
      for (const step of isFull ? rotationSteps(keys === 'key files') : [])
        for (const nth of step.startsWith('replace') ? [1, 3] : [1])
          it(`${engine}, ${keys}: ${step} ×${nth} alone: ${ROTATION_STEPS[step]}`, () =>
            killedAt(engine, keys, [step], nth))
    }
  })

  describe('while servers run', { concurrency: 2 }, () => {
    for (const engine of ENGINE_NAMES)
      it(`${engine}: loses nothing, however often it is killed, and applications go on sealing with the old key`, async () => {
        await using world = await chaosWorld(engine)
        // With SQLite as it comes: the key in a file, one server. With PostgreSQL as in production: configured, several.
        const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
        const both = engine === 'postgres' ? keyEnvironment(newKey, oldKey) : {}
        const first = await world.startProcess('start', engine === 'postgres' ? keyEnvironment(oldKey) : {})
        const formerKey = engine === 'postgres' ? oldKey : await masterKeyOf(world)
        await makeShop(first.url)
        let servers = [first]
        if (engine === 'postgres') {
          const second = await world.startProcess('start', both)
          const refused = await run(world, [CLI, 'keys', 'rotate'], both).exited
          assert.equal(refused.code, 1)
          assert.match(refused.output, /is not known to start on .*\(process \d+\)/)
          assert.match(refused.output, /→ start it again with the new key in PILLARBOX_MASTER_KEY/)
          // Both seal under the old key until it is turned, so that either can be taken away.
          servers = [second, await world.startProcess('worker', both)]
          first.signal('SIGTERM')
          assert.equal((await first.exited).code, 0)
        }
        const { url } = servers[0] ?? assert.fail()
        const publisher = await startPublishing(world, url)

        for (const delayMs of KILL_AFTER_MS) {
          const rotating = run(world, [CLI, 'keys', 'rotate'], both)
          await systemClock.sleep(delayMs)
          rotating.kill()
          await rotating.exited
        }
        const finished = await run(world, [CLI, 'keys', 'rotate'], both).exited
        assert.equal(finished.code, 0, finished.output)
        const tokens = await publisher.stop()
        await until('every guest has their token', () => {
          const words = world
            .sandboxMessages()
            .map(({ body }) => body)
            .join('\n')
          return tokens.now.every((token) => words.includes(token))
        })

        // An application has used the old sealing key to the end: that is put right, and said.
        const early = await run(world, [CLI, 'keys', 'retire'], both).exited
        assert.equal(early.code, 1, early.output)
        assert.match(early.output, /sealed by applications with a former sealing key/)
        const retired = await run(world, [CLI, 'keys', 'retire'], both).exited
        assert.equal(retired.code, 0, retired.output)
        for (const server of servers) server.signal('SIGTERM')
        for (const server of servers) assert.equal((await server.exited).code, 0, server.log())

        const key = engine === 'postgres' ? newKey : await masterKeyOf(world)
        const store = await openRigStore(world)
        const { opened, closed } = await openAll(store, key)
        const isUnderOld = (await openAll(store, formerKey)).opened.size
        await store.close()
        assert.deepEqual([closed, isUnderOld], [[], 0])
        const later = new Set(opened.values())
        assert.deepEqual(
          tokens.later.filter((token) => !later.has(token)),
          [],
        )
        assert.ok(tokens.now.length >= 10 && tokens.later.length >= 10, 'something was published meanwhile')
        // Nobody needs the former key any more.
        const alone = await world.startProcess('start', engine === 'postgres' ? keyEnvironment(newKey) : {})
        alone.signal('SIGTERM')
        assert.equal((await alone.exited).code, 0)
      })
  })
})

/** One process after the other dies at the next of these steps; the last one lives. */
async function killedAt(engine: EngineName, keys: Keys, steps: readonly string[], nth = 1): Promise<void> {
  await using world = await chaosWorld(engine)
  await using bench = await sealedBench(world, keys)

  for (const step of steps) {
    const dead = await run(world, [UNDER_TEST], { ...bench.env, CHAOS_KILL_AT: `${step}:${nth}` }).exited
    assert.equal(dead.signal, 'SIGKILL', `${step} was not reached: ${dead.output}`)
    assert.deepEqual(
      await openableWithAll(bench),
      bench.secrets,
      `after ${step} everything opens with the keys at hand`,
    )
  }
  const last = await run(world, [CLI, 'keys', 'rotate'], bench.env).exited
  assert.equal(last.code, 0, last.output)

  const newKey = await bench.newKey()
  assert.notDeepEqual(newKey, bench.oldKey)
  assert.deepEqual(await openAll(bench.store, newKey), { opened: bench.secrets, closed: [] })
  assert.equal((await openAll(bench.store, bench.oldKey)).opened.size, 0, 'nothing opens with the old key')
  assert.equal(await bench.store.instance.read(MASTER_KEY), keyIdOf(newKey))
}

const TENANT = 'eventhub'

const CATALOGUE = {
  name: 'eventhub',
  defaultLocale: 'en',
  eventTypes: {
    InvitationSent: {
      entity: 'invitation',
      once: 'per-event',
      recipients: [{ email: 'guestEmail' }],
      delivery: { channels: ['email'] },
      secrets: ['token'],
      templates: [{ channel: 'email', locale: 'en', subject: 'You are invited', body: '{{token}}' }],
    },
  },
}

function call<T>(url: string, method: string, body?: unknown): Promise<T> {
  return succeed<T>(url, { method, ...(body !== undefined && { body }) })
}

async function makeShop(url: string): Promise<void> {
  await call(`${url}/ops/tenants`, 'POST', { id: TENANT, name: 'Event hub', catalogue: CATALOGUE })
  const accounts = `${url}/api/channel-accounts?tenantId=${TENANT}`
  await call(accounts, 'POST', { channel: 'email', provider: 'sandbox', name: 'mail' })
  const hook = { url: 'https://hooks.example.com/' }
  const secrets = { signingSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }
  for (const name of ['one', 'two', 'three'])
    await call(accounts, 'POST', { channel: 'webhook', provider: 'webhook', name, settings: hook, secrets })
}

interface Tokens {
  /** Sent at once. */
  now: string[]
  /** Waiting for their time. */
  later: string[]
}

/** An application that publishes all the while, over HTTP and in its own transactions, with the sealing key it had first. */
async function startPublishing(world: World, url: string) {
  const { sealingKey } = await call<{ sealingKey: string }>(`${url}/api/sealing-key`, 'GET')
  const seal = sealWith(sealingKey, { tenantId: TENANT })
  const host = await world.host()
  const tokens: Tokens = { now: [], later: [] }
  const dueAt = new Date(systemClock.now() + 3_600_000)
  let count = 0
  const publishOne = async (isLater: boolean, isOwn: boolean): Promise<void> => {
    const id = String(count++)
    const token = `rsvp-${randomBytes(9).toString('hex')}`
    const event = { id: `event-${id}`, type: 'InvitationSent', entity: { type: 'invitation', id } }
    const payload = { guestEmail: 'guest@example.com' }
    if (isOwn)
      await host.transact({
        events: [
          { tenantId: TENANT, ...event, payload: { ...payload, token: seal(token) }, ...(isLater && { dueAt }) },
        ],
      })
    else
      await call(`${url}/api/events?tenantId=${TENANT}`, 'POST', {
        ...event,
        payload: { ...payload, token },
        ...(isLater && { dueAt: dueAt.toISOString() }),
      })
    tokens[isLater ? 'later' : 'now'].push(token)
  }
  let isOver = false
  const publishing = (async () => {
    for (let i = 0; !isOver; i++) {
      await publishOne(i % 4 < 2, i % 2 === 1)
      await systemClock.sleep(40)
    }
  })()
  return {
    async stop(): Promise<Tokens> {
      isOver = true
      await publishing
      // Sealed with the old key after all is over.
      await publishOne(true, true)
      return tokens
    },
  }
}

async function masterKeyOf({ dataDir }: World): Promise<Buffer> {
  return (await readMasterKey(masterKeyPath(dataDir))) ?? assert.fail('there is no master.key')
}

interface SealedBench extends AsyncDisposable {
  store: Store
  secrets: Secrets
  oldKey: Buffer
  /** What a command is given to rotate. */
  env: Record<string, string>
  newKey(): Promise<Buffer>
  /** Every key that is configured, or on the disk. */
  allKeys(): Promise<Buffer[]>
}

async function sealedBench(world: World, keys: Keys): Promise<SealedBench> {
  const { dataDir } = world
  const store = await openRigStore(world)
  await store.migrate()
  const [oldKey, newKey] = [
    keys === 'key files'
      ? (await loadMasterKey({ dataDir, masterKey: null }, { randomBytes, newId: randomUUID })).key
      : randomBytes(32),
    randomBytes(32),
  ]
  await store.instance.settle(MASTER_KEY, keyIdOf(oldKey))
  await makeTenant(store)
  const rows = sealedRows(store, createKeyring(oldKey), createIdSource(systemClock, Math.random))
  for (let i = 0; i < 12; i++) for (const table of SEALED_TABLES) await rows.write(table, `${table} ${i}`)
  const configured = keys === 'configured keys'
  return {
    store,
    secrets: rows.secrets,
    oldKey,
    env: configured ? keyEnvironment(newKey, oldKey) : {},
    newKey: async () => (configured ? newKey : masterKeyOf(world)),
    async allKeys() {
      const files = readdirSync(dataDir).filter((name) => /^(master|next-.*|former-.*)\.key$/.test(name))
      const read = files.map((name) => Buffer.from(readFileSync(path.join(dataDir, name), 'utf8'), 'base64'))
      return configured ? [newKey, oldKey] : read
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

async function openableWithAll({ store, allKeys }: SealedBench): Promise<Secrets> {
  const opened: Secrets = new Map()
  for (const key of await allKeys())
    for (const [row, secret] of (await openAll(store, key)).opened) opened.set(row, secret)
  return opened
}

function keyEnvironment(masterKey: Buffer, ...former: Buffer[]): Record<string, string> {
  return {
    PILLARBOX_MASTER_KEY: masterKey.toString('base64'),
    ...(former.length > 0 && { PILLARBOX_FORMER_MASTER_KEYS: former.map((key) => key.toString('base64')).join() }),
  }
}

async function openRigStore({ dataDir, databaseUrl }: World): Promise<Store> {
  const env = { DATABASE_URL: databaseUrl, PILLARBOX_DATA_DIR: dataDir }
  const answer = await loadConfig({ flags: {}, env, cwd: dataDir, clock: systemClock })
  if ('problems' in answer) assert.fail(JSON.stringify(answer.problems))
  return await openStore(answer.config, silent)
}

interface Command {
  kill(): void
  exited: Promise<Exit & { output: string }>
}

/** Runs a script with this world's database and data folder, and the keys that it is given. */
function run(world: World, args: readonly string[], env: Record<string, string>): Command {
  const { signal, exited, log } = world.runScript(args, env)
  return { kill: () => signal('SIGKILL'), exited: exited.then((exit) => ({ ...exit, output: log() })) }
}

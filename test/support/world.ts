import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe } from 'node:test'
import { resolveConfig } from '../../packages/pillarbox/src/config/config.ts'
import { createPillarbox, type Overrides, type Parts } from '../../packages/pillarbox/src/pillarbox.ts'
import { type Answer, OPS_KEY, request } from './api.ts'
import { ENGINE_NAMES, type EngineName } from './engines.ts'
import { type HostApplication, openHost } from './host-application.ts'
import { type FreshDatabase, freshDatabase } from './postgres/database.ts'
import { CLI, type ProductProcess, productProcesses } from './product-process.ts'
import { type TestTenant, tenantOf } from './tenant.ts'

/**
 * The product over one database and one data folder, used as hosts and operators use it: over HTTP, by signals, in
 * transactions of the host. Everything that was started here is stopped when the world is disposed, and nothing of it
 * is left. Tests of one room that need a manual clock build that room alone: the product keeps the real time.
 */
export interface World extends AsyncDisposable {
  readonly engine: EngineName
  readonly dataDir: string
  readonly databaseUrl: string
  /** The environment that the product is started with. */
  readonly settings: Readonly<Record<string, string>>
  /** Where the API listens that was started last within this process. */
  readonly url: string
  /** What lets somebody in at the console once, of a start that was asked for it. */
  readonly consoleLink: string
  /** Starts the API, a worker or both within this process. */
  start(parts?: Parts, overrides?: Overrides): Promise<void>
  /** Stops what was started within this process. */
  stop(): Promise<void>
  /** Runs the `pillarbox` command in a process of its own; resolves once it says that it is ready. */
  startProcess(command: 'start' | 'api' | 'worker', env?: Record<string, string>): Promise<ProductProcess>
  /** Runs any script with the product's environment; `mayEnd`: resolves also where it ends before it is ready. */
  startScript(file: string, env: Record<string, string>, options: { mayEnd: boolean }): Promise<ProductProcess>
  /** Runs a script, or a command of the `pillarbox` command, that ends by itself; answers its exit and what it said. */
  runScript(args: readonly string[], env?: Record<string, string>): ProductProcess
  /** What the process that was started last has written so far, ready or not. */
  lastLog(): string
  /** As an ops key sees it. */
  ops(method: string, target: string, body?: unknown): Promise<Answer>
  tenant(options?: TenantOptions): Promise<TestTenant>
  /** The application that shares the product's database. Opened on first use, once the product has made its tables. */
  host(): Promise<HostApplication>
  /** As if so much time had passed; see the host's own. */
  timePasses(ms: number): Promise<void>
  /** What the sandbox took in place of vendors, in its own record, read past everything the product says about it. */
  sandboxMessages(): SandboxMessage[]
}

export interface TenantOptions {
  /** A ready-made catalogue by its name, or one in the form that callers send. */
  catalogue?: string | object
  settings?: object
  /** Channels that get a sandbox account. */
  channels?: readonly string[]
}

export interface SandboxMessage {
  notificationId: string
  attempt: number
  channel: string
  body: string
}

export interface WorldOptions {
  settings?: Readonly<Record<string, string>>
  /** A PostgreSQL of the test's own, instead of a fresh database on the server that all tests share. */
  databaseUrl?: string
}

export const BOTH: Parts = { api: true, worker: true }

/** A database and a data folder on which nothing runs yet. */
export async function openWorld(engine: EngineName, options: WorldOptions = {}): Promise<World> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-world-'))
  let database: FreshDatabase | null = null
  if (engine === 'postgres' && options.databaseUrl === undefined) database = await freshDatabase()
  const databaseUrl = options.databaseUrl ?? database?.url ?? `sqlite:${path.join(dataDir, 'pillarbox.db')}`
  const settings = {
    DATABASE_URL: databaseUrl,
    PILLARBOX_DATA_DIR: dataDir,
    PILLARBOX_PORT: '0',
    PILLARBOX_OPS_KEY: OPS_KEY,
    PILLARBOX_DEMO: 'false',
    // The vendors of tests are on the loopback interface.
    PILLARBOX_ALLOW_PRIVATE_ENDPOINTS: 'true',
    // What tests make due earlier is only seen by looking.
    PILLARBOX_POLL_MAX: 'PT0.1S',
    ...options.settings,
  }
  const processes = productProcesses(dataDir)
  const running: (() => Promise<void>)[] = []
  let url = ''
  let consoleLink = ''
  let tenants = 0
  let host: Promise<HostApplication> | null = null

  async function stop(): Promise<void> {
    await Promise.all(running.splice(0).map((stopOne) => stopOne()))
  }

  const world: World = {
    engine,
    dataDir,
    databaseUrl,
    settings,
    get url() {
      return url
    },
    get consoleLink() {
      return consoleLink
    },
    async start(parts = BOTH, overrides = {}) {
      const read = resolveConfig({ flags: {}, env: settings, file: null, cwd: dataDir })
      assert.ok('config' in read, JSON.stringify(read))
      const pillarbox = await createPillarbox(read.config, overrides)
      running.push(pillarbox.stop)
      const started = await pillarbox.start(parts)
      url = started.url ?? url
      consoleLink = started.consoleLink ?? consoleLink
    },
    stop,
    startProcess: (command, env = {}) => processes.start([CLI, command], { ...settings, ...env }),
    startScript: (file, env, { mayEnd }) => processes.start([file], { ...settings, ...env }, mayEnd),
    runScript: (args, env = {}) => processes.run(args, { ...settings, ...env }),
    lastLog: processes.lastLog,
    ops: (method, target, body) => request(url + target, { method, ...(body !== undefined && { body }) }),
    async tenant({ catalogue, settings: own = {}, channels = [] } = {}) {
      tenants += 1
      const name = typeof catalogue === 'string' ? catalogue : 'tenant'
      const id = `${name}-${tenants}`
      const made = await world.ops('POST', '/ops/tenants', { id, name, ...(catalogue && { catalogue }), ...own })
      assert.equal(made.status, 201, JSON.stringify(made.body))
      const tenant = tenantOf({ id, adminKey: (made.body['keys'] as { admin: string }).admin }, () => url)
      for (const channel of channels) await tenant.account({ channel, provider: 'sandbox', name: channel })
      return tenant
    },
    host: () => (host ??= openHost({ engine, databaseUrl })),
    timePasses: async (ms) => (await world.host()).timePasses(ms),
    sandboxMessages: () => readSandbox(path.join(dataDir, 'sandbox.db')),
    async [Symbol.asyncDispose]() {
      await stop()
      await processes[Symbol.asyncDispose]()
      await (await host)?.[Symbol.asyncDispose]()
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
  return world
}

/** A world in which API and worker run within this process. */
export async function startWorld(engine: EngineName, options: WorldOptions = {}): Promise<World> {
  const world = await openWorld(engine, options)
  await world.start()
  return world
}

/** Registers tests once for each store; each store's tests share what `open` opens. */
export function onEachStore<Opened extends AsyncDisposable>(
  name: string,
  open: (engine: EngineName) => Promise<Opened>,
  tests: (opened: () => Opened) => void,
): void {
  for (const engine of ENGINE_NAMES)
    describe(`${name}, on ${engine}`, () => {
      let opened: Opened | null = null
      before(async () => {
        opened = await open(engine)
      })
      after(() => opened?.[Symbol.asyncDispose]())
      tests(() => opened ?? assert.fail('the server did not start'))
    })
}

function readSandbox(file: string): SandboxMessage[] {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 30_000 })
  try {
    const rows = db.prepare('select notification_id, attempt, channel, body from message order by id').all()
    return rows.map((row) => ({
      notificationId: String(row['notification_id']),
      attempt: Number(row['attempt']),
      channel: String(row['channel']),
      body: String(row['body']),
    }))
  } finally {
    db.close()
  }
}

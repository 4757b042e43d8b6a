import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { engineSettings } from '../../packages/pillarbox/src/assembly.ts'
import { readyCatalogues } from '../../packages/pillarbox/src/catalogue/ready.ts'
import { createRegistry } from '../../packages/pillarbox/src/channels/registry.ts'
import { sandboxProvider } from '../../packages/pillarbox/src/channels/sandbox/provider.ts'
import { createSandboxVendor } from '../../packages/pillarbox/src/channels/sandbox/vendor.ts'
import { loadConfig } from '../../packages/pillarbox/src/config/load.ts'
import { createEngine } from '../../packages/pillarbox/src/engine.ts'
import { buildApp } from '../../packages/pillarbox/src/http/app.ts'
import { DEFAULT_HTTP_CONFIG } from '../../packages/pillarbox/src/http/context.ts'
import { createInboxFeed } from '../../packages/pillarbox/src/http/inbox-feed.ts'
import { noMeters, noTracing } from '../../packages/pillarbox/src/model/ports.ts'
import { openStore } from '../../packages/pillarbox/src/pillarbox.ts'
import { createSkipReport } from '../../packages/pillarbox/src/plan/skip-report.ts'
import { createIdSource } from '../../packages/pillarbox/src/runtime/ids.ts'
import { createLogger } from '../../packages/pillarbox/src/runtime/logger.ts'
import { createMetrics } from '../../packages/pillarbox/src/runtime/metrics.ts'
import { systemClock, systemRandom } from '../../packages/pillarbox/src/runtime/system.ts'
import { hashKey } from '../../packages/pillarbox/src/security/keys.ts'
import { createPayloadSeal } from '../../packages/pillarbox/src/security/payload-seal.ts'
import { createSeal } from '../../packages/pillarbox/src/security/seal.ts'
import { createTokenSeal } from '../../packages/pillarbox/src/security/token-seal.ts'
import { createTenantSnapshots } from '../../packages/pillarbox/src/tenant/snapshots.ts'
import { createUntrustedInProcess } from '../../packages/pillarbox/src/untrusted/untrusted.ts'
import {
  type KillPoint,
  type Note,
  providerUnderTest,
  type Reach,
  storeUnderTest,
  vendorUnderTest,
} from './kill-points.ts'

/**
 * API and worker in one process, made of the same parts as the product's own, which kills itself with SIGKILL when it
 * reaches the point named by CHAOS_KILL_AT (`claim.after:1` is the first time) and says so on its last line.
 */
const [killAt, nth] = (process.env['CHAOS_KILL_AT'] ?? '').split(':') as [KillPoint, string]
const answer = await loadConfig({ flags: {}, env: process.env, cwd: process.cwd(), clock: systemClock })
if ('problems' in answer) throw new Error(JSON.stringify(answer.problems))
const { config } = answer

const write = (text: string): void => void writeSync(1, text)
let hits = 0
const reach: Reach = (point) => {
  if (point !== killAt || ++hits !== Number(nth)) return
  write(`${JSON.stringify({ msg: 'killed', point })}\n`)
  process.kill(process.pid, 'SIGKILL')
  // The signal is on its way; nothing may happen meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}
const note: Note = (msg, notificationIds) => write(`${JSON.stringify({ msg, notificationIds })}\n`)

const clock = systemClock
const random = systemRandom()
const ids = createIdSource(clock, random)
const logger = createLogger({
  level: config.logLevel,
  clock,
  scrub: (text) => text,
  write,
  defer: setImmediate,
  style: 'json',
})
const vendor = vendorUnderTest(createSandboxVendor({ path: join(config.dataDir, 'sandbox.db'), clock }), reach)
const sandbox = providerUnderTest(sandboxProvider(vendor, { clock, random }), reach)
const registry = createRegistry([sandbox.provider])
const store = storeUnderTest(await openStore(config, logger), reach, note, sandbox.underWay)
await store.migrate()
const hash = hashKey(config.opsKey ?? '')
if (!(await store.keys.findByHash(hash)))
  await store.keys.insert(
    { id: ids(), tenantId: null, name: 'configured', role: 'ops', site: null, ratePerSecond: null, expiresAt: null },
    hash,
  )

const untrusted = createUntrustedInProcess()
const payloadSeal = createPayloadSeal(Buffer.alloc(32, 7))
const notPartOfThese = async (): Promise<never> => {
  throw new Error('not part of these tests')
}
const snapshots = createTenantSnapshots(store, clock, 1_000)
const engine = createEngine({
  store,
  snapshots,
  registry,
  receiptSources: new Map(),
  untrusted,
  // Each kill aims at the row that is being planned, often the only one: the guard would take the row for what ended the
  // process. What it does is shown by poisoned.test.ts and by the simulation.
  processes: null,
  openSecrets: () => ({}),
  payloadSeal,
  scrub: (text) => text,
  clock,
  random,
  ids,
  logger,
  settings: engineSettings(config),
})
const app = await buildApp({
  store,
  snapshots,
  ids,
  clock,
  logger,
  registry,
  seal: createSeal(Buffer.alloc(32)),
  nudge: (topic) => engine.hub.nudge(topic),
  metrics: createMetrics(),
  tracing: noTracing,
  nextTurn: setImmediate,
  untrusted,
  payloadSeal,
  tokens: createTokenSeal(Buffer.alloc(32)),
  replan: notPartOfThese,
  rewrite: { rerender: notPartOfThese, correct: notPartOfThese, repeat: notPartOfThese },
  resend: notPartOfThese,
  skips: createSkipReport({ logger, meters: noMeters }),
  readyMade: readyCatalogues,
  receiptSources: new Map(),
  inboxFeed: createInboxFeed({ inbox: store.inbox, wake: store.wake, clock, logger }),
  config: { ...DEFAULT_HTTP_CONFIG, workerTtlMs: config.workerTtlMs },
  version: 'under test',
})
const url = await app.listen({ host: config.host, port: config.port })
await engine.start()
logger.info({ url }, 'ready')

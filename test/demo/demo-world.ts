import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ensureBuilt } from '../../packages/console/ensure-built.ts'
import { type Config, resolveConfig } from '../../packages/pillarbox/src/config/config.ts'
import { createPillarbox } from '../../packages/pillarbox/src/pillarbox.ts'
import { demoApi } from './demo-api.ts'
import { createPastClock } from './past-clock.ts'
import { DAYS, liveThroughWeek } from './week.ts'

export interface DemoOptions {
  /** Where it lives; null: in a folder of its own, made now and removed when it is stopped. */
  dir: string | null
  port: number
  seed: number
  say: (line: string) => void
}

export interface DemoWorld {
  url: string
  /** Signs whoever opens it first in at the console. */
  link: string
  opsKey: string
  dir: string
  stop(): Promise<void>
}

/** How much faster than the real one the time of the past runs while something happens in it. */
const SPEED = 30
const DAY = 86_400_000

/** The product with a tenant that has a week behind it. A folder that has one already is only started. */
export async function startDemo({ dir: wanted, port, seed, say }: DemoOptions): Promise<DemoWorld> {
  await ensureBuilt(say)
  const dir = wanted ?? (await mkdtemp(path.join(tmpdir(), 'pillarbox-demo-')))
  const opsKey = `pbx_demo_${randomBytes(18).toString('base64url')}`
  if (!existsSync(path.join(dir, 'pillarbox.db'))) await seedWeek(dir, seed, say)
  const pillarbox = await createPillarbox(configOf(dir, port, opsKey))
  const { url, consoleLink } = await pillarbox.start({ api: true, worker: true, offersLink: true })
  const stop = async (): Promise<void> => {
    await pillarbox.stop()
    if (wanted === null) await rm(dir, { recursive: true, force: true })
  }
  return { url: url ?? '', link: consoleLink ?? '', opsKey, dir, stop }
}

async function seedWeek(dir: string, seed: number, say: (line: string) => void): Promise<void> {
  const startedAt = performance.now()
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000
  const clock = createPastClock(hour - DAYS * DAY, SPEED)
  const opsKey = `pbx_seed_${randomBytes(18).toString('base64url')}`
  say('A tenant lives through last week:')
  const pillarbox = await createPillarbox(configOf(dir, 0, opsKey), { clock })
  try {
    const { url } = await pillarbox.start({ api: true, worker: true })
    const api = demoApi(url ?? '', opsKey, clock.now)
    await liveThroughWeek({ api, clock, seed, end: hour, say })
  } finally {
    await pillarbox.stop()
  }
  say(`It took ${((performance.now() - startedAt) / 1_000).toFixed(0)} s.`)
}

function configOf(dir: string, port: number, opsKey: string): Config {
  const env = {
    DATABASE_URL: `sqlite:${path.join(dir, 'pillarbox.db')}`,
    PILLARBOX_DATA_DIR: dir,
    PILLARBOX_PORT: String(port),
    PILLARBOX_OPS_KEY: opsKey,
    PILLARBOX_DEMO: 'false',
    PILLARBOX_WORKER_TTL: 'PT1H',
    PILLARBOX_LOG_LEVEL: 'error',
  }
  const read = resolveConfig({ flags: {}, env, file: null, cwd: dir })
  if (!('config' in read)) throw new Error(JSON.stringify(read))
  return read.config
}

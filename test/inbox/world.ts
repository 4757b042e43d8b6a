import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { resolveConfig } from '../../packages/pillarbox/src/config/config.ts'
import { createPillarbox, type Pillarbox } from '../../packages/pillarbox/src/pillarbox.ts'
import { freshDatabase } from '../support/postgres/database.ts'

export const OPS_KEY = 'inbox-ops-key-0123456789'
const PATIENCE_MS = 20_000

/** Two processes on one database: one answers requests and streams, the other sends. */
export interface World {
  api: string
  close(): Promise<void>
}

export async function openWorld(engine: 'sqlite' | 'postgres'): Promise<World> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'pillarbox-inbox-'))
  const database = engine === 'postgres' ? await freshDatabase() : null
  const start = async (parts: {
    api: boolean
    worker: boolean
  }): Promise<{ url: string | null; pillarbox: Pillarbox }> => {
    const env = {
      PILLARBOX_PORT: '0',
      PILLARBOX_DATA_DIR: dataDir,
      PILLARBOX_OPS_KEY: OPS_KEY,
      PILLARBOX_DEMO: '0',
      PILLARBOX_INBOX_ORIGINS: 'https://shop.example.com',
      DATABASE_URL: database?.url ?? `sqlite:${path.join(dataDir, 'pillarbox.db')}`,
    }
    const read = resolveConfig({ flags: {}, env, file: null, cwd: dataDir })
    assert.ok('config' in read, JSON.stringify(read))
    const pillarbox = await createPillarbox(read.config)
    const { url } = await pillarbox.start(parts)
    return { url, pillarbox }
  }
  const api = await start({ api: true, worker: false })
  const worker = await start({ api: false, worker: true })
  assert.ok(api.url !== null)
  return {
    api: api.url,
    async close() {
      await Promise.all([api.pillarbox.stop(), worker.pillarbox.stop()])
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Asks until it is so. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    assert.ok(performance.now() < giveUpAt, 'waited in vain')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

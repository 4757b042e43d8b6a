import { join } from 'node:path'
import { SiteOutbox, type SiteOutboxOptions } from '@pillarbox/client'
import { ensureDataDir } from '../config/setup.ts'
import type { IdSource, Logger } from '../model/ports.ts'
import { buildLocalApi } from './local-api.ts'

export interface SiteAgentOptions
  extends Pick<SiteOutboxOptions, 'central' | 'key' | 'site' | 'maxItems' | 'maxBytes' | 'heartbeatMs'> {
  dataDir: string
  port: number
}

/** Nothing but this machine: whoever can call it can send. */
const HOST = '127.0.0.1'

/** The site agent: an outbox in the data folder, and the API by which scripts on this machine use it. */
export function createSiteAgent(options: SiteAgentOptions, { logger, ids }: { logger: Logger; ids: IdSource }) {
  const { dataDir, port, ...given } = options
  let outbox: SiteOutbox | null = null
  let app: ReturnType<typeof buildLocalApi> | null = null
  return {
    /** Answers where it listens. */
    async start(): Promise<string> {
      ensureDataDir(dataDir)
      const path = join(dataDir, `site-${given.site}.db`)
      outbox = new SiteOutbox({ ...given, path, onTrouble: (message) => logger.warn({ site: given.site }, message) })
      app = buildLocalApi({ outbox, ids, logger })
      return await app.listen({ host: HOST, port })
    },
    async stop(): Promise<void> {
      await app?.close()
      await outbox?.close()
    },
  }
}

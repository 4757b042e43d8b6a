import type { Config } from '../config/config.ts'
import type { Logger } from '../model/ports.ts'
import type { Parts, Started } from './engine.ts'

export interface AnnounceDeps {
  config: Config
  parts: Parts
  logger: Logger
  isTerminal: boolean
  write(text: string): void
  now(): number
}

/** Tells that it runs: a banner where a person is looking, a line otherwise. A new ops key is shown this once. */
export function announce(started: Started, deps: AnnounceDeps): void {
  const { config, parts, logger, write } = deps
  if (deps.isTerminal) {
    write(banner(started, deps))
    return
  }
  const { url } = started
  logger.info({ url, api: parts.api, worker: parts.worker, dataDir: config.dataDir, engine: engineOf(config) }, 'ready')
  if (!started.newOpsKey) return
  // Past the logger, which would take the key out.
  const line = {
    level: 'info',
    time: new Date(deps.now()).toISOString(),
    newOpsKey: started.newOpsKey,
    msg: 'NEW OPS KEY: keep it, it is shown only this once',
  }
  write(`${JSON.stringify(line)}\n`)
}

function banner({ url, newOpsKey, demoTenantId }: Started, { config, parts }: AnnounceDeps): string {
  const rows: [string, string][] = []
  if (url !== null) rows.push(['api', url], ['docs', `${url}/docs`])
  rows.push(['data', whereData(config)])
  if (parts.worker)
    rows.push(['sends', config.channels === null ? 'on every channel' : `on ${config.channels.join(', ')}`])
  if (newOpsKey) rows.push(['ops key', `${newOpsKey}   (new; keep it, it is shown only this once)`])
  const lines = rows.map(([name, value]) => `  ${name.padEnd(9)}${value}`)
  const title = parts.api ? 'Pillarbox is running.' : 'A Pillarbox worker is running.'
  const tried =
    url !== null && demoTenantId ? ['', '  Send the first event:', '', firstEvent(url, demoTenantId, newOpsKey)] : []
  return `\n  ${title} Ctrl-C stops it.\n\n${[...lines, ...tried].join('\n')}\n\n`
}

function firstEvent(url: string, tenantId: string, newOpsKey: string | null): string {
  const event = {
    type: 'booking.confirmed',
    entity: { type: 'booking', id: '1' },
    payload: { bookingId: 1, guestName: 'Ana', guestPhone: '+12025550100', guestEmail: 'ana@example.com' },
  }
  return [
    `  curl -X POST '${url}/api/events?tenantId=${tenantId}' \\`,
    `    -H "authorization: Bearer ${newOpsKey ?? '$PILLARBOX_OPS_KEY'}" \\`,
    `    -H 'content-type: application/json' \\`,
    `    -d '${JSON.stringify(event)}'`,
  ].join('\n')
}

function engineOf({ databaseUrl }: Config): 'sqlite' | 'postgres' {
  return databaseUrl.startsWith('sqlite:') ? 'sqlite' : 'postgres'
}

/** Names the database without the password that its URL may hold. */
function whereData(config: Config): string {
  if (engineOf(config) === 'sqlite') return `${config.databaseUrl.slice('sqlite:'.length)} (SQLite)`
  const { host, pathname } = new URL(config.databaseUrl)
  return `${host || 'local socket'}${pathname} (PostgreSQL), ${config.dataDir}`
}

import type { Config } from '../config/config.ts'
import type { Logger } from '../model/ports.ts'
import type { Parts, Started } from './engine.ts'
import { keepOpsKey } from './ops-key.ts'

export interface AnnounceDeps {
  config: Config
  parts: Parts
  logger: Logger
  isTerminal: boolean
  write(text: string): void
}

/**
 * Tells that it runs: a banner where a person is looking, with a new ops key this once; a line otherwise, and a new ops key
 * in a file that the line names.
 */
export function announce(started: Started, deps: AnnounceDeps): void {
  const { config, parts, logger, write } = deps
  if (deps.isTerminal) {
    write(banner(started, deps))
    return
  }
  const { url, metricsUrl } = started
  const where = { url, ...(metricsUrl !== null && { metricsUrl }) }
  const running = { ...where, api: parts.api, worker: parts.worker, dataDir: config.dataDir, engine: engineOf(config) }
  logger.info(running, 'ready')
  if (!started.newOpsKey) return
  try {
    const file = keepOpsKey(config.dataDir, started.newOpsKey)
    logger.info({ file }, 'a new ops key is in this file: move it to where you keep secrets')
  } catch (error) {
    logger.error(
      { error },
      'a new ops key could not be written to the data folder: make another with "pillarbox keys ops"',
    )
  }
}

function banner(
  { url, metricsUrl, newOpsKey, demoTenantId, consoleLink }: Started,
  { config, parts }: AnnounceDeps,
): string {
  const rows: [string, string][] = []
  if (consoleLink !== null) rows.push(['console', `${consoleLink}   (opens once, within 15 minutes)`])
  if (url !== null) rows.push(['api', url], ['docs', `${url}/docs`])
  if (metricsUrl !== null) rows.push(['metrics', `${metricsUrl}/metrics`])
  rows.push(['data', whereData(config)])
  if (parts.worker)
    rows.push(['sends', config.channels === null ? 'on every channel' : `on ${config.channels.join(', ')}`])
  if (newOpsKey) rows.push(['ops key', `${newOpsKey.key}   (new; keep it, it is shown only this once)`])
  const lines = rows.map(([name, value]) => `  ${name.padEnd(9)}${value}`)
  const title = parts.api ? 'Pillarbox is running.' : 'A Pillarbox worker is running.'
  const invitation = newOpsKey
    ? 'Send an event, as often as you like:'
    : 'Send an event, with the ops key of the first start or a new one (pillarbox keys ops):'
  const tried =
    url !== null && demoTenantId ? ['', `  ${invitation}`, '', sampleCall(url, demoTenantId, newOpsKey)] : []
  return `\n  ${title} Ctrl-C stops it.\n\n${[...lines, ...tried].join('\n')}\n\n`
}

function sampleCall(url: string, tenantId: string, newOpsKey: Started['newOpsKey']): string {
  const event = {
    type: 'booking.confirmed',
    entity: { type: 'booking', id: '1' },
    payload: { bookingId: 1, guestName: 'Ana', guestPhone: '+12025550100', guestEmail: 'ana@example.com' },
  }
  return [
    `  curl -X POST '${url}/api/events?tenantId=${tenantId}' \\`,
    `    -H "authorization: Bearer ${newOpsKey?.key ?? '$PILLARBOX_OPS_KEY'}" \\`,
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

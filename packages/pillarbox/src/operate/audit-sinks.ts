import { open } from 'node:fs/promises'
import type { Outbound } from '../channels/outbound.ts'
import { signedHeaders } from '../channels/webhook/signature.ts'
import type { AuditEntry } from '../model/audit.ts'
import type { Clock } from '../model/ports.ts'
import type { AuditSink } from './audit-sink.ts'
import type { DeliverableLink } from './audit-store.ts'

/** Entries in one request: small enough for whatever receives it. */
const ENTRIES_OF_REQUEST = 100

/** What a link and its entries look like outside: times in words, nothing that is null. */
function entryJson(entry: AuditEntry): Record<string, unknown> {
  const present = Object.entries(entry).filter(([, value]) => value !== null)
  return { ...Object.fromEntries(present), at: new Date(entry.at).toISOString() }
}

function linkJson({ tenantId, number, fromId, toId, rowCount, hash }: DeliverableLink): Record<string, unknown> {
  return { tenantId: tenantId || null, number, fromId, toId, rows: rowCount, hash }
}

/** Appends JSON lines: each entry, and behind those of a link the link with its hash. */
export function fileSink(path: string): AuditSink {
  return {
    name: `file:${path}`,
    async deliver(link) {
      const lines = [
        ...link.entries.map((entry) => JSON.stringify({ type: 'audit.entry', ...entryJson(entry) })),
        JSON.stringify({ type: 'audit.link', ...linkJson(link) }),
      ]
      const file = await open(path, 'a', 0o600)
      try {
        await file.writeFile(`${lines.join('\n')}\n`)
        // Only what is on the disk counts as delivered.
        await file.sync()
      } finally {
        await file.close()
      }
    },
  }
}

/** Posts to an endpoint, signed as our own webhooks are. A repeat has the same `webhook-id`. */
export function webhookSink({ outbound, clock, url, secret }: WebhookSinkDeps): AuditSink {
  async function post(id: string, data: object, signal: AbortSignal): Promise<void> {
    const body = JSON.stringify({ type: 'audit.linked', timestamp: new Date(clock.now()).toISOString(), data })
    const headers = signedHeaders(secret, { id, body, now: clock.now() })
    if (headers === null) throw new Error('PILLARBOX_AUDIT_SINK_SECRET must be whsec_ and base64 of 24 to 64 bytes')
    const answer = await outbound.request({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...headers },
      body,
      signal,
    })
    if (answer.kind === 'failure') throw new Error(`${answer.code}: ${answer.error}`)
    if (answer.status < 200 || answer.status >= 300) throw new Error(`answered ${answer.status}`)
  }
  return {
    name: new URL(url).origin,
    async deliver(link, signal) {
      const parts = Math.max(1, Math.ceil(link.entries.length / ENTRIES_OF_REQUEST))
      for (let part = 0; part < parts; part += 1) {
        const entries = link.entries.slice(part * ENTRIES_OF_REQUEST, (part + 1) * ENTRIES_OF_REQUEST)
        const data = { link: linkJson(link), part: part + 1, parts, entries: entries.map(entryJson) }
        await post(`audit_${link.id}_${part + 1}`, data, signal)
      }
    },
  }
}

export interface WebhookSinkDeps {
  outbound: Pick<Outbound, 'request'>
  clock: Clock
  url: string
  /** `whsec_…`; several, separated by spaces, while one is changed for another. */
  secret: string
}

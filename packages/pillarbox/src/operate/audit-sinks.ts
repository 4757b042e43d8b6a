import { open } from 'node:fs/promises'
import type { AuditEntry } from '../model/audit.ts'
import type { AuditSink } from './audit-sink.ts'
import type { DeliverableLink } from './audit-store.ts'
import { postSigned, type SignedEndpoint } from './signed-post.ts'

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
export function webhookSink(endpoint: SignedEndpoint): AuditSink {
  const setting = 'PILLARBOX_AUDIT_SINK_SECRET'
  return {
    name: new URL(endpoint.url).origin,
    async deliver(link, signal) {
      const parts = Math.max(1, Math.ceil(link.entries.length / ENTRIES_OF_REQUEST))
      for (let part = 0; part < parts; part += 1) {
        const entries = link.entries.slice(part * ENTRIES_OF_REQUEST, (part + 1) * ENTRIES_OF_REQUEST)
        const data = { link: linkJson(link), part: part + 1, parts, entries: entries.map(entryJson) }
        await postSigned(endpoint, { id: `audit_${link.id}_${part + 1}`, type: 'audit.linked', data, setting, signal })
      }
    },
  }
}

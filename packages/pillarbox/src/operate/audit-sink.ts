import { errorText } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { AuditStore, DeliverableLink } from './audit-store.ts'

/** Where the audit is copied to, outside of the database. */
export interface AuditSink {
  /** For the log; no secrets. */
  readonly name: string
  /** Takes a link with its entries, whole; rejects where it could not. May be given the same link again. */
  deliver(link: DeliverableLink, signal: AbortSignal): Promise<void>
}

export interface AuditFeederDeps extends ChoreDeps {
  store: { audit: Pick<AuditStore, 'sink'> }
  sink: AuditSink
  ids: IdSource
  /** What an error may show to those who read it. */
  scrub(text: string): string
}

/** Long enough for a delivery that takes its time; a feeder that died is replaced after it. */
const LEASE_MS = 120_000
const LINKS_AT_A_TIME = 5

/**
 * Feeds an external sink, link by link, in order, from where it came to: each at least once. Of several workers one feeds
 * it. Its trouble is logged and shown by /health, and holds up nothing and nobody.
 */
export function runAuditFeeder(deps: AuditFeederDeps, stop: AbortSignal): Promise<void> {
  const { sink, scrub, logger } = deps
  const { sink: position } = deps.store.audit
  const holder = deps.ids()
  const work = async (): Promise<boolean> => {
    const taken = await position.take(holder, LEASE_MS)
    if (!taken) return false
    const links = await position.next(taken.position, LINKS_AT_A_TIME)
    for (const link of links) {
      if (stop.aborted) return false
      try {
        await sink.deliver(link, stop)
      } catch (error) {
        if (stop.aborted) return false
        const text = scrub(errorText(error))
        await position.fail(holder, text)
        throw new Error(`${sink.name}: ${text}`)
      }
      // Somebody else has taken over meanwhile: they deliver from where the position stands.
      if (!(await position.advance(holder, link.id))) return false
      logger.debug({ sink: sink.name, tenantId: link.tenantId, link: link.number }, 'audit delivered')
    }
    return links.length === LINKS_AT_A_TIME
  }
  return runChore(deps, { work, trouble: 'the audit sink could not be fed' }, stop)
}

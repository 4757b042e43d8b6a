import type { RetentionStore } from '../../operate/retention-store.ts'
import { textOrNull } from './fields.ts'
import { purgeEvents } from './purge-events.ts'
import { purgeNotifications } from './purge-notifications.ts'
import { purgeAudit, purgeCallbacks, purgeCancellations, purgeConversations, purgeOperations } from './purge-others.ts'
import { row, type Script, type ScriptRunner } from './script.ts'
import { turnsAt } from './turns.ts'

/** The turn of whoever purges. */
export const PURGE_TURN = 'purge'

/**
 * Removing what is over. Each stretch is read first, and only what may go is locked, judged again and removed, in one short
 * transaction: what is kept costs a look and no write, and nobody waits for the purger.
 */
export function sharedRetention(run: ScriptRunner): RetentionStore {
  return {
    ...turnsAt(run, PURGE_TURN),
    nextTenant: (after) => run.read(() => nextTenant(after)),
    purge: (step, stretch) => TENANT_PURGES[step](run, stretch),
    purgeCommon: (step, stretch) => (step === 'audit' ? purgeAudit : purgeCallbacks)(run, stretch),
  }
}

const TENANT_PURGES = {
  notifications: purgeNotifications,
  events: purgeEvents,
  conversations: purgeConversations,
  cancellations: purgeCancellations,
  operations: purgeOperations,
} as const

function* nextTenant(after: string): Script<string | null> {
  const found = yield* row(
    `select min(id) as id from (select min(id) as id from pillarbox.tenants where id > :after
      union all select min(tenant_id) as id from pillarbox.events where tenant_id > :after) as named`,
    { after },
  )
  return textOrNull(found?.['id'])
}

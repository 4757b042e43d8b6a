import type { Store } from '../store.ts'
import { sharedAccounts } from './accounts.ts'
import { sharedAlerts } from './alerts.ts'
import { sharedAudit } from './audit-log.ts'
import { sharedCatalogue } from './catalogue.ts'
import { sharedClearTokens } from './clear-tokens.ts'
import { sharedDue } from './due.ts'
import { sharedInstance } from './instance.ts'
import { sharedKeys } from './keys.ts'
import { sharedLanes } from './lanes.ts'
import { sharedLists } from './lists.ts'
import { sharedOperations } from './operations.ts'
import { sharedPeople } from './people.ts'
import { sharedRetention } from './purge.ts'
import { sharedScans } from './scans.ts'
import { sharedSchedules } from './schedules.ts'
import type { ScriptRunner } from './script.ts'
import { sharedSealed } from './sealed.ts'
import { sharedSessions } from './sessions.ts'
import { sharedSuppressions } from './suppressions.ts'
import { sharedTemplates } from './templates.ts'
import { sharedTenants } from './tenants.ts'
import { sharedWorkers } from './workers.ts'

/** Who runs the scripts of a store: on PostgreSQL each role has connections of its own, on SQLite all are the same. */
export interface Runners {
  /** What people do and look at by hand. */
  admin: ScriptRunner
  /** What planning waits for. */
  planning: ScriptRunner
  /** What provider calls wait for. */
  dispatching: ScriptRunner
  /** Lanes and workers. */
  control: ScriptRunner
  beats: ScriptRunner
  /** What goes through old rows, in its own time. */
  retention: ScriptRunner
}

/** The parts of a store that are the same on both engines, but for who runs them. */
export function sharedParts({ admin, planning, dispatching, control, beats, retention }: Runners) {
  return {
    suppressions: sharedSuppressions(admin, { dispatching }),
    lanes: sharedLanes(control),
    workers: sharedWorkers(control, beats),
    tenants: sharedTenants(admin),
    keys: sharedKeys(admin),
    sessions: sharedSessions(admin),
    accounts: sharedAccounts(admin),
    catalogue: sharedCatalogue(admin),
    templates: sharedTemplates(admin),
    people: sharedPeople(admin, { planning }),
    lists: sharedLists(admin, { planning }),
    schedules: sharedSchedules(admin),
    due: sharedDue(admin),
    instance: sharedInstance(admin),
    operations: sharedOperations(admin),
    sealed: sharedSealed(admin),
    clearTokens: sharedClearTokens(admin),
    audit: sharedAudit(admin),
    retention: sharedRetention(retention),
    scans: sharedScans(admin),
    alerts: sharedAlerts(admin),
  } satisfies Partial<Store>
}

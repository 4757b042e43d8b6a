import type { InboxStore } from '../channels/in_app/inbox-store.ts'
import type { DispatchStore } from '../dispatch/dispatch-store.ts'
import type { LaneStore } from '../dispatch/lane-store.ts'
import type { SuppressionStore } from '../dispatch/suppression-store.ts'
import type { WorkerStore } from '../dispatch/worker-store.ts'
import type { SiteStore } from '../intake/site-store.ts'
import type { AlertStore } from '../operate/alert-store.ts'
import type { AuditStore } from '../operate/audit-store.ts'
import type { ClearTokenStore } from '../operate/clear-token-store.ts'
import type { DueStore } from '../operate/due-store.ts'
import type { InstanceStore } from '../operate/instance-store.ts'
import type { KeyStore } from '../operate/key-store.ts'
import type { OperationStore } from '../operate/operation-store.ts'
import type { PersonalStore } from '../operate/personal-store.ts'
import type { RetentionStore } from '../operate/retention-store.ts'
import type { RollupStore } from '../operate/rollup-store.ts'
import type { ScanStore } from '../operate/scan-store.ts'
import type { ScheduleStore } from '../operate/schedule-store.ts'
import type { SealedStore } from '../operate/sealed-store.ts'
import type { SessionStore } from '../operate/session-store.ts'
import type { EventStore } from '../plan/event-store.ts'
import type { ListStore } from '../plan/list-store.ts'
import type { NotificationStore } from '../plan/notification-store.ts'
import type { PeopleStore } from '../plan/people-store.ts'
import type { PlanStore } from '../plan/plan-store.ts'
import type { ReceiptStore } from '../receipts/receipt-store.ts'
import type { WakeStore } from '../runtime/wake-store.ts'
import type { AccountStore } from '../tenant/account-store.ts'
import type { CatalogueStore } from '../tenant/catalogue-store.ts'
import type { TemplateStore } from '../tenant/template-store.ts'
import type { TenantStore } from '../tenant/tenant-store.ts'

/**
 * The store contract. SQLite and PostgreSQL stand behind it and pass one conformance suite (`test/conformance`).
 *
 * Promises every method keeps:
 * - It resolves only after its commit. If it rejects with `store_unavailable`, the commit may or may not have happened.
 * - It is one transaction: all of it happens or nothing.
 * - Instants are milliseconds since 1970. What is due, expired or silent is judged by the store's own clock (on
 *   PostgreSQL the database's, on SQLite the injected one), so callers pass durations, not deadlines.
 * - A tenant's id is the first filter of everything that reads or changes a tenant's rows.
 */
export interface Store {
  readonly engine: 'postgres' | 'sqlite'
  /** Brings the schema to this version's. Safe when several processes do it at once; refuses a newer schema. */
  migrate(): Promise<{ from: number; to: number }>
  /** The schema version found, and the one this code wants. */
  schema(): Promise<{ found: number; wanted: number }>
  /** The store's own time; rejects when it cannot be reached. */
  now(): Promise<number>
  /** Calls of this process that hold a connection or wait for one, by what the connection is for. */
  load(): ReadonlyMap<string, number>
  readonly events: EventStore
  readonly plan: PlanStore
  readonly notifications: NotificationStore
  readonly dispatch: DispatchStore
  readonly receipts: ReceiptStore
  readonly suppressions: SuppressionStore
  readonly inbox: InboxStore
  readonly lanes: LaneStore
  readonly workers: WorkerStore
  readonly tenants: TenantStore
  readonly keys: KeyStore
  readonly sessions: SessionStore
  readonly accounts: AccountStore
  readonly catalogue: CatalogueStore
  readonly templates: TemplateStore
  readonly people: PeopleStore
  readonly lists: ListStore
  readonly schedules: ScheduleStore
  readonly operations: OperationStore
  readonly due: DueStore
  readonly instance: InstanceStore
  readonly sealed: SealedStore
  readonly clearTokens: ClearTokenStore
  readonly audit: AuditStore
  readonly rollups: RollupStore
  readonly retention: RetentionStore
  readonly scans: ScanStore
  readonly alerts: AlertStore
  readonly sites: SiteStore
  readonly personal: PersonalStore
  readonly wake: WakeStore
  close(): Promise<void>
}

export { type BetterSqlite3Database, fromBetterSqlite3 } from './adapters/better-sqlite3.ts'
export {
  type DrizzlePostgresTransaction,
  type DrizzleSqliteTransaction,
  type DrizzleSqlTag,
  fromDrizzle,
} from './adapters/drizzle.ts'
export { fromKnex, type KnexTransaction } from './adapters/knex.ts'
export { fromKysely, type KyselyCompiledQuery, type KyselyTransaction } from './adapters/kysely.ts'
export { fromNodeSqlite, type NodeSqliteDatabase } from './adapters/node-sqlite.ts'
export { fromPg, type PgClient, type PgOptions } from './adapters/pg.ts'
export { fromPostgresJs, type PostgresJsSql } from './adapters/postgres-js.ts'
export { fromPrisma, type PrismaTransaction } from './adapters/prisma.ts'
export {
  fromTypeOrm,
  type TypeOrmDataSource,
  type TypeOrmEntityManager,
  type TypeOrmQueryRunner,
  type TypeOrmSource,
} from './adapters/typeorm.ts'
export { InvalidEventError } from './check-event.ts'
export type { AnyEventTypes, EntityRef, EventBody, EventTypes, Instant, NewEvent, Recipient } from './event.ts'
export type { Channel } from './event-rules.ts'
export type { Page, PageOptions } from './http/calls.ts'
export type { StreamOptions } from './http/event-stream.ts'
export type { Inbox, InboxEvent } from './http/inbox.ts'
export type { Contacts, RecipientLists } from './http/people.ts'
export {
  type NotificationFilter,
  PillarboxClient,
  type PillarboxClientOptions,
  type RequestOptions,
} from './http/pillarbox-client.ts'
export { PillarboxConnectionError, PillarboxHttpError, type ProblemDocument } from './http/problem.ts'
export type { ScheduleFilter, Schedules } from './http/schedules.ts'
export type { Suppressions } from './http/suppressions.ts'
export type { TemplateFilter, Templates } from './http/templates.ts'
export type { CallOptions, TransportOptions } from './http/transport.ts'
export type * from './http/wire.ts'
export type { Problem } from './json-text.ts'
export { type NudgeConnection, nudge } from './nudge.ts'
export {
  type Published,
  type PublishOptions,
  publish,
  publishMany,
  publishManySync,
  publishSync,
} from './publish.ts'
export { SealError, type Sealed, type SealOptions, sealWith } from './seal.ts'
export { type BufferTotals, type RefusedNotification, SiteBufferFullError } from './site/buffer.ts'
export {
  InvalidSiteNotificationError,
  type SiteNotification,
  type SiteRecipient,
} from './site/site-notification.ts'
export {
  type SentAtSite,
  type SiteHealth,
  type SiteNotificationStatus,
  SiteOutbox,
  type SiteOutboxOptions,
  type SiteSources,
} from './site/site-outbox.ts'
export { NotInTransactionError, type Parameter, type SyncTransaction, type Transaction } from './transaction.ts'

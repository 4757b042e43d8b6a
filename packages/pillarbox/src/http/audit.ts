import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import type { AuditEntry } from '../model/audit.ts'
import type { AuditFilter } from '../operate/audit-store.ts'
import { verifyChain } from '../operate/verify-audit.ts'
import { OPS_ONLY, scopeOf, TO_OPERATE, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { isViewer, withoutPeople } from './masking.ts'
import { AUDIT_FIELDS } from './notification-json.ts'
import { operationsOf } from './operation.ts'
import { Exactly, instantsMs, MadeBetween, PageSchema, Paging, pageJson, TextOrNull, withTimes } from './schemas.ts'

const Facts = Nullable(Type.Record(Type.String(), Type.Unknown()))

const AuditEntryJson = Type.Object(
  {
    id: Type.String({ description: 'In the order in which entries were written.' }),
    tenantId: TextOrNull,
    ...AUDIT_FIELDS,
    subject: Nullable(
      Type.String({ description: 'What it is about where that is no notification, such as account:<id>.' }),
    ),
    before: Facts,
    after: Facts,
  },
  { title: 'AuditEntry' },
)

const Filters = {
  actor: Exactly(200, 'Only what this actor did: system, cli or key:<name>.'),
  action: Exactly(60, 'Only this verb, such as send, park, retry, create or revoke.'),
  notificationId: Exactly(100, 'Only what was done to this notification.'),
  subject: Exactly(300, 'Only what was done to this, such as key:<id>, account:<id> or contact:<id>.'),
  ...MadeBetween,
  ...Paging,
}

const DESCRIPTION =
  'One entry for each attempt with its duration, for each transition, each act of an operator and each change of configuration. A page looks at 10,000 rows at most: it may have fewer entries than asked for, or none, and still a nextCursor.'

// What a viewer does not see is masked below: the subject is no mail’s.
const shared = { isConfiguration: true }
const operation = operationsOf('Operations', 'one', shared)
const opsOperation = operationsOf('Operations', 'any', shared)

/** What one answer reads of a chain; `pillarbox audit verify` reads all of it. */
const MOST_VERIFIED = 50_000

const ChainJson = Type.Object(
  {
    isWhole: Type.Boolean({ description: 'False: the chain is longer than one answer reads.' }),
    rows: Type.Integer({ description: 'Rows that were compared with what was chained of them.' }),
    links: Type.Integer({ description: 'Links that were read.' }),
    purged: Type.Integer({ description: 'Rows that retention has removed, on record.' }),
    unchained: Type.Integer({ description: 'Rows that came after the last link; a thousand stands for any more.' }),
    head: Nullable(Type.String({ description: 'The hash of the last link that was read, to be kept elsewhere.' })),
    fault: Nullable(
      Type.Object({
        kind: Type.String(),
        link: Type.Integer(),
        rowId: Nullable(Type.Integer()),
        message: Type.String(),
      }),
    ),
  },
  { title: 'AuditChain' },
)

/** `/api/audit` for a tenant's own people, `/ops/audit` over all tenants. */
export function auditRoutes(app: App, { store }: Context): void {
  const list = async (
    request: FastifyRequest,
    tenantId: string | null,
    { from, to, ...query }: AuditQuery,
  ): Promise<Static<typeof AuditPageJson>> => {
    const filter: AuditFilter = { ...query, ...instantsMs({ from, to }), ...(tenantId !== null && { tenantId }) }
    return pageJson(await store.audit.list(filter, query), (entry) => entryJson(entry, isViewer(request)))
  }

  app.get(
    '/api/audit',
    operation(TO_READ, 'What was done, by whom and why, newest first', {
      operationId: 'listAudit',
      description: `${DESCRIPTION} A viewer sees notes and what names a person masked.`,
      query: Filters,
      response: { 200: AuditPageJson },
    }),
    (request) => list(request, request.tenantId, request.query),
  )

  app.get(
    '/api/audit/chain',
    operation(TO_OPERATE, 'Whether the audit is as it was written', {
      operationId: 'verifyAudit',
      description: `Reads the tenant’s chain from its first link and compares each row with what was chained of it, ${MOST_VERIFIED} rows at most.`,
      response: { 200: ChainJson },
    }),
    async ({ tenantId }) => {
      const { head, firstLink, fault, ...found } = await verifyChain(store.audit, tenantId, { mostRows: MOST_VERIFIED })
      return { ...found, fault, links: head === null ? 0 : head.number - firstLink + 1, head: head?.hash ?? null }
    },
  )

  app.get(
    '/ops/audit',
    opsOperation(OPS_ONLY, 'What was done in all tenants, newest first', {
      operationId: 'listAuditOfAllTenants',
      description: DESCRIPTION,
      query: Filters,
      response: { 200: AuditPageJson },
    }),
    (request) => list(request, scopeOf(request), request.query),
  )
}

const AuditPageJson = PageSchema(AuditEntryJson)

type AuditQuery = Omit<AuditFilter, 'from' | 'to' | 'tenantId'> & {
  from?: string
  to?: string
  limit: number
  cursor?: string
}

function entryJson(entry: AuditEntry, isMasked: boolean): Static<typeof AuditEntryJson> {
  const shown = withTimes(entry, 'at')
  if (!isMasked) return shown
  return { ...(withoutPeople(shown) as typeof shown), subject: shown.subject }
}

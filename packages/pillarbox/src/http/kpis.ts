import { type Static, Type } from 'typebox'
import { instantMs, Nullable } from '../intake/body-fields.ts'
import { parseDuration } from '../model/duration.ts'
import { PillarboxError } from '../model/errors.ts'
import { DIMENSIONS } from '../model/rollup.ts'
import {
  KPI_COUNTS,
  type KpiDimension,
  type KpiNumbers,
  type KpiRequest,
  type KpiStep,
  type Kpis,
  readKpis,
} from '../operate/kpis.ts'
import { OPS_ONLY, scopeOf, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { iso, Time } from './schemas.ts'

const Count = Nullable(Type.Integer())
const PercentilesJson = Type.Object({ p50: Count, p95: Count, p99: Count })
const LatencyJson = Type.Object(
  { eventToSent: PercentilesJson, sentToDelivered: PercentilesJson },
  { description: 'In milliseconds: of the range, or else of the last interval. Null where nothing was measured.' },
)
const CountsJson = Type.Object(
  {
    ...(Object.fromEntries(KPI_COUNTS.map((name) => [name, Type.Integer()])) as Record<
      (typeof KPI_COUNTS)[number],
      ReturnType<typeof Type.Integer>
    >),
    sentPerSecond: Type.Number(),
  },
  { description: 'What happened in the range, or in the step.' },
)
const StepJson = Type.Object({ at: Time, counts: CountsJson, latency: LatencyJson })

const NUMBERS = {
  queueDepth: Type.Unsafe<number | null>({ ...Count, description: 'Due, and waiting or being sent.' }),
  scheduledDepth: Type.Unsafe<number | null>({ ...Count, description: 'Not due yet.' }),
  stuckCount: Type.Unsafe<number | null>({ ...Count, description: 'Due for longer than PILLARBOX_STUCK_AFTER.' }),
  parkedCount: Count,
  uncertainCount: Count,
  skippedCount: Count,
  sentLastInterval: Type.Unsafe<number | null>({
    ...Count,
    description: 'In the last PILLARBOX_KPI_WINDOW; so the others.',
  }),
  deliveredLastInterval: Count,
  skippedLastInterval: Count,
  parkedLastInterval: Count,
  failedLastInterval: Count,
  oldestPendingAgeSeconds: Type.Unsafe<number | null>({ ...Count, description: 'Null where nothing is due.' }),
  latency: LatencyJson,
  counts: Type.Optional(CountsJson),
  series: Type.Optional(Type.Array(StepJson)),
}
const NumbersJson = Type.Object(NUMBERS)

const GroupValue = Type.Optional(Nullable(Type.String({ description: 'Null: those without.' })))
const KpisJson = Type.Object({
  at: Type.Unsafe<string>({ ...Time, description: 'As of when.' }),
  range: Type.Optional(Type.Object({ from: Time, to: Time })),
  total: NumbersJson,
  groups: Type.Optional(
    Type.Array(
      Type.Object({
        tenantId: GroupValue,
        channel: GroupValue,
        accountId: GroupValue,
        eventType: GroupValue,
        site: GroupValue,
        ...NUMBERS,
      }),
      { description: 'With `by`: one for each value that has something, under the name of `by`.' },
    ),
  ),
})

const RANGE = {
  from: Type.Optional(Type.String({ format: 'date-time', description: 'What happened from this time on.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'What happened before this time.' })),
  step: Type.Optional(
    Type.String({ maxLength: 40, description: 'An ISO 8601 duration in whole minutes: asks for a series.' }),
  ),
}
const SPLIT = { description: 'Also the numbers of each value of this, as groups.' }
const OWN_DIMENSIONS = DIMENSIONS.filter((each) => each !== 'total' && each !== 'tenantId')
const ALL_DIMENSIONS = DIMENSIONS.filter((each) => each !== 'total')

const ABOUT =
  'From sums that are kept, exact to the second. With `from`, `to` or `step` also what happened then: at most 90 days, in whole minutes for the last two days and in whole hours before.'

/** How much waits, how much was sent and how long it took: of a tenant for its own people, of all for ops. */
export function kpiRoutes(app: App, context: Context): void {
  const own = operationsOf('Operations')
  app.get(
    '/api/kpis',
    own(TO_READ, 'Numbers of the tenant: what waits, what was sent, how long it took', {
      operationId: 'readKpis',
      description: ABOUT,
      query: { ...RANGE, by: Type.Optional(Type.Enum([...OWN_DIMENSIONS], SPLIT)) },
      response: { 200: KpisJson },
    }),
    async (request) => {
      const { tenantId } = request
      return kpisJson(await readKpis(context, { tenantId, ...rangeOf(request.query) }), request.query.by)
    },
  )

  const all = operationsOf('Operations', 'any')
  app.get(
    '/ops/kpis',
    all(OPS_ONLY, 'Numbers of all tenants together, or of one', {
      operationId: 'readAllKpis',
      description: ABOUT,
      query: { ...RANGE, by: Type.Optional(Type.Enum([...ALL_DIMENSIONS], SPLIT)) },
      response: { 200: KpisJson },
    }),
    async (request) => {
      const tenantId = scopeOf(request)
      const { by } = request.query
      if (tenantId !== null && by === 'tenantId')
        throw refusedQuery('by', 'must be another one where a tenant is named: it is only one')
      return kpisJson(await readKpis(context, { tenantId, ...rangeOf(request.query) }), by)
    },
  )
}

interface RangeQuery {
  from?: string
  to?: string
  step?: string
  by?: KpiDimension
}

function rangeOf({ from, to, step, by }: RangeQuery): Omit<KpiRequest, 'tenantId'> {
  const [fromMs, toMs] = [instantMs(from), instantMs(to)]
  const stepMs = step === undefined ? undefined : parseDuration(step)
  if (stepMs === null) throw refusedQuery('step', 'must be an ISO 8601 duration in whole minutes, such as PT5M')
  return {
    ...(fromMs !== null && { from: fromMs }),
    ...(toMs !== null && { to: toMs }),
    ...(stepMs !== undefined && { stepMs }),
    ...(by && { by }),
  }
}

function refusedQuery(path: string, message: string): PillarboxError {
  return new PillarboxError('invalid_query', `The query parameter ${path} ${message}.`, { errors: [{ path, message }] })
}

function kpisJson({ at, range, total, groups }: Kpis, by: KpiDimension | undefined): Static<typeof KpisJson> {
  return {
    at: iso(at),
    ...(range && { range: { from: iso(range.from), to: iso(range.to) } }),
    total: numbersJson(total),
    ...(by && groups && { groups: groups.map(({ value, ...numbers }) => ({ [by]: value, ...numbersJson(numbers) })) }),
  }
}

function numbersJson({ counts, series, ...numbers }: KpiNumbers): Static<typeof NumbersJson> {
  return { ...numbers, ...(counts && { counts }), ...(series && { series: series.map(stepJson) }) }
}

function stepJson({ at, ...step }: KpiStep): Static<typeof StepJson> {
  return { at: iso(at), ...step }
}

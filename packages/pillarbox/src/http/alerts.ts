import { type Static, Type } from 'typebox'
import { Nullable } from '../intake/body-fields.ts'
import { ALERT_RULES, ALERT_STATUSES, ALERT_SUBJECTS, type Alert } from '../model/alert.ts'
import { found } from '../model/errors.ts'
import { ADVICE } from '../operate/alert-words.ts'
import { OPS_ONLY, scopeOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  Id,
  idParameter,
  Note,
  PageSchema,
  Paging,
  pageJson,
  TextOrNull,
  Time,
  TimeOrNull,
  withTimes,
} from './schemas.ts'

const AlertJson = Type.Object(
  {
    id: Id,
    rule: Type.Enum([...ALERT_RULES]),
    status: Type.Enum([...ALERT_STATUSES]),
    subject: Type.Enum([...ALERT_SUBJECTS], { description: 'What it is about.' }),
    subjectId: TextOrNull,
    tenantId: Nullable(Type.String({ description: 'Whose tenant, account or operation it is about.' })),
    summary: Type.String({ description: 'What is wrong.' }),
    advice: Type.String({ description: 'What to do about it.' }),
    value: Type.Number({ description: 'What raised it: a count, milliseconds or percent, by the rule.' }),
    since: Type.String({ format: 'date-time', description: 'Since when it was bad.' }),
    raisedAt: Time,
    clearedAt: TimeOrNull,
    acknowledgedAt: TimeOrNull,
    acknowledgedBy: TextOrNull,
    note: TextOrNull,
    repeats: Type.Integer({ description: 'How often it was told again.' }),
  },
  { title: 'Alert' },
)

const opsOperation = operationsOf('Operations', 'any')
const operation = operationsOf('Operations', 'none')

/** `/ops/alerts`: what is wrong, and what was. */
export function alertRoutes(app: App, { store }: Context): void {
  app.get(
    '/ops/alerts',
    opsOperation(OPS_ONLY, 'List alerts, newest first', {
      operationId: 'listAlerts',
      description: 'Those that are open, and those that were cleared within 90 days.',
      query: {
        status: Type.Optional(Type.Enum([...ALERT_STATUSES], { description: 'Only those that stand there.' })),
        rule: Type.Optional(Type.Enum([...ALERT_RULES], { description: 'Only those of this rule.' })),
        ...Paging,
      },
      response: { 200: PageSchema(AlertJson) },
    }),
    async (request) => {
      const { status, rule } = request.query
      const tenantId = scopeOf(request)
      const filter = { ...(status && { status }), ...(rule && { rule }), ...(tenantId !== null && { tenantId }) }
      return pageJson(await store.alerts.list(filter, request.query), alertJson)
    },
  )

  app.post(
    '/ops/alerts/:id/acknowledge',
    operation(
      OPS_ONLY,
      'Say that somebody has seen an alert',
      {
        operationId: 'acknowledgeAlert',
        description: 'It is told no more until it is cleared. The first acknowledgement stays.',
        body: Closed({ note: Note }),
        response: { 200: AlertJson },
      },
      { isBodyOptional: true },
    ),
    async (request) => {
      const note = (request.body as { note?: string } | null)?.note ?? null
      const { actor } = request
      return alertJson(found(await store.alerts.acknowledge({ id: idParameter(request), actor, note })))
    },
  )
}

function alertJson({ goodSince: _g, toldAt: _t, subjectId, status, ...alert }: Alert): Static<typeof AlertJson> {
  const times = withTimes(alert, 'since', 'clearedAt', 'acknowledgedAt')
  return {
    ...times,
    raisedAt: new Date(alert.raisedAt ?? alert.since).toISOString(),
    status: status === 'cleared' ? 'cleared' : 'open',
    subjectId: subjectId === '' ? null : subjectId,
    advice: ADVICE[alert.rule],
  }
}

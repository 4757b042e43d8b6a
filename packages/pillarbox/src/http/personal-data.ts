import { Type } from 'typebox'
import { JsonObject, Line, Nullable } from '../intake/body-fields.ts'
import { invalidBody } from '../model/errors.ts'
import { erasePerson, exportPerson, type PersonalDeps, type Subject } from '../operate/personal-data.ts'
import { TO_ADMINISTER } from './auth.ts'
import type { App, Context } from './context.ts'
import { BodyCursor, bodyCursors } from './cursors.ts'
import { operationsOf } from './operation.ts'
import { Closed } from './schemas.ts'

const subject = {
  contactId: Type.Optional(Type.String({ maxLength: 36, description: 'Whoever this contact is.' })),
  address: Type.Optional(
    Line(1, 4_096, 'Whoever has it: a telephone number or an email, however written, a device token or a user id.'),
  ),
  cursor: BodyCursor,
}

const NextCursor = Nullable(
  Type.String({ description: 'The time of one answer was over: ask again with it. Null: that was everything.' }),
)

const operation = operationsOf('People')

/** Of the time that an answer may take, this much is worked. */
const WORKED = 2 / 3
const MOST_ITEMS = 500

/** `/api/personal-data`: everything that is kept about one person, to be handed over or taken away. */
export function personalDataRoutes(app: App, context: Context): void {
  const { store, clock, config, tokens, sandboxRows: sandbox } = context
  const cursors = bodyCursors(context.seal)
  const deps: PersonalDeps = { store, clock, tokens, ...(sandbox && { sandbox }) }

  /** Works until the time of an answer is nearly over. */
  async function inTime<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const [timeIsOver, answered] = [new AbortController(), new AbortController()]
    void clock.sleep(config.handlerTimeoutMs * WORKED, answered.signal).then(() => timeIsOver.abort())
    try {
      return await work(timeIsOver.signal)
    } finally {
      answered.abort()
    }
  }

  app.post(
    '/api/personal-data/export',
    operation(TO_ADMINISTER, 'Everything that is kept about one person', {
      operationId: 'exportPersonalData',
      problems: ['not_found'],
      description:
        'Rows that are the person’s, whole; of rows that are about others too, only what names the person. Looks through everything the tenant has, so it takes a while.',
      body: Closed(subject),
      response: {
        200: Type.Object({
          items: Type.Array(Type.Object({ table: Type.String(), row: JsonObject })),
          nextCursor: NextCursor,
        }),
      },
    }),
    async (request) => {
      const cursor = cursors.open(request, request.body.cursor)
      const { items, nextCursor } = await inTime((stop) =>
        exportPerson(deps, request, subjectOf(request.body), { cursor, mostItems: MOST_ITEMS, stop }),
      )
      return { items, nextCursor: cursors.seal(request, nextCursor) }
    },
  )

  app.post(
    '/api/personal-data/erase',
    operation(TO_ADMINISTER, 'Erase what is kept about one person', {
      operationId: 'erasePersonalData',
      problems: ['not_found'],
      description:
        'Cannot be undone. Notifications stay as rows, without recipient and content; what waits is cancelled. Suppressions stay as keyed hashes.',
      body: Closed({
        ...subject,
        note: Line(1, 1_000, 'Why, in your own words. Kept in the audit: name nobody in it.'),
      }),
      response: {
        200: Type.Object({
          erased: Type.Record(Type.String(), Type.Integer(), { description: 'Rows changed or removed, by table.' }),
          remains: Type.Array(
            Type.Object({ what: Type.String(), why: Type.String(), count: Type.Optional(Type.Integer()) }),
          ),
          nextCursor: NextCursor,
        }),
      },
    }),
    async (request) => {
      const { note } = request.body
      const cursor = cursors.open(request, request.body.cursor)
      const report = await inTime((stop) => erasePerson(deps, request, subjectOf(request.body), { note, cursor, stop }))
      return { ...report, nextCursor: cursors.seal(request, report.nextCursor) }
    },
  )
}

function subjectOf({ contactId, address }: { contactId?: string; address?: string }): Subject {
  if (contactId !== undefined && address === undefined) return { contactId }
  if (address !== undefined && contactId === undefined) return { address }
  throw invalidBody([{ path: '', message: 'must have either contactId or address' }])
}

import { Type } from 'typebox'
import { FAULT_KINDS, type FaultKind } from '../channels/sandbox/settings.ts'
import { ChannelName, JsonObject } from '../intake/body-fields.ts'
import { addFault, listFaults, stopFaults } from '../operate/sandbox-faults.ts'
import { TO_OPERATE, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { Closed, Exactly, Id } from './schemas.ts'

const KINDS = Object.keys(FAULT_KINDS) as FaultKind[]

const Kind = Type.Enum(KINDS)

/** As `settings.faults` of a sandbox account has it: docs/guides/sandbox.md. */
const FaultJson = Type.Object({
  kind: Kind,
  times: Type.Optional(Type.Integer()),
  ratio: Type.Optional(Type.Number()),
  to: Type.Optional(Type.String()),
  channel: Type.Optional(ChannelName),
  delayMs: Type.Optional(Type.Integer()),
  retryAfterMs: Type.Optional(Type.Integer()),
  reason: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
})

const FaultsJson = Type.Object(
  {
    kinds: Type.Array(
      Type.Object({
        kind: Kind,
        does: Type.String({ description: 'What the pretend vendor does.' }),
        fields: Type.Array(Type.String(), { description: 'What it can be told beside when it applies.' }),
      }),
    ),
    items: Type.Array(
      Type.Object({
        account: Type.Object({ id: Id, name: Type.String(), channel: ChannelName }),
        index: Type.Integer({ description: 'Its place among those of its account: they are tried in order.' }),
        fault: FaultJson,
      }),
    ),
  },
  { title: 'SandboxFaults' },
)

const operation = operationsOf('Sandbox', 'one', { isConfiguration: true })

/** `/api/sandbox/faults`: how the pretend vendor misbehaves. */
export function sandboxFaultRoutes(app: App, context: Context): void {
  const listed = async (tenantId: string) => ({
    kinds: KINDS.map((kind) => ({ kind, does: FAULT_KINDS[kind].does, fields: [...FAULT_KINDS[kind].fields] })),
    items: await listFaults(context.store, tenantId),
  })

  app.get(
    '/api/sandbox/faults',
    operation(TO_READ, 'How the sandbox accounts misbehave', {
      operationId: 'listSandboxFaults',
      response: { 200: FaultsJson },
    }),
    ({ tenantId }) => listed(tenantId),
  )

  app.post(
    '/api/sandbox/faults',
    operation(TO_OPERATE, 'Have a sandbox account misbehave', {
      operationId: 'addSandboxFault',
      description:
        'The fault is tried behind those that the account has. 409 in_use of an account that reaches real people.',
      body: Closed({ accountId: Type.String({ maxLength: 36 }), fault: JsonObject }),
      problems: ['in_use'],
      response: { 201: FaultsJson },
    }),
    async (request, reply) => {
      await addFault(context, request, request.body)
      return reply.status(201).send(await listed(request.tenantId))
    },
  )

  app.delete(
    '/api/sandbox/faults',
    operation(TO_OPERATE, 'Have the sandbox accounts behave again', {
      operationId: 'stopSandboxFaults',
      query: { accountId: Exactly(36, 'Only this one.') },
      response: { 200: Type.Object({ stopped: Type.Integer({ description: 'How many faults there were.' }) }) },
    }),
    async (request) => ({ stopped: await stopFaults(context, request, request.query.accountId) }),
  )
}

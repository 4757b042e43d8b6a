import { Type } from 'typebox'
import { TO_READ_STATUS } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'

/** `/api/sealing-key`: what hosts seal secret payload fields with. The same for every tenant. */
export function sealingKeyRoutes(app: App, { payloadSeal }: Context): void {
  app.get(
    '/api/sealing-key',
    operationsOf('Intake', 'any')(TO_READ_STATUS, 'The public key for secrets', {
      operationId: 'getSealingKey',
      description:
        'Given to `sealWith` of the client package by whoever writes events into the host’s own database. It seals and does not open; it changes only with the server’s master key, and what was sealed with the former one opens until that is retired.',
      response: { 200: Type.Object({ sealingKey: Type.String() }) },
    }),
    async () => ({ sealingKey: payloadSeal.sealingKey }),
  )
}

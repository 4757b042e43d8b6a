import { Type } from 'typebox'
import { scopeOf, TO_READ_STATUS } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, Query } from './schemas.ts'

/** `/api/sealing-key`: what hosts seal secret payload fields with. */
export function sealingKeyRoutes(app: App, { payloadSeal }: Context): void {
  app.route({
    method: 'GET',
    url: '/api/sealing-key',
    config: { access: TO_READ_STATUS },
    schema: {
      tags: ['Intake'],
      summary: 'The public key for secrets',
      description:
        'Given to `sealWith` of the client package by whoever writes events into the host’s own database. It seals and does not open; it changes only with the server’s master key, and what was sealed with the former one opens until that is retired.',
      querystring: Query(ForOps),
      response: { 200: Type.Object({ sealingKey: Type.String() }) },
    },
    async handler(request) {
      // The same for every tenant; a key may still name no other than its own.
      scopeOf(request)
      return { sealingKey: payloadSeal.sealingKey }
    },
  })
}

import { Type } from 'typebox'
import { found, notFound } from '../model/errors.ts'
import { scopeOf, TO_OPERATE } from './auth.ts'
import type { App, Context } from './context.ts'
import { operationsOf } from './operation.ts'
import { idParameter } from './schemas.ts'

const operation = operationsOf('Notifications', 'any')

/**
 * What keeps a message from doing anything but being looked at: no script runs, nothing is loaded, no form is sent, and it has
 * no part in our origin. The console's pages may show it in a frame.
 */
const POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

/** `/api/notifications/{id}/content`: an HTML message as its recipient sees it. */
export function notificationContentRoutes(app: App, { store }: Context): void {
  app.get(
    '/api/notifications/:id/content',
    operation(TO_OPERATE, 'The HTML of a message, as a page on which nothing runs', {
      operationId: 'showNotificationContent',
      description: '404 where the message is no HTML, or its words are no longer kept or sealed.',
      response: {
        200: { description: 'The message.', content: { 'text/html': { schema: Type.String() } } },
      },
    }),
    async (request, reply) => {
      const { content } = found(await store.notifications.find(scopeOf(request), idParameter(request)))
      if (content === null || 'sealed' in content || !content.isHtml) throw notFound()
      reply.header('content-security-policy', POLICY).header('x-frame-options', 'SAMEORIGIN')
      return reply.type('text/html; charset=utf-8').serializer(String).send(content.body)
    },
  )
}

import createClient from 'openapi-fetch'
// Made from the OpenAPI document by the test, beside a copy of this file.
import type { components, paths } from './openapi.js'

/** What somebody writes who knows nothing of this server but its OpenAPI document. */
const { BASE_URL: baseUrl = '', KEY: key = '' } = process.env
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } })

const event: components['schemas']['NewEvent'] = {
  id: 'order-1',
  type: 'booking.confirmed',
  entity: { type: 'booking', id: '42' },
  payload: { guestEmail: 'ada@example.test' },
}
const published = await client.POST('/api/events', { body: event })
const again = await client.POST('/api/events', { body: event })

const sent = await client.POST('/api/notifications', {
  body: {
    channel: 'email',
    to: { email: 'ada@example.test' },
    subject: 'Paid',
    body: 'Thanks',
    idempotencyKey: 'paid-1',
  },
})
const repeated = await client.POST('/api/notifications', {
  body: { channel: 'email', to: { email: 'ada@example.test' }, body: 'Thanks', idempotencyKey: 'paid-1' },
})
const listed = await client.GET('/api/notifications', { params: { query: { status: ['parked'] } } })
const first: components['schemas']['NotificationView'] | undefined = listed.data?.items[0]
const one = await client.GET('/api/notifications/{id}', { params: { path: { id: first?.id ?? '' } } })
const retried = await client.POST('/api/notifications/{id}/discard', { params: { path: { id: first?.id ?? '' } } })
const missing = await client.GET('/api/contacts/{id}', { params: { path: { id: 'nobody' } } })
const problem: components['schemas']['Problem'] | undefined = missing.error
const health = await client.GET('/health')

console.log(
  JSON.stringify({
    published: published.data,
    again: again.data,
    sent: sent.data !== undefined && 'notificationId' in sent.data && sent.data.notificationId === first?.id,
    repeated: [repeated.response.status, repeated.error?.code, repeated.error?.notificationId === first?.id],
    listed: listed.data?.items.map(({ status, channel, reason }) => ({ status, channel, reason })),
    subject: one.data?.content?.subject,
    discarded: retried.data?.status,
    missing: [missing.response.status, problem?.code],
    health: health.data?.status,
  }),
)

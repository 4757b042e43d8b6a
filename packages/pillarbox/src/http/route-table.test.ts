import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { planEvents } from '../../../../test/support/planning.ts'
import { sampleSandboxMessage } from '../../../../test/support/samples.ts'
import { ROLES, type Role } from '../model/api-key.ts'
import { PillarboxError } from '../model/errors.ts'
import type { Resend } from '../operate/resend.ts'
import {
  type Answer,
  type AnswerJson,
  CATALOGUE,
  type Fixture,
  openFixture,
  raiseAlert,
  type TestTenant,
} from './fixture.ts'
import type { RouteEntry } from './operation.ts'

/**
 * What each route needs for a request that is allowed to succeed. The cases below are made from the routes the app has
 * registered, so a route without an entry here fails.
 */
interface Entry {
  /** Fills the path's parameters with something of that tenant. */
  path?: (tenant: TestTenant) => Promise<Record<string, string>>
  body?: () => unknown
  /** Parameters it cannot do without. */
  query?: string
  /** What an allowed role gets. */
  ok: number
  /** The path names the tenant itself, which only ops may use. */
  isTenantPath?: boolean
  /** What the path names is counted by each tenant for itself: the first is there for everybody. */
  isNumbered?: boolean
  /** What the path names is there for whoever is named, in each tenant. */
  isEverybodys?: boolean
  /** Its body is in a form of others, who may add to it: only what is needed is looked at. */
  isForeign?: boolean
  /** Its answer does not end by itself. */
  isStream?: boolean
}

let f: Fixture
let counter = 0
const unique = (): string => `u${++counter}`

const queued = async (tenant: TestTenant): Promise<Record<string, string>> => {
  await account(tenant)
  return { id: (await submit(tenant)).id }
}
const parked = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const { id } = await queued(tenant)
  await f.call(tenant.keys.operator, 'POST', `/api/notifications/${id}/park`)
  return { id: String(id) }
}
const discarded = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const path = await parked(tenant)
  await f.call(tenant.keys.operator, 'POST', `/api/notifications/${path['id']}/discard`)
  return path
}
const sent = async (tenant: TestTenant): Promise<Record<string, string>> => ({ id: (await submit(tenant)).id })
const htmlMessage = async (tenant: TestTenant): Promise<Record<string, string>> => {
  await account(tenant)
  const body = { ...EMAIL(), format: 'html' }
  return { id: (await f.call(tenant.keys.publisher, 'POST', '/api/notifications', body)).json().id }
}
const account = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const body = { channel: 'email', provider: 'sandbox', name: unique() }
  return { id: (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', body)).json().id }
}
/** One that nothing waits on: push is never sent to here. */
const idleAccount = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const body = { channel: 'push', provider: 'sandbox', name: unique() }
  return { id: (await f.call(tenant.keys.admin, 'POST', '/api/channel-accounts', body)).json().id }
}
const suspendedAccount = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const path = await idleAccount(tenant)
  await f.call(tenant.keys.admin, 'POST', `/api/channel-accounts/${path['id']}/suspend`)
  return path
}
const key = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const body = { name: unique(), role: 'viewer' }
  return { id: tenant.id, keyId: (await f.call(tenant.keys.admin, 'POST', '/api/keys', body)).json().id }
}
const eventType = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const name = `only.${tenant.id}`
  const catalogue = {
    ...CATALOGUE,
    eventTypes: { ...CATALOGUE.eventTypes, [name]: { entity: 'booking', recipients: [] } },
  }
  await f.call(tenant.keys.admin, 'PUT', '/api/event-types', catalogue)
  return { name }
}
/** A version that no other tenant has: each counts its own. */
const catalogueVersion = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const highest = async (id: string): Promise<number> => (await f.store.catalogue.current(id))?.version ?? 0
  const others = await Promise.all(['tenant-a', 'tenant-b'].map(highest))
  for (let version = 0; version <= Math.max(...others); ) {
    const catalogue = { ...CATALOGUE, name: unique() }
    version = Number((await f.call(tenant.keys.admin, 'PUT', '/api/event-types', catalogue)).json().version)
  }
  return { version: String(await highest(tenant.id)) }
}
const failedEvent = async (tenant: TestTenant): Promise<Record<string, string>> => {
  await eventType(tenant)
  const id = unique()
  const body = { id, type: 'booking.confirmed', entity: { type: 'booking', id: '1' } }
  await f.call(tenant.keys.publisher, 'POST', '/api/events', body)
  await f.store.plan.deferEvent({ tenantId: tenant.id, id }, 'broken', null)
  return { id }
}
let accountId = ''
let token = ''
/** A preview of nothing, which can be started. */
const preview = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const body = { action: 'retry', filter: { status: ['parked'], channel: 'push' } }
  const answer = await f.call(tenant.keys.operator, 'POST', '/api/notifications/bulk/preview', body)
  token = String(answer.json().token)
  return {}
}
/** An operation in its grace. */
const operation = async (tenant: TestTenant): Promise<Record<string, string>> => {
  await preview(tenant)
  const answer = await f.call(tenant.keys.operator, 'POST', '/api/notifications/bulk', { token, grace: 'PT1H' })
  return { id: String(answer.json().operationId) }
}
const pausedOperation = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const path = await operation(tenant)
  await f.call(tenant.keys.operator, 'POST', `/api/operations/${path['id']}/pause`)
  return path
}
/** One that stands where `action` may be asked for. */
const schedule =
  (action: 'cancel' | 'replay' | 'approve' | 'reject' | 'send-now') =>
  async (tenant: TestTenant): Promise<Record<string, string>> => {
    const body = { id: unique(), type: 'booking.confirmed', entity: { type: 'booking', id: '1' } }
    await f.call(tenant.keys.publisher, 'POST', '/api/events', body)
    const id = f.deps.ids()
    const needsApproval = action === 'approve' || action === 'reject'
    const dueAt = f.now() + 60_000
    await planEvents(f.store, 1_000, (event) =>
      event.id === body.id
        ? { kind: 'schedule', scheduleId: id, dueAt, needsApproval, cancels: null }
        : { kind: 'later' },
    )
    if (action === 'replay') await f.store.plan.deferSchedule({ tenantId: tenant.id, id }, 'broken', null)
    return { id }
  }
/** A template of its own scope, so that there can be any number. */
const newTemplate = () => ({
  eventType: 'booking.confirmed',
  channel: 'email',
  locale: 'en',
  body: 'x',
  scopeType: 'listing',
  scopeId: unique(),
})
const template = async (tenant: TestTenant): Promise<Record<string, string>> => ({
  id: (await f.call(tenant.keys.admin, 'POST', '/api/message-templates', newTemplate())).json().id,
})
const contact = async (tenant: TestTenant): Promise<Record<string, string>> => ({
  id: (await f.call(tenant.keys.admin, 'POST', '/api/contacts', { profileId: unique() })).json().id,
})
const conversation = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const about = { tenantId: tenant.id, profileId: unique(), conversation: { type: 'booking', id: '1' } }
  const [person] = await f.store.people.resolve([about], f.deps.ids)
  return { id: String(person?.conversationId) }
}
const recipientList = async (tenant: TestTenant): Promise<Record<string, string>> => ({
  id: (await f.call(tenant.keys.admin, 'POST', '/api/recipient-lists', { name: unique(), members: [] })).json().id,
})
const suppression = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const body = { channel: 'push', address: unique() }
  return { id: (await f.call(tenant.keys.admin, 'POST', '/api/suppressions', body)).json().id }
}
/** An inbox with a message in it. */
const inbox = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const [id, userId] = [f.deps.ids(), `of-${tenant.id}`]
  const place = { tenantId: tenant.id, table: 'inbox_messages', rowId: id }
  const sealed = f.deps.seal.seal(JSON.stringify({ subject: null, text: 'x', html: null, data: {} }), place)
  await f.store.inbox.put({ id, tenantId: tenant.id, userId, sealed })
  return { userId, id }
}
const opsKey = async (): Promise<Record<string, string>> => ({
  id: (await f.call(f.opsKey, 'POST', '/ops/keys', { name: unique() })).json().id,
})
const webhook = async (tenant: TestTenant): Promise<Record<string, string>> => ({ tenantId: tenant.id })
const callback = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const body = Buffer.from(unique())
  await f.store.receipts.keep({ source: 'meta', tenantId: tenant.id, accountIds: [], headers: {}, body })
  const { items } = await f.store.receipts.callbacks({}, { limit: 1 })
  return { id: String(items[0]?.id) }
}
const alert = async (tenant: TestTenant): Promise<Record<string, string>> => ({ id: await raiseAlert(f, tenant.id) })
const sandboxMessage = async (tenant: TestTenant): Promise<Record<string, string>> => ({ id: `sbx-${tenant.id}` })
const tenantPath = async (tenant: TestTenant): Promise<Record<string, string>> => ({ id: tenant.id })

const hasuraTrigger = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const hasura = { booked: { eventType: 'booking.confirmed', entityId: 'new.id' } }
  await f.call(tenant.keys.admin, 'PUT', '/api/event-types', { ...CATALOGUE, sources: { hasura } })
  return {}
}
const handedOff = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const notificationId = f.deps.ids()
  const body = { items: [{ notificationId, to: { email: 'a@example.test' }, body: 'x' }] }
  await f.call(tenant.keys.publisher, 'POST', '/api/sites/plant-1/notifications', body)
  return { site: 'plant-1', id: notificationId }
}
/** One that no other tenant has. */
const site = async (tenant: TestTenant): Promise<Record<string, string>> => {
  const name = `of-${tenant.id}`
  await f.call(tenant.keys.publisher, 'POST', `/api/sites/${name}/notifications`, { items: [] })
  return { site: name }
}

const EMAIL = () => ({ channel: 'email', to: { email: 'a@example.test' }, body: 'x' })

async function submit(tenant: TestTenant): Promise<{ id: string }> {
  return (await f.call(tenant.keys.publisher, 'POST', '/api/notifications', EMAIL())).json()
}

const ENTRIES: Record<string, Entry> = {
  'POST /api/events': {
    body: () => ({ type: 'booking.confirmed', entity: { type: 'booking', id: unique() } }),
    ok: 202,
  },
  'POST /api/notification-requests': {
    body: () => ({
      event_id: unique(),
      tenant_id: 'tenant-a',
      trigger_event: 'booking.confirmed',
      recipients: [{ name: 'Ada', email: 'a@example.test' }],
      context: {},
    }),
    ok: 202,
  },
  'POST /api/sites/:site/notifications': {
    path: async () => ({ site: 'plant-1' }),
    body: () => ({ items: [{ notificationId: f.deps.ids(), to: { email: 'a@example.test' }, body: 'x' }] }),
    ok: 200,
    isEverybodys: true,
  },
  'GET /api/sites/:site/notifications/:id/status': { path: handedOff, ok: 200 },
  'GET /api/sites': { ok: 200 },
  'DELETE /api/sites/:site': { path: site, ok: 204 },
  'POST /api/sources/hasura': {
    path: hasuraTrigger,
    body: () => ({ id: unique(), trigger: { name: 'booked' }, event: { data: { old: null, new: { id: 1 } } } }),
    ok: 202,
    isForeign: true,
  },
  'GET /api/events': { ok: 200 },
  'GET /api/events/:id': { path: failedEvent, ok: 200 },
  'POST /api/events/:id/replay': { path: failedEvent, ok: 200 },
  'POST /api/notifications': { body: EMAIL, ok: 202 },
  'POST /api/notifications/batch': { body: () => ({ items: [EMAIL()] }), ok: 200 },
  'GET /api/notifications': { ok: 200 },
  'GET /api/notifications/:id': { path: sent, ok: 200 },
  'GET /api/notifications/:id/status': { path: sent, ok: 200 },
  'GET /api/notifications/:id/content': { path: htmlMessage, ok: 200 },
  'POST /api/notifications/:id/retry': { path: parked, ok: 200 },
  'POST /api/notifications/:id/discard': { path: parked, ok: 200 },
  'POST /api/notifications/:id/cancel': { path: queued, ok: 200 },
  'POST /api/notifications/:id/park': { path: queued, ok: 200 },
  'POST /api/notifications/:id/restore': { path: discarded, ok: 200 },
  'GET /api/notifications/causes': { ok: 200 },
  'POST /api/notifications/bulk/preview': {
    body: () => ({ action: 'retry', filter: { status: ['parked'], channel: 'push' } }),
    ok: 200,
  },
  'POST /api/notifications/bulk': { path: preview, body: () => ({ token }), ok: 202 },
  'GET /api/operations': { ok: 200 },
  'GET /api/operations/:id': { path: operation, ok: 200 },
  'GET /api/operations/:id/items': { path: operation, ok: 200 },
  'POST /api/operations/:id/pause': { path: operation, ok: 200 },
  'POST /api/operations/:id/resume': { path: pausedOperation, ok: 200 },
  'POST /api/operations/:id/cancel': { path: operation, ok: 200 },
  'POST /api/operations/:id/undo': { path: operation, ok: 200 },
  'GET /api/communication-logs': { query: 'bookingId=1', ok: 200 },
  'GET /api/automation-schedules': { ok: 200 },
  'GET /api/automation-schedules/:id': { path: schedule('cancel'), ok: 200 },
  'POST /api/automation-schedules/:id/cancel': { path: schedule('cancel'), ok: 200 },
  'POST /api/automation-schedules/:id/replay': { path: schedule('replay'), ok: 200 },
  'POST /api/automation-schedules/:id/approve': { path: schedule('approve'), ok: 200 },
  'POST /api/automation-schedules/:id/reject': { path: schedule('reject'), ok: 200 },
  'POST /api/automation-schedules/:id/send-now': { path: schedule('send-now'), ok: 200 },
  'POST /api/:plural/:id/resend-notification': {
    path: async (tenant) => ({ plural: 'bookings', id: `of-${tenant.id}` }),
    body: () => ({ channel: 'email' }),
    ok: 202,
  },
  'GET /api/message-templates': { ok: 200 },
  'POST /api/message-templates': { body: newTemplate, ok: 201 },
  'GET /api/message-templates/:id': { path: template, ok: 200 },
  'PUT /api/message-templates/:id': { path: template, body: newTemplate, ok: 200 },
  'PATCH /api/message-templates/:id': { path: template, body: () => ({ body: 'y' }), ok: 200 },
  'DELETE /api/message-templates/:id': { path: template, ok: 204 },
  'GET /api/message-templates/:id/versions': { path: template, ok: 200 },
  'POST /api/message-templates/preview': { body: () => ({ channel: 'email', body: 'x', context: {} }), ok: 200 },
  'POST /api/message-templates/:id/preview': { path: template, body: () => ({ context: {} }), ok: 200 },
  'POST /api/message-templates/:id/test-send': {
    path: template,
    body: () => ({ to: { email: 'a@example.test' }, context: {} }),
    ok: 202,
  },
  'GET /api/contacts': { ok: 200 },
  'POST /api/contacts': { body: () => ({ profileId: unique() }), ok: 201 },
  'GET /api/contacts/:id': { path: contact, ok: 200 },
  'POST /api/contacts/:id/reveal': { path: contact, ok: 200 },
  'PUT /api/contacts/:id': { path: contact, body: () => ({ profileId: unique() }), ok: 200 },
  'PATCH /api/contacts/:id': { path: contact, body: () => ({ name: 'Ada' }), ok: 200 },
  'DELETE /api/contacts/:id': { path: contact, ok: 204 },
  'GET /api/conversations': { ok: 200 },
  'GET /api/conversations/:id': { path: conversation, ok: 200 },
  'PATCH /api/conversations/:id': { path: conversation, body: () => ({ status: 'closed' }), ok: 200 },
  'GET /api/recipient-lists': { ok: 200 },
  'POST /api/recipient-lists': { body: () => ({ name: unique(), members: [] }), ok: 201 },
  'GET /api/recipient-lists/:id': { path: recipientList, ok: 200 },
  'PUT /api/recipient-lists/:id': { path: recipientList, body: () => ({ name: unique(), members: [] }), ok: 200 },
  'PATCH /api/recipient-lists/:id': { path: recipientList, body: () => ({ name: unique() }), ok: 200 },
  'DELETE /api/recipient-lists/:id': { path: recipientList, ok: 204 },
  'GET /api/recipient-lists/:id/members': { path: recipientList, ok: 200 },
  'POST /api/recipient-lists/:id/members': {
    path: recipientList,
    body: () => ({ members: [{ email: `${unique()}@example.test` }] }),
    ok: 200,
  },
  'POST /api/recipient-lists/:id/members/try': {
    path: recipientList,
    body: () => ({ members: [{ email: 'a@example.test' }] }),
    ok: 200,
  },
  'GET /api/recipient-lists/:id/reach': { path: recipientList, ok: 200 },
  'GET /api/suppressions': { ok: 200 },
  'POST /api/suppressions': { body: () => ({ channel: 'push', address: unique() }), ok: 201 },
  'GET /api/suppressions/:id': { path: suppression, ok: 200 },
  'DELETE /api/suppressions/:id': { path: suppression, ok: 204 },
  'POST /api/suppressions/:id/lift': { path: suppression, body: () => ({ note: 'it works again' }), ok: 204 },
  'POST /api/personal-data/export': { body: () => ({ address: 'nobody@example.test' }), ok: 200 },
  'POST /api/personal-data/erase': { body: () => ({ address: 'nobody@example.test', note: 'asked' }), ok: 200 },
  'GET /api/event-types': { ok: 200 },
  'GET /api/event-types/:name': { path: eventType, ok: 200 },
  'GET /api/event-types/versions': { ok: 200 },
  'GET /api/event-types/versions/:version': { path: catalogueVersion, ok: 200, isNumbered: true },
  'PUT /api/event-types': { body: () => CATALOGUE, ok: 200 },
  'GET /api/providers': { ok: 200 },
  'POST /api/channel-accounts': {
    body: () => ({ channel: 'sms', provider: 'sandbox', name: unique() }),
    ok: 201,
  },
  'GET /api/channel-accounts': { ok: 200 },
  'GET /api/channel-accounts/:id': { path: account, ok: 200 },
  'PATCH /api/channel-accounts/:id': { path: account, body: () => ({ priority: 3 }), ok: 200 },
  'PUT /api/channel-accounts/:id': {
    path: account,
    body: () => ({ channel: 'email', provider: 'sandbox', name: unique() }),
    ok: 200,
  },
  'DELETE /api/channel-accounts/:id': { path: idleAccount, ok: 204 },
  'POST /api/channel-accounts/:id/suspend': { path: idleAccount, ok: 200 },
  'POST /api/channel-accounts/:id/verify': { path: idleAccount, ok: 200 },
  'POST /api/channel-accounts/:id/connect': { path: idleAccount, ok: 200 },
  'POST /api/channel-accounts/:id/activate': { path: suspendedAccount, ok: 200 },
  'GET /api/inbox/:userId/messages': { path: inbox, ok: 200 },
  'GET /api/inbox/:userId/unread-count': { path: inbox, ok: 200 },
  'POST /api/inbox/:userId/messages/:id/read': { path: inbox, ok: 200 },
  'POST /api/inbox/:userId/read-all': { path: inbox, ok: 200 },
  'DELETE /api/inbox/:userId/messages/:id': { path: inbox, ok: 204 },
  'GET /api/inbox/:userId/stream': { path: inbox, ok: 200 },
  'POST /api/inbox/:userId/tokens': { path: inbox, body: () => ({}), ok: 201, isEverybodys: true },
  'POST /api/session': { body: () => ({ key: f.opsKey }), ok: 200 },
  'GET /api/session': { ok: 200 },
  'DELETE /api/session': { ok: 204 },
  'GET /api/stream': { ok: 200, isStream: true },
  'POST /api/keys': { body: () => ({ name: unique(), role: 'viewer' }), ok: 201 },
  'GET /api/keys': { ok: 200 },
  'POST /api/keys/:keyId/rotate': { path: key, body: () => ({ overlap: 'PT1H' }), ok: 201 },
  'DELETE /api/keys/:keyId': { path: key, ok: 204 },
  'GET /api/tenant': { ok: 200 },
  'PATCH /api/tenant': { body: () => ({ name: unique() }), ok: 200 },
  'GET /api/sealing-key': { ok: 200 },
  'GET /api/sandbox/messages': { ok: 200 },
  'GET /api/sandbox/clock': { ok: 200 },
  'GET /api/sandbox/faults': { ok: 200 },
  'POST /api/sandbox/faults': {
    path: async (tenant) => {
      accountId = (await idleAccount(tenant))['id'] ?? ''
      return {}
    },
    body: () => ({ accountId, fault: { kind: 'slow' } }),
    ok: 201,
  },
  'DELETE /api/sandbox/faults': { ok: 200 },
  'POST /api/sandbox/messages/:id/receipts': {
    path: sandboxMessage,
    body: () => ({ kind: 'delivered' }),
    ok: 202,
  },
  'POST /api/sandbox/clock': { body: () => ({ advance: 'PT1S' }), ok: 200 },
  'POST /ops/tenants': { body: () => ({ id: unique(), name: 'New' }), ok: 201 },
  'GET /ops/tenants': { ok: 200 },
  'GET /ops/tenants/:id': { path: tenantPath, ok: 200, isTenantPath: true },
  'PATCH /ops/tenants/:id': { path: tenantPath, body: () => ({ name: unique() }), ok: 200, isTenantPath: true },
  'POST /ops/tenants/:id/keys': {
    path: tenantPath,
    body: () => ({ name: unique(), role: 'viewer' }),
    ok: 201,
    isTenantPath: true,
  },
  'GET /ops/tenants/:id/keys': { path: tenantPath, ok: 200, isTenantPath: true },
  'POST /ops/tenants/:id/keys/:keyId/rotate': { path: key, body: () => ({}), ok: 201, isTenantPath: true },
  'DELETE /ops/tenants/:id/keys/:keyId': { path: key, ok: 204, isTenantPath: true },
  'POST /ops/keys': { body: () => ({ name: unique() }), ok: 201 },
  'GET /ops/keys': { ok: 200 },
  'POST /ops/keys/:id/rotate': { path: opsKey, body: () => ({}), ok: 201 },
  'DELETE /ops/keys/:id': { path: opsKey, ok: 204 },
  // No key opens these: a callback proves itself, or is refused.
  'GET /api/webhooks/meta/:tenantId': { path: webhook, ok: 403 },
  'POST /api/webhooks/meta/:tenantId': { path: webhook, ok: 403 },
  'POST /api/webhooks/interakt/:tenantId': { path: webhook, ok: 403 },
  'POST /api/webhooks/msg91/:tenantId': { path: webhook, ok: 403 },
  'POST /api/webhooks/acs/:tenantId': { path: webhook, ok: 403 },
  'OPTIONS /api/webhooks/acs/:tenantId': { path: webhook, ok: 403 },
  'POST /api/webhooks/ses': { ok: 403 },
  'POST /api/webhooks/sns-sms': { ok: 403 },
  'GET /ops/callbacks': { ok: 200 },
  'GET /ops/callbacks/refused': { ok: 200 },
  'POST /ops/callbacks/:id/replay': { path: callback, ok: 202 },
  'GET /api/audit': { ok: 200 },
  'GET /api/audit/chain': { ok: 200 },
  'GET /ops/audit': { ok: 200 },
  'GET /ops/outbox': { ok: 200 },
  'GET /api/kpis': { ok: 200 },
  'GET /ops/kpis': { ok: 200 },
  'GET /ops/workers': { ok: 200 },
  'GET /ops/alerts': { ok: 200 },
  'POST /ops/alerts/:id/acknowledge': { path: alert, ok: 200 },
  'GET /metrics': { ok: 200 },
  'POST /ops/outbox/:id/replay': { path: failedEvent, ok: 200 },
  'POST /ops/purge': { body: () => ({ olderThan: 'P365D' }), ok: 200 },
  'GET /health': { ok: 200 },
  'GET /health/live': { ok: 200 },
  'GET /health/ready': { ok: 200 },
  'GET /openapi.json': { ok: 200 },
}

/** Routes that change something and leave no entry in the audit, each with the reason. */
const UNAUDITED: Record<string, string> = {
  'POST /api/events': 'the event says who published it',
  'POST /api/notification-requests': 'the event says who published it',
  'POST /api/sources/hasura': 'the event says who published it',
  'POST /api/notifications': 'the notification says who had it sent',
  'POST /api/notifications/batch': 'the notifications say who had them sent',
  'POST /api/sites/:site/notifications': 'on record in the name of the site; see sites.test.ts',
  'POST /api/:plural/:id/resend-notification': 'the one of this test sends nothing; see operate/resend.test.ts',
  'POST /api/message-templates/preview': 'changes nothing',
  'POST /api/message-templates/:id/preview': 'changes nothing',
  'POST /api/recipient-lists/:id/members/try': 'changes nothing',
  'POST /api/notifications/bulk/preview': 'only chooses; the operation that follows is on record',
  'POST /api/channel-accounts/:id/verify': 'changes nothing, unless the account was paused',
  'POST /api/channel-accounts/:id/connect': 'the provider of this test cannot be told; see audit.test.ts',
  'POST /api/inbox/:userId/messages/:id/read': 'a user’s own inbox; the notification becomes read',
  'POST /api/inbox/:userId/read-all': 'a user’s own inbox; the notifications become read',
  'DELETE /api/inbox/:userId/messages/:id': 'a user’s own inbox',
  'POST /api/inbox/:userId/tokens': 'nothing is kept of a token',
  'DELETE /api/session': 'with a key there is no session to end; see conformance/sessions.ts',
}

/** Knows one booking of each tenant. */
const resend: Resend = async ({ tenantId, entity }) => {
  if (entity.id !== `of-${tenantId}`) throw new PillarboxError('not_found', 'There is nothing with this id.')
  return { requestId: unique(), notifications: [] }
}

interface SecurityDocument {
  paths: Record<string, Record<string, { security: Record<string, string[]>[]; 'x-roles'?: string[] }>>
}

const RANDOM_ID = '019bc186-0000-7000-8000-000000000000'
const NOT_IDS = ['1', 'null', '%00', '..%2f..', '019bc186', `${RANDOM_ID}0`, "'%20or%20'1'='1"]

describe('the route table', () => {
  let a: TestTenant
  let b: TestTenant

  before(async () => {
    f = await openFixture({
      deps: {
        sandbox: () => [],
        sandboxMessage: (tenantId, id) =>
          id === `sbx-${tenantId}` ? sampleSandboxMessage({ id, tenantId: tenantId ?? '' }) : null,
        resend,
      },
    })
    a = await f.tenant('tenant-a')
    b = await f.tenant('tenant-b')
    for (const tenant of [a, b]) await eventType(tenant)
  })
  after(() => f.app.close())

  it('has an entry here for every route, and no other', () => {
    assert.deepEqual(f.app.routeTable.map(nameOf).sort(), Object.keys(ENTRIES).sort())
  })

  it('is the list in docs/reference/http.md, roles included', async () => {
    const page = await readFile(new URL('../../../../docs/reference/http.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `([A-Z]+) (\/[^`]*)` \| ([^|]+) \|/gm)].map(
      ([, method, path, roles]) => `${method} ${path} ${roles?.trim()}`,
    )
    const registered = f.app.routeTable.map(
      ({ method, url, access }) =>
        `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')} ${access === 'public' ? 'anybody' : access.join(', ')}`,
    )

    assert.deepEqual(documented.sort(), registered.sort())
  })

  it('says in the OpenAPI document what auth asks for', async () => {
    const document = JSON.parse((await f.call(null, 'GET', '/openapi.json')).body) as SecurityDocument
    const token = (await f.call(a.keys.publisher, 'POST', `/api/inbox/of-${a.id}/tokens`, {})).json().token
    for (const route of f.app.routeTable.filter(({ operationId }) => operationId !== null)) {
      const name = nameOf(route)
      const operation = document.paths[route.url.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()]
      assert.ok(operation, name)
      const { security, 'x-roles': roles = [] } = operation
      const path = fill(route.url, (await ENTRIES[name]?.path?.(a)) ?? {})
      const bare = await f.call(null, route.method, path, ENTRIES[name]?.body?.())
      assert.equal(bare.statusCode === 401, security.length > 0, `${name}: ${bare.body}`)
      if (security.length === 0) continue
      for (const role of ROLES) {
        const { statusCode } = await request(name, role, a, a)
        const isDocumented = roles.includes(role) && security.some((scheme) => 'key' in scheme)
        assert.equal(statusCode !== 403, isDocumented, `${role}: ${name}`)
      }
      const isForUsers = security.some((scheme) => 'userToken' in scheme && !('key' in scheme))
      assert.equal(
        isForUsers,
        security.some((scheme) => 'userTokenInQuery' in scheme),
        name,
      )
      const isStream = route.operationId?.startsWith('stream') && { payloadAsStream: true }
      for (const asBearer of [true, false]) {
        const url = fill(route.url, (await ENTRIES[name]?.path?.(a)) ?? {})
        const given = asBearer
          ? { url, headers: { authorization: `Bearer ${token}` } }
          : { url: `${url}?token=${encodeURIComponent(token)}` }
        const { statusCode } = await f.inject({ method: route.method, ...given, ...isStream })
        assert.equal(statusCode !== 401, isForUsers, `${name}: ${statusCode}`)
      }
    }
  })

  it('lets each role do what its routes say and nothing else', async () => {
    for (const route of f.app.routeTable) {
      const name = nameOf(route)
      for (const role of ROLES) {
        const answer = await request(name, role, a, a)
        const isAllowed = route.access === 'public' || route.access.includes(role)
        assert.equal(answer.statusCode, isAllowed ? ENTRIES[name]?.ok : 403, `${role}: ${name}: ${answer.body}`)
        if (!isAllowed) assert.equal(answer.json().code, 'forbidden')
      }
    }
  })

  it('leaves on record who did it, for every route that changes something', async () => {
    const c = await f.tenant('tenant-c')
    await eventType(c)
    const changing = f.app.routeTable.filter(({ method, access }) => method !== 'GET' && access !== 'public')
    const names = new Set(changing.map(nameOf))
    assert.deepEqual(
      Object.keys(UNAUDITED).filter((name) => !names.has(name)),
      [],
    )
    const silent: string[] = []
    for (const { method, url, access } of changing) {
      const name = nameOf({ method, url })
      const entry = ENTRIES[name]
      const role = (['ops', 'admin', 'publisher'] as const).find((one) => access.includes(one))
      assert.ok(entry && role, name)
      const key = await f.key({ tenantId: role === 'ops' ? null : c.id, role, name: `doer ${name}` })
      const path = fill(url, (await entry.path?.(c)) ?? {})
      const query = role === 'ops' && url.startsWith('/api/') ? `?tenantId=${c.id}` : ''
      const body = entry.body?.() as Record<string, unknown> | undefined
      const given = body && 'tenant_id' in body ? { ...body, tenant_id: c.id } : body
      const answer = await f.call(key, method, `${path}${query}`, given)
      assert.equal(answer.statusCode, entry.ok, `${name}: ${answer.body}`)
      const { items } = (
        await f.call(f.opsKey, 'GET', `/ops/audit?actor=${encodeURIComponent(`key:doer ${name}`)}`)
      ).json()
      if (items.length === 0) silent.push(name)
    }
    assert.deepEqual(silent.toSorted(), Object.keys(UNAUDITED).toSorted())
  })

  it('refuses everybody without a key, with a wrong one, and with something else', async () => {
    for (const route of f.app.routeTable.filter(({ access }) => access !== 'public'))
      for (const header of [undefined, 'Bearer pbx_wrong', 'Basic YTpi', `bearer${a.keys.admin}`]) {
        const answer = await f.inject({
          method: route.method,
          url: route.url.replaceAll(/:\w+/g, RANDOM_ID),
          headers: header === undefined ? {} : { authorization: header },
        })
        assert.equal(answer.statusCode, 401, `${nameOf(route)} ${header}`)
        assert.equal(answer.headers['www-authenticate'], 'Bearer realm="pillarbox"')
        assert.equal(answer.json().code, 'unauthorized')
      }
  })

  it('answers another tenant’s id exactly like one that never was', async () => {
    for (const route of f.app.routeTable.filter(isOfTenant)) {
      const name = nameOf(route)
      const theirs = await request(name, 'admin', a, b)
      const parameter = /:(\w+)/.exec(route.url)?.[1] ?? ''
      const random = await request(name, 'admin', a, a, { [parameter]: RANDOM_ID })
      assert.equal(theirs.statusCode, 404, `${name}: ${theirs.body}`)
      assert.deepEqual(withoutId(theirs), withoutId(random), name)
      for (const wrong of NOT_IDS.slice(ENTRIES[name]?.isNumbered ? 1 : 0)) {
        const malformed = await request(name, 'admin', a, a, { [parameter]: wrong })
        assert.deepEqual(withoutId(malformed), withoutId(random), `${name} ${wrong}`)
      }
      // The object is untouched: its owner still gets what it would have got.
      assert.equal((await request(name, 'admin', b, b)).statusCode, ENTRIES[name]?.ok)
    }
  })

  it('keeps an ops key to the tenant it names', async () => {
    for (const route of f.app.routeTable.filter(isOfTenant)) {
      const name = nameOf(route)
      const theirs = await request(name, 'ops', a, b)
      assert.equal(theirs.statusCode, 404, `${name}: ${theirs.body}`)
    }
  })

  it('answers 404 under a tenant that is not there', async () => {
    for (const [name] of Object.entries(ENTRIES).filter(([, entry]) => entry.isTenantPath)) {
      assert.equal((await request(name, 'ops', a, a, { id: 'nobody' })).statusCode, 404, name)
      assert.equal((await request(name, 'ops', a, a, { id: 'No%20Body' })).statusCode, 404, name)
    }
    const theirKey = await key(b)
    const answer = await request('DELETE /ops/tenants/:id/keys/:keyId', 'ops', a, a, { ...theirKey, id: a.id })
    assert.equal(answer.statusCode, 404)
  })

  it('takes the tenant from the key alone', async () => {
    const routes = f.app.routeTable.filter(({ access, url }) => access !== 'public' && url.startsWith('/api/'))
    for (const route of routes.filter(isForAdmins)) {
      const name = nameOf(route)
      for (const tenantId of [a.id, b.id]) {
        const named = await request(name, 'admin', a, a, {}, `?tenantId=${tenantId}`)
        assert.equal(named.statusCode, 422, `${name}: ${named.body}`)
        assert.equal(named.json().code, 'invalid_query')
      }
      const body = ENTRIES[name]?.body?.()
      if (typeof body === 'object' && body !== null && !ENTRIES[name]?.isForeign) {
        const entry = { ...body, tenantId: b.id }
        const path = (await ENTRIES[name]?.path?.(a)) ?? {}
        const smuggled = await f.call(a.keys.admin, route.method, fill(route.url, path), entry)
        assert.equal(smuggled.statusCode, 422, `${name}: ${smuggled.body}`)
      }
      const header = await f.inject({
        method: route.method,
        url: fill(route.url, { id: RANDOM_ID, keyId: RANDOM_ID, name: 'x' }),
        headers: { authorization: `Bearer ${a.keys.admin}`, 'x-tenant-id': b.id },
      })
      assert.equal(header.statusCode, 400, name)
    }
  })

  it('lets an ops key publish only into a tenant that it names and that exists', async () => {
    for (const name of ['POST /api/events', 'POST /api/notifications', 'POST /api/notifications/batch']) {
      const [, url = ''] = name.split(' ')
      const body = ENTRIES[name]?.body?.()
      assert.equal((await f.call(f.opsKey, 'POST', url, body)).json().code, 'invalid_query')
      assert.equal((await f.call(f.opsKey, 'POST', `${url}?tenantId=nobody`, body)).statusCode, 404)
      assert.equal((await f.call(f.opsKey, 'POST', `${url}?tenantId=${a.id}`, body)).statusCode, ENTRIES[name]?.ok)
    }
  })

  it('refuses fields and parameters it does not know, on every route', async () => {
    for (const route of f.app.routeTable.filter(({ url }) => !isWebhook(url)).filter(isForAdmins)) {
      const name = nameOf(route)
      const { method } = route
      const token = route.url.startsWith('/ops') ? f.opsKey : a.keys.admin
      const path = fill(route.url, (await ENTRIES[name]?.path?.(a)) ?? {})
      const asked = await f.call(token, method, `${path}?nonsense=1`, ENTRIES[name]?.body?.())
      assert.equal(asked.statusCode, 422, `${name}: ${asked.body}`)
      assert.equal(asked.json().code, 'invalid_query')
      if (method === 'GET' || ENTRIES[name]?.isForeign) continue
      const body = { ...(ENTRIES[name]?.body?.() as object), status: 'sent', attempts: [], cost: 0 }
      const given = await f.call(token, method, path, body)
      assert.equal(given.statusCode, 422, `${name}: ${given.body}`)
    }
  })

  async function request(
    name: string,
    role: Role,
    caller: TestTenant,
    owner: TestTenant,
    parameters: Record<string, string> = {},
    query = role === 'ops' && name.includes(' /api/') ? `?tenantId=${caller.id}` : '',
  ) {
    const entry = ENTRIES[name]
    assert.ok(entry)
    const [method, url = ''] = name.split(' ')
    const path = fill(url, { ...(await entry.path?.(owner)), ...parameters })
    const asked = [query.slice(1), entry.query ?? ''].filter((part) => part !== '').join('&')
    const to = asked === '' ? path : `${path}?${asked}`
    const key = role === 'ops' ? f.opsKey : caller.keys[role]
    return entry.isStream ? begin(key, to) : f.call(key, method ?? 'GET', to, entry.body?.())
  }
})

/** An answer that may not end by itself: where it is one of those, it is let go as soon as it has begun. */
async function begin(key: string, url: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}` }
  const { statusCode, ...answer } = await f.app.inject({ method: 'GET', url, headers, payloadAsStream: true })
  const stream = answer.stream()
  if (statusCode === 200) stream.destroy()
  const body = statusCode === 200 ? '' : await text(stream)
  return { statusCode, headers: answer.headers, body, json: () => JSON.parse(body) as AnswerJson }
}

/** What vendors call, who add to it what they like, and prove themselves in their own way. */
function isWebhook(url: string): boolean {
  return url.startsWith('/api/webhooks/')
}

/** The path names something that belongs to a tenant, and is there or is not. */
function isOfTenant(route: RouteEntry): boolean {
  const { url } = route
  if (!url.startsWith('/api/') || !url.includes(':') || isWebhook(url)) return false
  return isForAdmins(route) && !ENTRIES[nameOf(route)]?.isEverybodys
}

/** Inboxes are for users and their applications alone, and tested so in inbox.test.ts. */
function isForAdmins({ access }: RouteEntry): boolean {
  return access === 'public' || access.includes('admin')
}

function nameOf({ method, url }: { method: string; url: string }): string {
  return `${method} ${url}`
}

function fill(url: string, parameters: Record<string, string>): string {
  return url.replaceAll(/:(\w+)/g, (_, name: string) => parameters[name] ?? `:${name}`)
}

function withoutId(answer: Answer): unknown {
  const { requestId: _, ...rest } = answer.json()
  return { statusCode: answer.statusCode, ...rest }
}

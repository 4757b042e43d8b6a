import assert from 'node:assert/strict'
import { type Answer, request } from './api.ts'
import { until } from './until.ts'

/** A tenant of a running product, used as its application and its admin use it: over HTTP. */
export interface TestTenant {
  readonly id: string
  readonly adminKey: string
  call(method: string, target: string, body?: unknown): Promise<Answer>
  /** Makes a channel account. */
  account(body: object): Promise<Account>
  /** Makes another key of this role; answers the key itself. */
  key(role: string): Promise<string>
  /** An event over HTTP that is expected to be taken; answers its id. */
  publish(event: object): Promise<string>
  /** A notification without an event that is expected to be taken; answers its id. */
  submit(notification: object): Promise<string>
  /** Submits a notification and waits until it is sent. */
  send(notification: object): Promise<Notification>
  notification(id: string): Promise<Notification>
  /** Waits until a notification has this status. */
  comesTo(id: string, status: string): Promise<Notification>
  /** Waits until a notification is neither to be sent nor being sent. */
  comesToRest(id: string): Promise<Notification>
  /** Waits until nothing is left to do for this tenant at this time. */
  settle(): Promise<void>
  /** What the sandbox was sent, oldest first; settles before. */
  inbox(): Promise<Message[]>
  /** Oldest first, whole; settles before. */
  notifications(query?: string): Promise<Notification[]>
  /** Oldest first; settles before. */
  schedules(query?: string): Promise<Schedule[]>
}

export interface Account {
  id: string
  webhookUrl: string
  status: string
  statusReason: string | null
}

export interface To {
  name?: string
  phone?: string
  email?: string
  deviceToken?: string
  platform?: string
  list?: string
  bcc?: string[]
}

/** What the sandbox took in place of a vendor. */
export interface Message {
  channel: string
  key: string
  notificationId: string
  to: To
  subject: string | null
  body: string
  data: Record<string, unknown>
  providerTemplate: ProviderTemplate | null
}

/** A notification as the API answers it. */
export interface Notification {
  correlationId: string | null
  id: string
  status: string
  reason: string | null
  lastError: string | null
  channel: string
  provider: string
  accountId: string
  to: To
  eventType: string
  locale: string | null
  idempotencyKey: string
  possibleDuplicate: boolean
  attemptCount: number
  attempts: { outcome: string; provider: string }[]
  audit: { action: string; reason: string | null }[]
  receipts: { kind: string }[]
  providerMessageId: string | null
  deliveredAt: string | null
  readAt: string | null
  nextAttemptAt: string | null
  templateId: string | null
  triggeredBy: string
  resolvedTargets: string[] | null
  warnings: { code: string; key?: string; message: string }[]
  content: { subject: string | null; body: string; providerTemplate?: ProviderTemplate } | null
  isSealed: boolean
  isScrubbed: boolean
  fallbackOf: string | null
  fallbackTo: string | null
  contactId: string | null
  conversationId: string | null
}

export interface ProviderTemplate {
  name: string
  language: string
  components: { type: string; parameters: { type: string; text: string }[] }[]
}

export interface Schedule {
  id: string
  eventId: string
  eventType: string
  dueAt: string
  status: string
  lastError: string | null
  approvedBy?: string | null
}

/** `url` is asked each time: a product that was started again listens elsewhere. */
export function tenantOf({ id, adminKey }: Pick<TestTenant, 'id' | 'adminKey'>, url: () => string): TestTenant {
  const call: TestTenant['call'] = (method, target, body) =>
    request(url() + target, { key: adminKey, method, ...(body !== undefined && { body }) })

  async function answered<T>(status: number, method: string, target: string, body?: unknown): Promise<T> {
    const answer = await call(method, target, body)
    assert.equal(answer.status, status, `${method} ${target}: ${JSON.stringify(answer.body)}`)
    return answer.body as T
  }

  async function list<T>(target: string): Promise<T[]> {
    return (await answered<{ items: T[] }>(200, 'GET', target)).items.toReversed()
  }

  async function hasPendingEvents(): Promise<boolean> {
    const { body } = await request(`${url()}/ops/outbox?tenantId=${id}&status=pending&limit=1`, { method: 'GET' })
    return (body['items'] as unknown[]).length > 0
  }

  /** In the order of the flow, so that nothing can slip from a part not looked at yet to one looked at before. */
  async function isSettled(): Promise<boolean> {
    if (await hasPendingEvents()) return false
    if ((await list('/api/automation-schedules?status=pending&due=past&limit=1')).length > 0) return false
    return (await list('/api/notifications?status=queued&status=sending&limit=1')).length === 0
  }

  const tenant: TestTenant = {
    id,
    adminKey,
    call,
    account: (body) => answered(201, 'POST', '/api/channel-accounts', body),
    key: async (role) => (await answered<{ key: string }>(201, 'POST', '/api/keys', { name: role, role })).key,
    publish: async (event) => (await answered<{ id: string }>(202, 'POST', '/api/events', event)).id,
    submit: async (notification) =>
      (await answered<{ id: string }>(202, 'POST', '/api/notifications', notification)).id,
    send: async (notification) => tenant.comesTo(await tenant.submit(notification), 'sent'),
    notification: (notificationId) => answered(200, 'GET', `/api/notifications/${notificationId}`),
    async comesTo(notificationId, status) {
      const target = `/api/notifications/${notificationId}/status`
      await until(`notification ${notificationId} of tenant ${id} is ${status}`, async () => {
        return (await answered<{ status: string }>(200, 'GET', target)).status === status
      })
      return tenant.notification(notificationId)
    },
    comesToRest: (notificationId) =>
      until(`notification ${notificationId} of tenant ${id} is at rest`, async () => {
        const found = await tenant.notification(notificationId)
        return !['queued', 'sending', 'retrying'].includes(found.status) && found
      }),
    async settle() {
      await until(`tenant ${id} has nothing left to do`, isSettled)
    },
    async inbox() {
      await tenant.settle()
      return list('/api/sandbox/messages?limit=200')
    },
    async notifications(query = '') {
      await tenant.settle()
      const found = await list<{ id: string }>(`/api/notifications?limit=200&${query}`)
      return Promise.all(found.map((notification) => tenant.notification(notification.id)))
    },
    async schedules(query = '') {
      await tenant.settle()
      return list(`/api/automation-schedules?limit=200&${query}`)
    },
  }
  return tenant
}

import { type Answer, request as ask, succeed } from '../support/api.ts'
import { until } from '../support/until.ts'

/**
 * An application that uses the product over HTTP, and the tenant it does so with. One event becomes one notification on
 * each channel, and each channel's account treats an unknown outcome in its own way, so one run covers all four:
 *
 *   email     honours keys: the call is simply made again, and the vendor takes it for the same
 *   webhook   can be asked what became of a call
 *   sms       neither, and sends again: flagged
 *   whatsapp  neither, and holds for an operator
 */
export const TENANT = 'shop'
export const EVENT_TYPE = 'order.paid'

export const POLICIES = {
  email: { settings: {}, onUnknown: 'resend' },
  webhook: { settings: { lookup: true }, onUnknown: 'resend' },
  sms: { settings: { honoursKeys: false }, onUnknown: 'resend' },
  whatsapp: { settings: { honoursKeys: false }, onUnknown: 'hold' },
} as const
export type ShopChannel = keyof typeof POLICIES
export const SHOP_CHANNELS = Object.keys(POLICIES) as ShopChannel[]

export interface ShopOptions {
  channels?: readonly ShopChannel[]
  /** How long every provider call takes. */
  latencyMs?: number
}

/** Makes the tenant and its accounts through the API of a running process. */
export async function openShop(
  url: string,
  { channels = SHOP_CHANNELS, latencyMs = 0 }: ShopOptions = {},
): Promise<void> {
  const templates = channels.map((channel) => ({ channel, body: 'Order {{orderId}} is paid' }))
  const catalogue = {
    name: 'shop',
    defaultLocale: 'en',
    eventTypes: {
      [EVENT_TYPE]: {
        entity: 'order',
        once: 'per-event',
        recipients: [{ phone: 'phone', email: 'email', url: 'url' }],
        delivery: { all: true },
        templates,
      },
    },
  }
  await call(url, 'POST', '/ops/tenants', { id: TENANT, name: 'Shop', catalogue })
  for (const channel of channels)
    await call(url, 'POST', `/api/channel-accounts?tenantId=${TENANT}`, {
      channel,
      provider: 'sandbox',
      name: channel,
      settings: { ...POLICIES[channel].settings, latencyMs },
      onUnknown: POLICIES[channel].onUnknown,
      retry: { maxAttempts: 20, fixed: 'PT0.05S' },
      breaker: { failures: 1_000, resetAfter: 'PT1S' },
    })
}

/** Where orders would be kept. `acknowledged`: answered with success, so the product answers for it from then on. */
export interface Order {
  id: string
  acknowledged: boolean
}

export function newOrders(count: number, prefix: string): Order[] {
  return Array.from({ length: count }, (_, i) => ({ id: `${prefix}-${i + 1}`, acknowledged: false }))
}

export function eventOf({ id }: Order) {
  return {
    id,
    type: EVENT_TYPE,
    entity: { type: 'order', id },
    payload: { orderId: id, phone: '+12025550100', email: 'ana@example.test', url: 'https://ana.example.test/hook' },
  }
}

/** Publishes in one request. Answers the status, or 0 when no answer came. */
export async function publish(url: string, orders: readonly Order[]): Promise<Answer<unknown>> {
  const [only] = orders
  const body = orders.length === 1 && only ? eventOf(only) : orders.map(eventOf)
  const answer = await request(url, 'POST', `/api/events?tenantId=${TENANT}`, body)
  if (answer.status === 200 || answer.status === 202) for (const order of orders) order.acknowledged = true
  return answer
}

/** Sends a notification of its own, under a key named for the order; a 409 says that it is already there. */
export async function submit(url: string, order: Order, channel: ShopChannel): Promise<Answer<unknown>> {
  const to = { email: 'ana@example.test', phone: '+12025550100', url: 'https://ana.example.test/hook' }
  const body = { idempotencyKey: order.id, channel, to, body: `Order ${order.id} is paid` }
  const answer = await request(url, 'POST', `/api/notifications?tenantId=${TENANT}`, body)
  if (answer.status === 202 || answer.status === 409) order.acknowledged = true
  return answer
}

/** Publishes what is not acknowledged yet, as a client does after an error: same ids, until every one is. */
export async function publishUntilAcknowledged(url: string, orders: readonly Order[]): Promise<void> {
  await until('every event is acknowledged', async () => {
    for (const order of orders) if (!order.acknowledged) await publish(url, [order])
    return orders.every((order) => order.acknowledged)
  })
}

/** A request as a client makes it: where no answer comes, the status is 0. */
export async function request(url: string, method: string, path: string, body?: unknown): Promise<Answer<unknown>> {
  const startedAt = performance.now()
  return ask<unknown>(url + path, { method, ...(body !== undefined && { body }) }).catch((error: unknown) => ({
    status: 0,
    body: String(error),
    retryAfter: null,
    tookMs: performance.now() - startedAt,
  }))
}

/** A request that must succeed. */
export function call<T>(url: string, method: string, path: string, body?: unknown): Promise<T> {
  return succeed<T>(url + path, { method, ...(body !== undefined && { body }) })
}

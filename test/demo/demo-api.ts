import { until } from '../support/until.ts'

/** The product's own door, as an application and its operators use it. */
export interface DemoApi {
  call<T>(method: string, path: string, body?: unknown, key?: string): Promise<T>
  /** Until nothing of the tenant is left to do at this time. */
  settle(tenantId: string): Promise<void>
}

interface Waiting {
  items: { nextAttemptAt: string | null }[]
}

export function demoApi(url: string, opsKey: string, now: () => number): DemoApi {
  async function call<T>(method: string, path: string, body?: unknown, key = opsKey): Promise<T> {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
    return (text === '' ? null : JSON.parse(text)) as T
  }

  async function isBusy(tenantId: string): Promise<boolean> {
    const some = (path: string) => call<Waiting>('GET', `${path}&tenantId=${tenantId}`)
    if ((await some('/ops/outbox?status=pending&limit=1')).items.length > 0) return true
    if ((await some('/api/automation-schedules?status=pending&due=past&limit=1')).items.length > 0) return true
    const { items } = await some('/api/notifications?status=queued&status=sending&status=retrying&limit=200')
    const soon = now() + 120_000
    return items.some(({ nextAttemptAt }) => nextAttemptAt === null || Date.parse(nextAttemptAt) < soon)
  }

  return {
    call,
    async settle(tenantId) {
      await until(`${tenantId} has nothing left to do`, async () => !(await isBusy(tenantId)))
    },
  }
}

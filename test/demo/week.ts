import { ACCOUNTS, CATALOGUE } from './catalogue.ts'
import type { DemoApi } from './demo-api.ts'
import type { PastClock } from './past-clock.ts'
import { createTraffic, type Traffic } from './traffic.ts'

const TENANT = 'demo'
export const DAYS = 7
const HOUR = 3_600_000
const ON = `tenantId=${TENANT}`

export interface WeekDeps {
  api: DemoApi
  clock: PastClock
  seed: number
  /** When the week is over. */
  end: number
  say: (line: string) => void
}

interface Made {
  id: string
}

/** Makes a tenant and has it live through a week, through the product's own doors: the same seed makes the same week. */
export async function liveThroughWeek({ api, clock, seed, end, say }: WeekDeps): Promise<void> {
  const { accounts, keys } = await provision(api)
  const traffic = createTraffic(seed)
  const reported = { last: '' }
  const start = end - DAYS * 24 * HOUR
  for (let at = start; at < end; at += HOUR) {
    clock.jumpTo(at)
    const hour = new Date(at).getUTCHours()
    if (hour === 0) say(`  ${new Date(at).toISOString().slice(0, 10)}`)
    await misbehave(api, accounts, at - start)
    const events = traffic.eventsAt(at)
    if (events.length > 0) await api.call('POST', '/api/events', events, keys.get('booking-engine'))
    await api.settle(TENANT)
    await report(api, traffic, reported)
    if (hour === 18) await operate(api, traffic, keys.get('front-desk'))
  }
  clock.jumpTo(end)
  await api.settle(TENANT)
  await linger(api, { accounts, keys }, end)
}

interface Hotel {
  /** The ids of its accounts and the secrets of its keys, by their names. */
  accounts: Map<string, string>
  keys: Map<string, string>
}

const ROLES = [
  ['front-desk', 'operator'],
  ['booking-engine', 'publisher'],
  ['auditor', 'viewer'],
  ['manager', 'admin'],
] as const

async function provision(api: DemoApi): Promise<Hotel> {
  const settings = { defaultLocale: 'en', timeZone: 'Europe/Rome', region: 'IT', retention: 'P180D' }
  await api.call('POST', '/ops/tenants', { id: TENANT, name: 'Harbour Rooms', ...settings, catalogue: CATALOGUE })
  await api.call('POST', '/ops/tenants', { id: 'annex', name: 'Harbour Annex', catalogue: CATALOGUE })
  const accounts = new Map<string, string>()
  for (const account of ACCOUNTS) {
    const made = await api.call<Made>('POST', `/api/channel-accounts?${ON}`, { provider: 'sandbox', ...account })
    accounts.set(account.name, made.id)
  }
  await api.call('POST', `/api/channel-accounts/${accounts.get('texts-spare')}/suspend?${ON}`)
  const keys = new Map<string, string>()
  for (const [name, role] of ROLES)
    keys.set(name, (await api.call<{ key: string }>('POST', `/api/keys?${ON}`, { name, role })).key)
  for (const [name, count] of [
    ['staff', 12],
    ['newsletter', 140],
  ] as const) {
    const members = Array.from({ length: count }, (_, place) => ({
      name: `${name === 'staff' ? 'Desk' : 'Guest'} ${place + 1}`,
      email: `${name}${place + 1}@example.com`,
      ...(place % 3 === 0 && { phone: `+1202555${String(100 + (place % 80)).padStart(4, '0')}` }),
    }))
    await api.call('POST', `/api/recipient-lists?${ON}`, { name, members })
  }
  return { accounts, keys }
}

/** What goes wrong in the week, by the hours that it is old. */
async function misbehave(api: DemoApi, accounts: Map<string, string>, age: number): Promise<void> {
  const fault = (account: string, given: object): Promise<unknown> =>
    api.call('POST', `/api/sandbox/faults?${ON}`, { accountId: accounts.get(account), fault: given })
  const stop = (): Promise<unknown> => api.call('DELETE', `/api/sandbox/faults?${ON}`)
  switch (Math.round(age / HOUR)) {
    case 15:
      return void (await fault('texts', { kind: 'server_error', ratio: 0.4 }))
    case 20:
      return void (await stop())
    case 57:
      return void (await fault('texts', { kind: 'permanent', reason: 'permanent_refusal', times: 14 }))
    case 82:
      return void (await fault('chat', { kind: 'timeout_after_accept', delayMs: 0, times: 6 }))
    case 106:
      return void (await fault('post', { kind: 'permanent', reason: 'content_rejected', times: 5 }))
    case 130:
      return void (await stop())
    case 138:
      return void (await fault('texts', { kind: 'permanent', reason: 'template_rejected', times: 9 }))
    case 153:
      return void (await fault('chat', { kind: 'timeout_after_accept', delayMs: 0, times: 4 }))
    case 164:
      await stop()
      return void (await fault('texts', { kind: 'server_error' }))
    default:
  }
}

/** What vendors say of the hour's messages later on. */
async function report(api: DemoApi, traffic: Traffic, reported: { last: string }): Promise<void> {
  const path = `/api/sandbox/messages?limit=200&${ON}`
  const { items } = await api.call<{ items: { id: string; channel: string; notificationId: string }[] }>('GET', path)
  // What nobody knows about stays so: the vendor does not tell either.
  const unknown = await api.call<{ items: Made[] }>('GET', `/api/notifications?status=uncertain&limit=200&${ON}`)
  const silent = new Set(unknown.items.map(({ id }) => id))
  const fresh = items.filter(({ id, notificationId }) => id > reported.last && !silent.has(notificationId)).toReversed()
  reported.last = items[0]?.id ?? reported.last
  for (const { id, channel } of fresh)
    for (const kind of traffic.receiptsOf(channel))
      await api.call('POST', `/api/sandbox/messages/${id}/receipts?${ON}`, { kind })
}

/** Their addresses are suppressed by now: they stay where they are. */
const SUPPRESSING = ['bounced', 'complained', 'suppressed', 'invalid_recipient']

/** The evening's round: some of what stopped is retried, some given up, each with a note. */
async function operate(api: DemoApi, traffic: Traffic, desk: string | undefined): Promise<void> {
  const parked = `/api/notifications?status=parked&limit=20&${ON}`
  const { items } = await api.call<{ items: (Made & { reason: string })[] }>('GET', parked)
  for (const { id, reason } of items) {
    const act = traffic.actOf()
    if (act && !SUPPRESSING.includes(reason))
      await api.call('POST', `/api/notifications/${id}/${act.name}`, { note: act.note }, desk)
  }
  const awaiting = await api.call<{ items: Made[] }>(
    'GET',
    `/api/automation-schedules?status=awaiting_approval&limit=20&${ON}`,
  )
  for (const [place, { id }] of awaiting.items.entries())
    if (place % 3 === 0) await api.call('POST', `/api/automation-schedules/${id}/approve`, undefined, desk)
}

/** How things stand at the end: a fault that is active, addresses that are not used, and what is due in the coming days. */
async function linger(api: DemoApi, { accounts, keys }: Hotel, end: number): Promise<void> {
  for (let day = 1; day <= 5; day += 1)
    await api.call(
      'POST',
      '/api/notifications',
      {
        channel: 'email',
        to: { email: `guest${day}@example.com`, name: `Guest ${day}` },
        subject: 'How was your stay?',
        body: 'Tell us with one click.',
        dueAt: new Date(end + day * 24 * HOUR).toISOString(),
      },
      keys.get('booking-engine'),
    )
  await api.call('POST', `/api/suppressions?${ON}`, { channel: 'email', address: 'newsletter7@example.com' })
  await api.call('POST', `/api/suppressions?${ON}`, { channel: 'sms', address: '+12025550112' })
  const fault = { kind: 'slow', delayMs: 800, ratio: 0.2 }
  await api.call('POST', `/api/sandbox/faults?${ON}`, { accountId: accounts.get('phones'), fault })
}

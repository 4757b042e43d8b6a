import { demoApi } from './demo-api.ts'
import type { DemoWorld } from './demo-world.ts'

interface Listed {
  items: {
    id: string
    entity?: { type: string; id: string } | null
    contactId?: string | null
    conversationId?: string | null
  }[]
}

/** Each screen by its name, and the address it has with what the week left. */
export async function screensOf({ url, opsKey }: DemoWorld): Promise<Record<string, string>> {
  const api = demoApi(url, opsKey, Date.now)
  const first = async (asked: string) => (await api.call<Listed>('GET', `${asked}tenantId=demo&limit=1`)).items[0]
  const parked = await first('/api/notifications?status=parked&')
  const read = await first('/api/notifications?status=read&channel=whatsapp&')
  const event = await first('/api/events?type=booking.confirmed&')
  const list = await first('/api/recipient-lists?')
  const schedule = await first('/api/automation-schedules?')
  const template = await first('/api/message-templates?channel=email&')
  const account = await first('/api/channel-accounts?')
  const { type = 'booking', id: entityId = '' } = read?.entity ?? {}
  return {
    overview: '/?last=7d',
    notifications: '/notifications',
    causes: '/notifications?group=cause&status=parked,uncertain',
    'notification-parked': `/notifications/${parked?.id}`,
    'notification-read': `/notifications/${read?.id}`,
    events: '/events',
    event: `/events/${event?.id}`,
    schedules: '/schedules',
    'schedules-month': '/schedules?view=month',
    schedule: `/schedules/${schedule?.id}`,
    operations: '/operations',
    templates: '/templates',
    template: `/templates/${template?.id}`,
    catalogue: '/catalogue',
    'event-type': '/catalogue/booking.confirmed',
    accounts: '/accounts',
    account: `/accounts/${account?.id}`,
    'account-new': '/accounts/new',
    contacts: '/contacts',
    suppressed: '/contacts?tab=suppressed',
    contact: `/contacts/${read?.contactId}`,
    conversation: `/conversations/${read?.conversationId}`,
    lists: '/lists',
    list: `/lists/${list?.id}`,
    'sandbox-mail': '/sandbox?channel=email',
    'sandbox-chat': '/sandbox?channel=whatsapp',
    'sandbox-push': '/sandbox?channel=push',
    faults: '/sandbox/faults',
    audit: '/audit',
    keys: '/keys',
    settings: '/settings',
    workers: '/workers',
    entity: `/entities/${type}/${entityId}`,
    'entity-embedded': `/entities/${type}/${entityId}?embed=1`,
  }
}

import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { openBrowser, type Visitor, visit } from '../browser/browser.ts'
import { demoApi } from './demo-api.ts'
import { type DemoWorld, startDemo } from './demo-world.ts'

/**
 * Pictures of every screen, in both themes, as wide as a desk and as narrow as a phone, from the demonstration's week.
 * `npm run screenshots -- --out DIR`; with `--only lists` those whose name has it.
 */
const SIZES = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const
const THEMES = ['light', 'dark'] as const

interface Listed {
  items: {
    id: string
    entity?: { type: string; id: string } | null
    contactId?: string | null
    conversationId?: string | null
  }[]
}

/** Each screen by its name, and the address it has with what the week left. */
async function screensOf({ url, opsKey }: DemoWorld): Promise<Record<string, string>> {
  const api = demoApi(url, opsKey, Date.now)
  const first = async (asked: string) => (await api.call<Listed>('GET', `${asked}tenantId=demo&limit=1`)).items[0]
  const parked = await first('/api/notifications?status=parked&')
  const read = await first('/api/notifications?status=read&channel=whatsapp&')
  const event = await first('/api/events?type=booking.confirmed&')
  const list = await first('/api/recipient-lists?')
  const schedule = await first('/api/automation-schedules?')
  const template = await first('/api/templates?channel=email&')
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

async function take(visitor: Visitor, address: string, file: string): Promise<void> {
  await visitor.page.goto(address)
  await visitor.page.getByRole('heading', { level: 1 }).waitFor()
  await visitor.page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {})
  await visitor.page.screenshot({ path: file, fullPage: true })
}

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'screenshots' },
    dir: { type: 'string' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
  },
})
const say = (line: string): void => void process.stderr.write(`${line}\n`)
const demo = await startDemo({ dir: values.dir ?? null, port: 0, seed: Number(values.seed), say })
const browser = await openBrowser()
try {
  const screens = Object.entries(await screensOf(demo)).filter(([name]) => name.includes(values.only))
  await mkdir(values.out, { recursive: true })
  for (const colorScheme of THEMES)
    for (const [size, viewport] of Object.entries(SIZES)) {
      const visitor = await visit(browser, demo.url, { colorScheme, viewport })
      await visitor.page.goto('/login')
      await visitor.page.getByLabel('API key').fill(demo.opsKey)
      await visitor.page.getByRole('button', { name: 'Sign in' }).click()
      await visitor.page.getByRole('heading', { name: 'Overview' }).waitFor()
      for (const [name, address] of screens)
        await take(visitor, address, path.join(values.out, `${name}-${size}-${colorScheme}.png`))
      for (const complaint of visitor.complaints) say(`${size} ${colorScheme}: ${complaint}`)
      await visitor.close()
      say(`${screens.length} screens, ${size}, ${colorScheme}`)
    }
} finally {
  await browser.close()
  await demo.stop()
}

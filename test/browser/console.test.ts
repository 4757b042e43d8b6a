import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Route } from 'playwright-core'
import { ensureBuilt } from '../../packages/console/ensure-built.ts'
import type { TestTenant } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { openWorld, type World } from '../support/world.ts'
import { assertAccessible, openBrowser, signIn, type Visitor, visit } from './browser.ts'

/** Does something if any page runs it: `stolen` stands on every page of these tests. */
const PLANTED = `<img src=x onerror="stolen('attribute')"><script>stolen('element')</script>`

/** In the page: by how much it is wider than the screen. */
const TOO_WIDE_BY = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

const CATALOGUE = {
  name: 'shop',
  defaultLocale: 'en',
  entities: { order: 'orders' },
  eventTypes: {
    'order.paid': {
      entity: 'order',
      recipients: [{ email: 'email', phone: 'phone', name: 'name' }],
      delivery: { channels: ['email', 'sms'] },
      timing: { after: 'PT0S' },
      templates: [
        {
          channel: 'email',
          locale: 'en',
          subject: 'Order {{orderId}}',
          body: '<h1>Thanks</h1><p>Paid: {{orderId}}</p>',
        },
        { channel: 'sms', locale: 'en', body: 'Order {{orderId}} is paid.' },
      ],
    },
  },
}

describe('the console in a browser', () => {
  let world: World
  let browser: Browser
  let shop: TestTenant
  let operator: string
  let viewer: string

  before(async () => {
    const said: string[] = []
    await ensureBuilt((line) => said.push(line))
    assert.ok(!said.some((line) => line.includes('could not')), said.join('\n'))
    world = await openWorld('sqlite')
    await world.start({ api: true, worker: true, offersLink: true })
    shop = await world.tenant({ catalogue: CATALOGUE, channels: ['email', 'sms'] })
    ;[operator, viewer] = [await shop.key('operator'), await shop.key('viewer')]
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await world?.[Symbol.asyncDispose]()
  })

  /** Somebody's browser, which must have had nothing to complain of when they leave. */
  async function asVisitor(
    work: (visitor: Visitor) => Promise<void>,
    options: Parameters<typeof visit>[2] = {},
  ): Promise<void> {
    const visitor = await visit(browser, world.url, options)
    try {
      await work(visitor)
      assert.deepEqual(visitor.complaints, [])
    } finally {
      await visitor.close()
    }
  }

  function publish(orderId: string, payload: object = {}): Promise<string> {
    return shop.publish({
      type: 'order.paid',
      entity: { type: 'order', id: orderId },
      payload: { orderId, name: 'Ada', email: 'ada@example.test', phone: '+12025550100', ...payload },
    })
  }

  /** One that the vendor refuses once, and then takes. */
  async function park(): Promise<string> {
    const id = await shop.submit({ channel: 'sms', to: { phone: '+12025550191' }, body: 'never' })
    await shop.comesTo(id, 'parked')
    return id
  }

  it('lets whoever opens the link of a start in, once', async () => {
    await asVisitor(async ({ page }) => {
      await page.goto(world.consoleLink)
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      assert.equal(new URL(page.url()).search, '')
      await page.getByRole('button', { name: /configured · ops/ }).waitFor()
    })
    await asVisitor(async ({ page }) => {
      await page.goto(world.consoleLink)
      await page.getByRole('alert').getByText('does not let you in').waitFor()
      assert.doesNotMatch(page.url(), /t=/)
    })
  })

  it('shows a notification while it is delivered, without being asked again', async () => {
    await asVisitor(async (visitor) => {
      await signIn(visitor, operator)
      await visitor.goTo('/notifications')
      const { page } = visitor
      await page.getByRole('button', { name: 'Updates: live' }).waitFor()
      await publish('seen-live')

      // Where rows are shown already, new ones wait behind a button; an empty list takes them in at once.
      const waiting = page.getByRole('button', { name: /new · show/ })
      await waiting.or(page.getByText('order seen-live').first()).first().waitFor()
      if (await waiting.isVisible()) await waiting.click()

      const row = page.getByRole('row').filter({ hasText: 'order seen-live' }).filter({ hasText: 'SMS' })
      await row.getByText('delivered').or(row.getByText('sent')).first().waitFor()
      await row.getByRole('link').click()
      await page.getByText('Attempt 1 taken by sandbox').waitFor()
      await page.getByText('Order seen-live is paid.').waitFor()
    })
  })

  it('shows on tiles how much waits, is stuck and is parked, each of which leads to what it counts', async () => {
    const id = await park()
    await asVisitor(async (visitor) => {
      await signIn(visitor, viewer)
      const { page } = visitor
      for (const name of ['Queue', 'Stuck', 'Uncertain', 'Oldest pending'])
        await page.getByRole('link', { name: new RegExp(`^${name}`) }).waitFor()
      const parked = page.getByRole('link', { name: /^Parked [1-9]/ })
      await parked.waitFor()
      await parked.click()
      await page
        .getByRole('link', { name: /the sandbox says/ })
        .first()
        .click()
      await page.locator(`a[href="/notifications/${id}"]`).waitFor()
    })
  })

  it('shows only what another filter leaves', async () => {
    await publish('narrowed')
    await asVisitor(async (visitor) => {
      await signIn(visitor, viewer)
      const { page } = visitor
      await visitor.goTo('/notifications')
      const emails = page.getByRole('cell', { name: 'email', exact: true })
      await emails.first().waitFor()
      await page.getByLabel('Channel').selectOption('sms')
      await page.getByRole('cell', { name: 'SMS', exact: true }).first().waitFor()
      await until('no email is listed', async () => (await emails.count()) === 0)
    })
  })

  it('comes back by itself where its stream was refused', async () => {
    await asVisitor(async (visitor) => {
      const { page } = visitor
      let refused = 0
      const refuse = async (route: Route): Promise<void> => {
        refused++
        await route.fulfill({ status: 429 })
      }
      await page.route('**/api/stream*', refuse, { times: 1 })
      await signIn(visitor, viewer)

      await page.getByRole('button', { name: 'Updates: live' }).waitFor()
      assert.equal(refused, 1)
    })
  })

  it('has one stream however many tabs are open, and another takes over when its tab is closed', async () => {
    await asVisitor(async (visitor) => {
      await signIn(visitor, operator)
      const context = visitor.page.context()
      let streams = 0
      context.on('request', (request) => {
        if (request.url().includes('/api/stream')) streams += 1
      })
      await visitor.page.getByRole('button', { name: 'Updates: live' }).waitFor()
      const tabs = await Promise.all(Array.from({ length: 6 }, () => context.newPage()))
      for (const tab of tabs) {
        await tab.goto('/')
        await tab.getByRole('heading', { name: 'Overview' }).waitFor()
      }
      for (const tab of tabs) await tab.getByRole('button', { name: 'Updates: live' }).waitFor()
      assert.equal(streams, 0)
      await visitor.page.close()
      await until('another tab has the stream', () => streams === 1)
    })
  })

  it('retries what is parked, with a note, on record under the name of the key', async () => {
    const id = await park()
    await asVisitor(async (visitor) => {
      await signIn(visitor, operator)
      await visitor.goTo(`/notifications/${id}`)
      const { page } = visitor
      await page.getByRole('button', { name: 'Retry…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Note').fill('the number was ported')
      await dialog.getByRole('button', { name: 'Retry', exact: true }).click()
      await page.getByText('Retry: done').waitFor()
      await page.getByRole('cell', { name: 'the number was ported' }).waitFor()
    })
    const { audit } = (await shop.call('GET', `/api/notifications/${id}`)).body as {
      audit: { actor: string; action: string; note: string | null }[]
    }
    const retry = audit.find(({ note }) => note === 'the number was ported')
    assert.deepEqual([retry?.action, retry?.actor.startsWith('console:')], ['retry', true])
  })

  it('discards, and takes it back', async () => {
    const id = await park()
    await asVisitor(async (visitor) => {
      await signIn(visitor, operator)
      await visitor.goTo(`/notifications/${id}`)
      for (const act of ['Discard', 'Restore']) {
        await visitor.page.getByRole('button', { name: `${act}…` }).click()
        await visitor.page.getByRole('dialog').getByRole('button', { name: act, exact: true }).click()
        await visitor.page.getByText(`${act}: done`).waitFor()
      }
    })
    assert.equal((await shop.notification(id)).status, 'parked')
  })

  it('leaves a viewer nothing to act with, neither on the page nor past it', async () => {
    const id = await park()
    await asVisitor(async (visitor) => {
      await signIn(visitor, viewer)
      await visitor.goTo(`/notifications/${id}`)
      const { page } = visitor
      await page.getByText('You look on as a viewer').waitFor()
      assert.equal(await page.getByRole('button', { name: /Retry|Discard|Park|Cancel|Restore/ }).count(), 0)
      const status = await page.evaluate(
        async (path) => (await fetch(path, { method: 'POST' })).status,
        `/api/notifications/${id}/retry`,
      )
      assert.equal(status, 403)
      const text = await page.locator('main').innerText()
      assert.doesNotMatch(text, /2025550191/)
    })
  })

  it('tells why an event came to what it came to', async () => {
    const id = await publish('explained', { phone: null, email: null })
    await shop.settle()
    await asVisitor(async (visitor) => {
      await signIn(visitor, viewer)
      await visitor.goTo('/events')
      await visitor.page.getByRole('row').filter({ hasText: 'order explained' }).getByRole('link').click()
      await visitor.page.getByRole('heading', { name: /order.paid · order explained/ }).waitFor()
      assert.ok(visitor.page.url().endsWith(`/events/${id}`))
      const steps = visitor.page.getByRole('region', { name: 'What was decided, and why' }).getByRole('listitem')
      await until('an explanation', async () => (await steps.count()) >= 2)
    })
  })

  it('runs nothing that somebody has planted, wherever it is shown', async () => {
    const mail = { channel: 'email', to: { email: 'ada@example.test', name: PLANTED }, subject: PLANTED }
    const html = await shop.submit({ ...mail, body: `<html><body><p>Seen</p>${PLANTED}</body></html>`, format: 'html' })
    const text = await shop.submit({ channel: 'sms', to: { phone: '+12025550100' }, body: PLANTED })
    const event = await publish('planted', { name: PLANTED, orderId: PLANTED })
    await shop.settle()
    const visitor = await visit(browser, world.url)
    await signIn(visitor, operator)
    const { page } = visitor
    for (const path of [`/notifications/${text}`, `/events/${event}`, '/notifications', '/events', '/sandbox', '/'])
      await visitor.goTo(path)
    assert.equal(visitor.complaints.join('\n'), '')
    await visitor.goTo(`/notifications/${html}`)
    await page.frameLocator('iframe').getByText('Seen').waitFor()
    await page.getByText(PLANTED).first().waitFor()
    // In the frame the browser complains of what it did not run and did not load. That it did not is what counts.
    assert.ok(visitor.complaints.some((each) => each.startsWith('Blocked script execution')))
    assert.deepEqual(
      visitor.complaints.filter((each) => each.includes('planted')),
      [],
    )
    await visitor.close()
  })

  it('goes anywhere by keyboard, and finds what an id names', async () => {
    const id = await park()
    await asVisitor(async (visitor) => {
      await signIn(visitor, operator)
      const { page } = visitor
      await page.keyboard.press('g')
      await page.keyboard.press('n')
      await page.getByRole('heading', { name: 'Notifications', level: 1 }).waitFor()
      await page.locator('[data-row]').first().waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'What happened' }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /Where to/ }).fill(id)
      await page.keyboard.press('Enter')
      await page.waitForURL(`**/notifications/${id}`)
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    })
  })

  it('signs out everywhere', async () => {
    await asVisitor(async (first) => {
      await signIn(first, operator)
      await asVisitor(async (second) => {
        await signIn(second, operator)
        await second.page.getByRole('button', { name: /operator/ }).click()
        await second.page.getByRole('menuitem', { name: 'Sign out everywhere' }).click()
        await second.page.getByRole('button', { name: 'Sign in' }).waitFor()
      })
      await first.page.reload()
      await first.page.getByRole('button', { name: 'Sign in' }).waitFor()
    })
  })

  for (const colorScheme of ['light', 'dark'] as const)
    it(`has nothing for axe to find in the ${colorScheme} theme, and breaks no policy`, async () => {
      const parked = await park()
      const event = await publish(`axe-${colorScheme}`)
      await shop.settle()
      await asVisitor(
        async (visitor) => {
          await visitor.goTo('/login')
          await assertAccessible(visitor, '/login')
          await signIn(visitor, operator)
          for (const path of [
            '/',
            '/?as=table',
            '/notifications',
            '/notifications?group=cause',
            '/notifications?q=nothing',
            `/notifications/${parked}`,
            '/events',
            `/events/${event}`,
            '/sandbox',
          ]) {
            await visitor.goTo(path)
            await visitor.page.waitForLoadState('networkidle', { timeout: 1_000 }).catch(() => {})
            await assertAccessible(visitor, path)
          }
          await visitor.goTo(`/notifications/${parked}`)
          await visitor.page.getByRole('button', { name: 'Retry…' }).click()
          await visitor.page.getByLabel('Note').waitFor()
          await assertAccessible(visitor, 'the dialog')
        },
        { colorScheme },
      )
    })

  it('fits a screen of 320 pixels', async () => {
    const parked = await park()
    await asVisitor(
      async (visitor) => {
        await signIn(visitor, operator)
        for (const path of ['/', '/notifications', `/notifications/${parked}`, '/events', '/sandbox']) {
          await visitor.goTo(path)
          const over = await visitor.page.evaluate<number>(TOO_WIDE_BY)
          assert.ok(over <= 0, `${path} is ${over} pixels too wide`)
        }
        const place = await visitor.page.getByRole('link', { name: 'Sandbox', exact: true }).boundingBox()
        assert.ok(place && place.x >= 0 && place.x + place.width <= 320, `the open screen is out of sight: ${place?.x}`)
      },
      { viewport: { width: 320, height: 640 } },
    )
  })
})

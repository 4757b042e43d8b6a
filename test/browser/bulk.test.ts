import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible } from './browser.ts'
import { openDesk } from './desk.ts'

const CATALOGUE = {
  name: 'shop',
  defaultLocale: 'en',
  entities: { order: 'orders' },
  eventTypes: {
    'order.paid': {
      entity: 'order',
      recipients: [{ email: 'email' }],
      delivery: { channels: ['email'] },
      timing: { after: 'PT0S' },
      templates: [{ channel: 'email', locale: 'en', subject: 'Order {{orderId}}', body: 'Paid: {{orderId}}' }],
    },
  },
}

describe('acts on many notifications, in a browser', () => {
  const desk = openDesk({ catalogue: CATALOGUE, channels: ['email', 'sms'] })

  /** The vendor takes no message to this number. */
  async function park(count: number): Promise<string[]> {
    const { tenant } = desk
    const ids: string[] = []
    for (let i = 0; i < count; i++)
      ids.push(await tenant.submit({ channel: 'sms', to: { phone: '+12025550191' }, body: `never ${i}` }))
    for (const id of ids) await tenant.comesTo(id, 'parked')
    return ids
  }

  const rowOf = (page: Page, id: string | undefined) =>
    page.getByRole('row').filter({ has: page.locator(`a[href="/notifications/${id}"]`) })

  it('discards what is ticked, says what it would do before, and lists what became of each', async () => {
    const [first, second, third] = await park(3)
    await desk.as('operator', async ({ page, goTo }) => {
      await goTo('/notifications?status=parked')
      await rowOf(page, first).getByRole('checkbox').check()
      await rowOf(page, second).getByRole('checkbox').check()
      await page.getByText('2 ticked').waitFor()
      await page.getByRole('button', { name: 'Discard 2…' }).click()

      const dialog = page.getByRole('dialog', { name: 'Discard' })
      await dialog.getByRole('region', { name: 'by channel' }).getByText('SMS').waitFor()
      await dialog.getByLabel('Note').fill('the number is gone')
      await dialog.getByRole('button', { name: 'Discard 2 notifications' }).click()
      await page.getByRole('button', { name: 'Watch' }).click()

      await page.getByRole('heading', { name: 'Discard 2 notifications' }).waitFor()
      await page.getByText('waits', { exact: true }).waitFor()
      await page.getByText('2 of 2').waitFor()
      await page.getByRole('region', { name: 'Facts' }).getByText('the number is gone').waitFor()
    })
    const statuses = [first, second, third].map(async (id) => (await desk.tenant.notification(id ?? '')).status)
    assert.deepEqual(await Promise.all(statuses), ['discarded', 'discarded', 'parked'])
  })

  it('takes an act back while nothing is done', async () => {
    const [id] = await park(1)
    await desk.as('operator', async ({ page, goTo }) => {
      await goTo('/notifications?status=parked')
      await rowOf(page, id).getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Discard 1…' }).click()
      await page.getByLabel('Begins after').selectOption('1 hour')
      await page.getByRole('button', { name: 'Discard 1 notification' }).click()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('Nothing was done.').waitFor()
      await goTo('/operations')
      await page.getByRole('row').filter({ hasText: 'Discard' }).getByText('cancelled').first().waitFor()
    })
    assert.equal((await desk.tenant.notification(id ?? '')).status, 'parked')
  })

  it('pauses, resumes and stops an operation', async () => {
    await park(1)
    await desk.as('operator', async ({ page, goTo }) => {
      await goTo('/notifications?status=parked')
      await page.getByRole('button', { name: 'Select all that match' }).click()
      await page.getByRole('button', { name: 'Retry…', exact: true }).click()
      await page.getByLabel('Begins after').selectOption('1 hour')
      await page.getByRole('button', { name: /^Retry \d+ notifications?$/ }).click()
      await page.getByRole('button', { name: 'Watch' }).click()
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('paused', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('waits', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Cancel…' }).click()
      await page.getByRole('button', { name: 'Stop it' }).click()
      await page.getByText('cancelled', { exact: true }).waitFor()
      assert.equal(await page.getByRole('button', { name: /Undo|Pause|Resume|Cancel/ }).count(), 0)
    })
  })

  it('ticks by keyboard, a range with shift, and opens the dialog of an act', async () => {
    await park(4)
    await desk.as('operator', async ({ page, goTo }) => {
      await goTo('/notifications?status=parked')
      await page.locator('[data-row]').first().waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('x')
      await page.getByText('1 ticked').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('Shift+X')
      await page.getByText('3 ticked').waitFor()
      await page.keyboard.press('d')
      await page.getByRole('button', { name: 'Discard 3 notifications' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByText('3 ticked').waitFor()
    })
  })

  it('releases a cause as a group, and makes whoever sends to more than a hundred type the number', async () => {
    const items = Array.from({ length: 101 }, (_, i) => ({
      channel: 'sms',
      to: { phone: '+12025550191' },
      body: `many ${i}`,
    }))
    await desk.tenant.call('POST', '/api/notifications/batch', { items })
    await desk.tenant.settle()
    await desk.as('operator', async ({ page, goTo }) => {
      await goTo('/notifications?group=cause&status=parked')
      await page.getByRole('button', { name: /^Retry these 1\d\d…$/ }).click()
      const start = page.getByRole('button', { name: /^Retry 1\d\d notifications$/ })
      await start.waitFor()
      assert.ok(await start.isDisabled())
      const field = page.getByLabel(/^Type 1\d\d to go on$/)
      await field.fill('7')
      assert.ok(await start.isDisabled())
      const count = /\d+/.exec((await start.textContent()) ?? '')?.[0] ?? ''
      await field.fill(count)
      await page.getByLabel('First try').fill('2')
      await start.click()
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('Nothing was done.').waitFor()
    })
  })

  it('leaves a viewer nothing to tick or start, and the server refuses what the page does not offer', async () => {
    await park(1)
    await desk.as('viewer', async ({ page, goTo }) => {
      for (const path of ['/notifications', '/notifications?group=cause', '/operations']) {
        await goTo(path)
        await page.getByRole('row').nth(1).waitFor()
        assert.equal(await page.getByRole('checkbox').count(), 0)
        assert.equal(await page.getByRole('button', { name: /Retry|Discard|Select all|Undo|Pause/ }).count(), 0)
      }
      const status = await page.evaluate(async () => {
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify({ action: 'retry', filter: {} })
        return (await fetch('/api/notifications/bulk/preview', { method: 'POST', headers, body })).status
      })
      assert.equal(status, 403)
    })
  })

  it('has nothing for axe to find, and fits 320 pixels', async () => {
    await park(1)
    const { items } = (await desk.tenant.call('GET', '/api/operations')).body as { items: { id: string }[] }
    await desk.assertFit('operator', [
      '/notifications?status=parked',
      '/notifications?group=cause',
      '/operations',
      '/operations?status=failed',
      `/operations/${items[0]?.id}`,
    ])
    await desk.as('operator', async (visitor) => {
      await visitor.goTo('/notifications?status=parked')
      await visitor.page.getByRole('checkbox').nth(1).check()
      await visitor.page.getByRole('button', { name: /^Retry \d+…$/ }).click()
      await visitor.page.getByLabel('Note').waitFor()
      await assertAccessible(visitor, 'the dialog of an act on many')
    })
  })
})

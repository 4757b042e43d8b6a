import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openDesk } from './desk.ts'

const DAY_MS = 86_400_000

const CATALOGUE = {
  name: 'stays',
  defaultLocale: 'en',
  timeZone: 'Asia/Kolkata',
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.reminder': {
      entity: 'booking',
      recipients: [{ email: 'email' }],
      delivery: { channels: ['email'] },
      timing: { before: 'P1D', field: 'checkinDate', at: '09:00' },
      templates: [{ channel: 'email', locale: 'en', subject: 'Soon', body: 'See you soon.' }],
    },
    'stay.news': {
      entity: 'booking',
      recipients: [{ email: 'email' }],
      delivery: { channels: ['email'] },
      timing: { after: 'PT0S' },
      approval: true,
      templates: [{ channel: 'email', locale: 'en', subject: 'News', body: 'News.' }],
    },
    'stay.nobody': {
      entity: 'booking',
      recipients: [{ email: 'email' }],
      delivery: { channels: ['email'] },
      timing: { after: 'PT0S' },
      templates: [],
    },
  },
}

describe('schedules, in a browser', () => {
  const desk = openDesk({ catalogue: CATALOGUE, channels: ['email'], settings: { timeZone: 'Asia/Kolkata' } })

  /** Publishes an event whose schedule is due later, or waits for something; answers the schedule's id. */
  async function schedule(type: string, id: string, days = 3): Promise<string> {
    const checkinDate = new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
    const payload = { email: 'ada@example.test', checkinDate }
    await desk.tenant.publish({ type, entity: { type: 'booking', id }, payload })
    const [made] = await desk.tenant.schedules(`bookingId=${id}`)
    assert.ok(made)
    return made.id
  }

  async function stands(id: string): Promise<string> {
    return String((await desk.tenant.call('GET', `/api/automation-schedules/${id}`)).body['status'])
  }

  it('shows by day, at the tenant’s own time of day, and sends one before its time', async () => {
    const id = await schedule('booking.reminder', 'early')
    await desk.as('operator', async ({ page, goTo }) => {
      await goTo('/schedules')
      await page.getByText('times in Asia/Kolkata').waitFor()
      const row = page.getByRole('row').filter({ hasText: 'booking early' })
      await row.getByText('09:00').waitFor()
      await row.getByRole('button', { name: 'Send now…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Note').fill('they asked for it')
      await dialog.getByRole('button', { name: 'Send now', exact: true }).click()
      await page.getByText('Send now: done').waitFor()
    })
    await desk.tenant.settle()
    assert.equal(await stands(id), 'completed')
    assert.equal((await desk.tenant.inbox()).length, 1)
  })

  it('puts what is overdue first with its cause, and lets it go ahead', async () => {
    const id = await schedule('stay.news', 'asked')
    await desk.as('operator', async ({ page, goTo }) => {
      await goTo('/schedules')
      const overdue = page.getByRole('region', { name: /^Overdue/ })
      await overdue.getByText('nobody has approved it').waitFor()
      await overdue.getByRole('link', { name: 'stay.news' }).click()
      await page.getByRole('heading', { name: 'stay.news · booking asked' }).waitFor()
      await page.getByRole('button', { name: 'Approve…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click()
      await page.getByText('completed', { exact: true }).first().waitFor()
      await page.getByRole('region', { name: 'Notifications of its event' }).getByRole('row').nth(1).waitFor()
    })
    assert.equal(await stands(id), 'completed')
  })

  it('cancels, rejects, and plans again what failed', async () => {
    const pending = await schedule('booking.reminder', 'off')
    const asked = await schedule('stay.news', 'no')
    const failed = await schedule('stay.nobody', 'lost')
    assert.equal(await stands(failed), 'failed')
    await desk.as('operator', async ({ page, goTo }) => {
      for (const [id, act] of [
        [pending, 'Cancel'],
        [asked, 'Reject'],
        [failed, 'Replay'],
      ]) {
        await goTo(`/schedules/${id}`)
        await page.getByRole('button', { name: `${act}…` }).click()
        await page
          .getByRole('dialog')
          .getByRole('button', { name: act ?? '', exact: true })
          .click()
        await page.getByText(`${act}: done`).waitFor()
      }
    })
    assert.deepEqual([await stands(pending), await stands(asked)], ['cancelled', 'cancelled'])
  })

  it('has a calendar that is walked with arrows, and whose days lead to their agenda', async () => {
    const id = await schedule('booking.reminder', 'walked', 4)
    await desk.as('viewer', async ({ page, goTo }) => {
      const { dueAt } = (await desk.tenant.call('GET', `/api/automation-schedules/${id}`)).body as { dueAt: string }
      await goTo(`/schedules?view=month&from=${dueAt.slice(0, 10)}`)
      await page.locator('[data-day$="-15"]').focus()
      await page.keyboard.press('ArrowDown')
      assert.match((await page.locator(':focus').getAttribute('data-day')) ?? '', /-22$/)
      await page.keyboard.press('ArrowLeft')
      assert.match((await page.locator(':focus').getAttribute('data-day')) ?? '', /-21$/)
      await page
        .getByRole('link', { name: /: [1-9]\d* due$/ })
        .last()
        .click()
      await page.waitForURL(/days=1/)
      await page.getByRole('row').nth(1).waitFor()
      assert.equal(await page.getByRole('button', { name: /Send now|Cancel|Approve/ }).count(), 0)
      await page.keyboard.press('t')
      await page.waitForURL((url) => url.pathname === '/schedules' && !url.searchParams.has('days'))
    })
  })

  it('has nothing for axe to find, and fits 320 pixels', async () => {
    const id = await schedule('booking.reminder', 'fit', 5)
    await schedule('stay.news', 'late')
    await desk.assertFit('operator', [
      '/schedules',
      '/schedules?status=any',
      '/schedules?view=week',
      '/schedules?view=month',
      '/schedules?eventType=none',
      `/schedules/${id}`,
    ])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../support/until.ts'
import { openDesk } from './desk.ts'

/** Does something if any page runs it: `stolen` stands on every page of these tests. */
const PLANTED = `<img src=x onerror="stolen('attribute')"><script>stolen('element')</script>`

describe('the sandbox in a browser', () => {
  const desk = openDesk({ channels: ['email', 'sms', 'push'] })

  it('shows a message where its recipient would see it', async () => {
    const { tenant: shop } = desk
    await shop.submit({ channel: 'sms', to: { phone: '+12025550100' }, body: 'first text' })
    await shop.settle()
    await shop.submit({ channel: 'sms', to: { phone: '+12025550100' }, body: 'second text' })
    await shop.submit({
      channel: 'email',
      to: { email: 'ada@example.test' },
      subject: 'A letter',
      body: '<p>Dear Ada</p>',
      format: 'html',
    })
    await shop.submit({
      channel: 'push',
      to: { deviceToken: 'device-1', platform: 'fcm' },
      subject: 'Paid',
      body: '12',
    })
    await shop.settle()
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/sandbox?channel=sms')
      const bubbles = page.locator('.chat .bubble')
      await bubbles.nth(1).waitFor()
      assert.deepEqual(await bubbles.allInnerTexts(), ['first text', 'second text'])

      await visitor.goTo('/sandbox?channel=email')
      await page.frameLocator('iframe').getByText('Dear Ada').waitFor()
      await page.getByText('text', { exact: true }).click()
      await page.locator('pre.said', { hasText: 'Dear Ada' }).waitFor()
      await page.getByText('headers', { exact: true }).click()
      await page.locator('pre.said', { hasText: 'Idempotency-Key:' }).waitFor()
      assert.match(page.url(), /as=headers/)

      await visitor.goTo('/sandbox?channel=push')
      await page.locator('.lock-screen').getByText('Paid').waitFor()
    })
  })

  it('lets the vendor report on a message, which moves the notification like any callback', async () => {
    const { tenant: shop } = desk
    const id = await shop.submit({ channel: 'sms', to: { phone: '+12025550107' }, body: 'reported' })
    await shop.settle()
    await desk.as('operator', async (visitor) => {
      await visitor.goTo('/sandbox?to=%2B12025550107')
      await visitor.page.getByRole('button', { name: 'read', exact: true }).click()
      await visitor.page.getByText('Reported: read').waitFor()
      await shop.comesTo(id, 'read')
      await visitor.page
        .getByRole('region', { name: 'To +12025550107' })
        .locator('.state', { hasText: 'read' })
        .waitFor()
    })
  })

  it('follows what arrives, when it is asked to', async () => {
    const { tenant: shop } = desk
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/sandbox')
      await page.getByLabel(/Follow/).check()
      await shop.submit({ channel: 'sms', to: { phone: '+12025550108' }, body: 'the newest of all' })
      await page.locator('.chat .bubble', { hasText: 'the newest of all' }).waitFor()
      assert.match(page.url(), /follow=1/)
    })
  })

  it('moves the clock on and back', async () => {
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/sandbox')
      await page.getByRole('button', { name: '+1 day' }).click()
      await page.getByText(/Clock ahead by 1 d/).waitFor()
      await page.getByRole('button', { name: 'Back to real time' }).click()
      await page.getByText('Clock: real time').waitFor()
    })
  })

  it('has a vendor misbehave, says so on every page, and ends it', async () => {
    const { tenant: shop } = desk
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/sandbox/faults')
      await page.getByRole('button', { name: 'Add a fault…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Account').selectOption({ label: 'sms (SMS)' })
      await dialog.getByLabel('What goes wrong').selectOption('permanent')
      await dialog.getByLabel('Only to').fill('*0109')
      await dialog.getByRole('button', { name: 'Add', exact: true }).click()
      await page.getByRole('cell', { name: 'permanent, 3 times, to *0109' }).waitFor()

      const id = await shop.submit({ channel: 'sms', to: { phone: '+12025550109' }, body: 'refused' })
      await shop.comesTo(id, 'parked')
      await visitor.goTo('/notifications')
      const banner = page.getByRole('region', { name: 'Faults are active' })
      await banner.getByText('1 fault is active').waitFor()
      await banner.getByRole('button', { name: 'Stop all' }).click()
      await until('the banner is gone', async () => (await banner.count()) === 0)
    })
  })

  it('leaves a viewer nothing to press, and no words to read', async () => {
    await desk.as('viewer', async (visitor) => {
      for (const path of ['/sandbox', '/sandbox/faults']) {
        await visitor.goTo(path)
        await visitor.page.locator('.panel').first().waitFor()
        const acts = visitor.page
          .getByRole('main')
          .getByRole('button', { name: /hour|day|week|Add|Stop|delivered|read/ })
        assert.equal(await acts.count(), 0, path)
      }
      await visitor.goTo('/sandbox')
      await visitor.page.getByText('A viewer does not see what is written to people.').waitFor()
    })
  })

  it('looks right in both themes and on a small phone', async () => {
    await desk.assertFit('operator', [
      '/sandbox',
      '/sandbox?channel=email',
      '/sandbox?channel=webhook',
      '/sandbox/faults',
    ])
  })

  // The last one: in the frame the browser complains of what it did not run.
  it('runs nothing that is planted in a message, whichever way it is looked at', async () => {
    const { tenant: shop } = desk
    const body = `<p>Seen</p>${PLANTED}`
    const to = { email: 'planted@example.test', name: PLANTED }
    await shop.submit({ channel: 'email', to, subject: PLANTED, body, format: 'html' })
    await shop.submit({ channel: 'sms', to: { phone: '+12025550111', name: PLANTED }, body: PLANTED })
    await shop.call('POST', '/api/recipient-lists', { name: PLANTED, members: [{ name: PLANTED, email: to.email }] })
    await shop.settle()
    await desk.as('operator', async (visitor) => {
      for (const as of ['text', 'headers']) {
        await visitor.goTo(`/sandbox?channel=email&as=${as}&to=planted%40example.test`)
        await visitor.page.locator('pre.said').waitFor()
      }
      await visitor.goTo('/sandbox?to=%2B12025550111')
      await visitor.page.locator('.chat .bubble').getByText(PLANTED).waitFor()
      await visitor.goTo('/lists')
      await visitor.page.getByRole('link', { name: PLANTED }).click()
      await visitor.page.getByRole('heading', { name: PLANTED, level: 1 }).waitFor()
      assert.deepEqual(visitor.complaints, [])
    })
  })
})

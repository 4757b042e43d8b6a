import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openDesk } from './desk.ts'

const SECRET = 'a-very-secret-password'

describe('accounts, in a browser', () => {
  const desk = openDesk({ channels: ['sms'] })

  it('makes one with the fields that its provider asks for, and never shows a secret again', async () => {
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo('/accounts/new?channel=email&provider=smtp')
      await page.getByLabel('Name').fill('Post office')
      await page.getByLabel('host').fill('127.0.0.1')
      await page.getByLabel('port').fill('70000')
      await page.getByLabel('tls').selectOption('none')
      await page.getByLabel('fromAddress').fill('shop@example.test')
      await page.getByLabel('password', { exact: true }).fill(SECRET)
      await page.getByRole('button', { name: 'Make it' }).click()
      await page.getByText('must be a whole number from 1 to 65535').first().waitFor()
      await page.getByLabel('port').fill('1')
      await page.getByRole('button', { name: 'Make it' }).click()
      await page.getByRole('heading', { name: 'Post office' }).waitFor()
      await page.getByRole('region', { name: 'Made of' }).getByText('password').waitFor()
      assert.ok(!(await page.content()).includes(SECRET))

      await page.getByRole('button', { name: 'Verify' }).click()
      await page.getByText('The vendor says no').waitFor()
      await page.getByLabel('Pace, per second').fill('7')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('region', { name: 'How sending goes' }).getByText('7 per second').first().waitFor()
    })
  })

  it('says what becomes of what waits before it is suspended, and sends again once it is active', async () => {
    const made = await desk.tenant.account({ channel: 'sms', provider: 'sandbox', name: 'Spare' })
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo(`/accounts/${made.id}`)
      await page.getByRole('button', { name: 'Suspend…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('0 wait on it').waitFor()
      await dialog.getByRole('button', { name: 'Suspend', exact: true }).click()
      await page.getByText('suspended', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Activate…' }).click()
      await page.getByRole('button', { name: 'Activate', exact: true }).click()
      await page.getByText('active', { exact: true }).waitFor()
    })
  })

  it('shows a viewer how sending goes, and nothing to change it with', async () => {
    await desk.as('viewer', async ({ page, goTo }) => {
      await goTo('/accounts')
      assert.equal(await page.getByRole('link', { name: 'Make one' }).count(), 0)
      await page.getByRole('link', { name: 'sms' }).first().click()
      await page.getByRole('region', { name: 'How sending goes' }).waitFor()
      assert.equal(await page.getByRole('button', { name: /Suspend|Verify|Save|Activate/ }).count(), 0)
    })
  })

  it('has nothing for axe to find, and fits 320 pixels', async () => {
    const { items } = (await desk.tenant.call('GET', '/api/channel-accounts')).body as { items: { id: string }[] }
    await desk.assertFit('admin', [
      '/accounts',
      '/accounts?channel=webhook',
      `/accounts/${items[0]?.id}`,
      '/accounts/new?channel=email&provider=smtp',
    ])
  })
})

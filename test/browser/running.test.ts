import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../support/until.ts'
import { assertAccessible } from './browser.ts'
import { openDesk } from './desk.ts'

function withoutCursor(address: string): string {
  const url = new URL(address)
  url.searchParams.delete('cursor')
  return String(url)
}

describe('audit, keys, settings and workers in a browser', () => {
  const desk = openDesk({ channels: ['sms'] })

  it('find what was done by whom, in an address that can be passed on, with what was there before', async () => {
    await desk.tenant.call('PATCH', '/api/tenant', { name: 'before' })
    await desk.tenant.call('PATCH', '/api/tenant', { name: 'after' })
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/audit')
      await page.getByLabel('Did').fill('update')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/audit?action=update')
      await page.locator('summary').first().click()
      const change = page.locator('details[open]').first()
      await change.getByText('− before').waitFor()
      await change.getByText('+ after').waitFor()
      await visitor.goTo('/audit?actor=nobody')
      await page.getByText('None match').waitFor()
    })
  })

  it('pass over pages without a row, and say so where that takes long', async () => {
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      let emptyPages = 3
      await page.route('**/api/audit?*', async (route) => {
        emptyPages -= 1
        if (emptyPages < 0) await route.continue({ url: withoutCursor(route.request().url()) })
        else await route.fulfill({ json: { items: [], nextCursor: `${emptyPages}` } })
      })
      await visitor.goTo('/audit')
      await page.locator('[data-row]').first().waitFor()

      emptyPages = Number.POSITIVE_INFINITY
      await visitor.goTo('/audit?actor=nobody')
      await page.getByText('None so far').waitFor()
      await page.getByRole('button', { name: 'Further back' }).waitFor()
    })
  })

  it('verify the chain of the audit', async () => {
    await desk.as('operator', async (visitor) => {
      await visitor.goTo('/audit')
      await visitor.page.getByRole('button', { name: 'Verify the chain' }).click()
      await visitor.page.getByText('verified', { exact: true }).waitFor()
    })
  })

  it('issue a key that is shown once and works, rotate it, and revoke it by its name', async () => {
    await desk.as('admin', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/keys')
      await page.getByRole('button', { name: 'Issue a key…' }).click()
      await page.getByRole('dialog').getByLabel('Name').fill('billing')
      await page.getByRole('dialog').getByRole('button', { name: 'Issue', exact: true }).click()
      const shown = page.getByRole('dialog', { name: 'The key billing' })
      const secret = await shown.getByLabel('Key', { exact: true }).inputValue()
      await shown.getByText(/curl -X POST/).waitFor()
      await assertAccessible(visitor, 'the key that is shown')
      const answer = await fetch(`${desk.world.url}/api/notifications`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ channel: 'sms', to: { phone: '+12025550100' }, body: 'x' }),
      })
      assert.equal(answer.status, 202)
      await shown.getByRole('button', { name: 'I have it' }).click()
      assert.ok(!(await page.content()).includes(secret))

      await page.getByRole('button', { name: 'Rotate billing' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
      await page.getByRole('dialog', { name: 'The key billing' }).getByRole('button', { name: 'I have it' }).click()
      const rows = page.getByRole('row').filter({ hasText: 'billing' })
      await until('both keys stand there', async () => (await rows.count()) === 2)

      await page.getByRole('button', { name: 'Revoke billing' }).last().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('It is in use').waitFor()
      const revoke = dialog.getByRole('button', { name: 'Revoke', exact: true })
      assert.ok(await revoke.isDisabled())
      await dialog.getByLabel(/Type/).fill('billing')
      await revoke.click()
      await until('one is left', async () => (await rows.count()) === 1)
    })
  })

  it('are not for those who may not: a viewer has no keys, an admin no workers', async () => {
    await desk.as('viewer', async ({ page }) => {
      assert.equal(
        await page
          .getByRole('navigation')
          .getByRole('link', { name: /Keys|Workers/ })
          .count(),
        0,
      )
      await page.goto('/keys')
      await page.getByText('Keys are an admin’s').waitFor()
    })
    await desk.as('admin', async ({ page }) => {
      await page.goto('/workers')
      await page.getByText('Workers are for those who run the server').waitFor()
    })
  })

  it('change a setting of the tenant, and say where each comes from', async () => {
    await desk.as('admin', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/settings')
      const row = page.getByRole('row').filter({ hasText: 'Retention' })
      await row.getByText('default', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Change Retention' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox').fill('a while')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.getByRole('alert').waitFor()
      await dialog.getByRole('textbox').fill('P90D')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await row.getByText('P90D').waitFor()
      await row.getByText('this tenant').waitFor()
    })
    await desk.as('viewer', async (visitor) => {
      await visitor.goTo('/settings')
      await visitor.page.getByRole('row').filter({ hasText: 'Retention' }).waitFor()
      assert.equal(await visitor.page.getByRole('button', { name: /^Change/ }).count(), 0)
    })
  })

  it('remember in the browser how somebody likes it: keys of one letter can be off', async () => {
    await desk.as('viewer', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/settings')
      await page.getByRole('radiogroup', { name: 'Keys of one letter' }).getByText('off').click()
      await page.getByRole('radiogroup', { name: 'Lines of tables' }).getByText('wide').click()
      await page.reload()
      await page.getByRole('heading', { name: 'Settings' }).waitFor()
      assert.equal(await page.locator('html').getAttribute('data-density'), 'wide')
      await page.keyboard.press('?')
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog', { name: 'Go to' }).waitFor()
      assert.equal(await page.getByRole('dialog', { name: 'Keys' }).count(), 0)
    })
  })

  it('show ops the workers, what is wrong, and every tenant', async () => {
    await desk.as('ops', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/workers')
      await page.getByRole('region', { name: 'Processes that send' }).getByText('alive').waitFor()
      await page.getByText('Nothing is wrong').waitFor()
      await page.getByRole('region', { name: 'Tenants' }).getByRole('link').filter({ hasText: desk.tenant.id }).click()
      await page.waitForURL(`**/?tenant=${desk.tenant.id}`)
      await visitor.goTo('/audit?all=1')
      await page.getByRole('columnheader', { name: 'tenant' }).waitFor()
      assert.ok((await page.getByRole('row').count()) > 2)
    })
  })

  it('look right in both themes and on a small phone', async () => {
    await desk.assertFit('ops', ['/audit', '/audit?actor=nobody', '/keys', '/keys?show=all', '/settings', '/workers'])
  })
})

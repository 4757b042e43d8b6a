import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openDesk } from './desk.ts'

const FILE = `name,email,phone
Ada,ada@example.test,+12025550131
Bo,bo@example.test,
Bo again,BO@example.test,
Nobody,,
Cy,not an address,
`

describe('recipient lists in a browser', () => {
  const desk = openDesk({ channels: ['email'] })

  async function makeList(name: string, members: object[] = []): Promise<string> {
    const { body } = await desk.tenant.call('POST', '/api/recipient-lists', { name, members })
    return String(body['id'])
  }

  it('are made and filled from a file, after a dry run that says who is bad and why', async () => {
    await desk.as('admin', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/lists')
      await page.getByRole('button', { name: 'Make a list…' }).click()
      await page.getByRole('dialog').getByLabel('Name').fill('guests')
      await page.getByRole('dialog').getByRole('button', { name: 'Make', exact: true }).click()
      await page.getByRole('link', { name: 'guests' }).click()
      await page.getByText('Nobody is on it').waitFor()

      await page.getByRole('button', { name: 'Import…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog
        .locator('input[type=file]')
        .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(FILE) })
      await dialog.getByRole('button', { name: 'Dry run' }).click()
      const report = dialog.getByRole('region', { name: 'Dry run' })
      await report.getByText('+2 new').waitFor()
      await report.getByText('2 bad').waitFor()
      await report.getByText(/must be an email address/).waitFor()
      await report.getByText('must have an email or a phone').waitFor()
      const { body } = await desk.tenant.call('GET', '/api/recipient-lists/guests')
      assert.equal(body['memberCount'], 0)

      await dialog.getByRole('button', { name: 'Add 2 members' }).click()
      await page.getByText('2 members were added to guests.').waitFor()
      await page.getByRole('region', { name: 'Whom it reaches' }).getByText('2 of 2').waitFor()
      assert.doesNotMatch(await page.getByRole('main').innerText(), /ada@example/)
    })
  })

  it('say whom each channel reaches, and who is not reached and why', async () => {
    const id = await makeList('staff', [
      { name: 'Ada', email: 'ada@example.test' },
      { name: 'Di', email: 'di@example.test' },
    ])
    await desk.tenant.call('POST', '/api/suppressions', { channel: 'email', address: 'di@example.test' })
    await desk.as('viewer', async (visitor) => {
      const { page } = visitor
      await visitor.goTo(`/lists/${id}`)
      const reach = page.getByRole('region', { name: 'Whom it reaches' })
      await reach.getByRole('row').filter({ hasText: 'email' }).getByText('1 of 2').waitFor()
      await reach.getByText('none is active').first().waitFor()
      await page.getByRole('region', { name: 'Who is not reached, and why' }).getByText('named by hand').waitFor()
      assert.equal(await page.getByRole('button', { name: /Import|Remove/ }).count(), 0)
    })
  })

  it('are removed by whoever types their name', async () => {
    const id = await makeList('over')
    await desk.as('admin', async (visitor) => {
      const { page } = visitor
      await visitor.goTo(`/lists/${id}`)
      await page.getByRole('button', { name: 'Remove…' }).click()
      const remove = page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true })
      assert.ok(await remove.isDisabled())
      await page.getByRole('dialog').getByLabel(/Type/).fill('over')
      await remove.click()
      await page.waitForURL('**/lists')
    })
    assert.equal((await desk.tenant.call('GET', `/api/recipient-lists/${id}`)).status, 404)
  })

  it('look right in both themes and on a small phone', async () => {
    const id = await makeList('axe', [{ name: 'Ada', email: 'ada@example.test' }])
    await desk.assertFit('admin', ['/lists', `/lists/${id}`, `/lists/${await makeList('empty')}`])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openDesk } from './desk.ts'

const CATALOGUE = {
  name: 'shop',
  defaultLocale: 'en',
  entities: { order: 'orders' },
  eventTypes: {
    'order.paid': {
      entity: 'order',
      recipients: [{ email: 'email', phone: 'phone', name: 'name', profileId: 'profile' }],
      delivery: { channels: ['email', 'sms'] },
      templates: [
        { channel: 'email', subject: 'Order {{orderId}}', body: 'Paid: {{orderId}}' },
        { channel: 'sms', body: 'Order {{orderId}} is paid.' },
      ],
    },
    'order.due': {
      entity: 'order',
      recipients: [{ phone: 'phone', profileId: 'profile' }],
      delivery: { channels: ['sms'] },
      timing: { after: 'P2D' },
      templates: [{ channel: 'sms', body: 'Order {{orderId}} is due.' }],
    },
  },
}

interface Items {
  items: { id: string; actor: string; note: string | null; contactId: string }[]
}

describe('people in a browser', () => {
  const desk = openDesk({ catalogue: CATALOGUE, channels: ['email', 'sms'] })

  const items = async (path: string): Promise<Items['items']> =>
    ((await desk.tenant.call('GET', path)).body as unknown as Items).items

  /** Somebody who was told about an order; answers their contact. */
  async function tell(
    orderId: string,
    person: { email?: string; phone?: string },
    type = 'order.paid',
  ): Promise<string> {
    await desk.tenant.publish({
      type,
      entity: { type: 'order', id: orderId },
      conversation: { type: 'order', id: orderId },
      payload: { orderId, name: 'Ada', profile: `profile-${orderId}`, ...person },
    })
    await desk.tenant.settle()
    const [found] = await items(`/api/contacts?q=profile-${orderId}`)
    return found?.id ?? assert.fail(`nobody was told of ${orderId}`)
  }

  it('are masked until somebody asks, which stays on record, and masked again at a press', async () => {
    const id = await tell('masked', { email: 'masked@example.test', phone: '+12025550121' })
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/contacts?q=profile-masked')
      await page.locator('[data-row]').first().click()
      await page.waitForURL(`**/contacts/${id}`)
      await page.getByRole('region', { name: 'Known of them' }).getByText('m***@example.test').waitFor()
      assert.doesNotMatch(await page.content(), /masked@example\.test/)

      await page.getByRole('button', { name: 'Reveal' }).click()
      await page.getByText('masked@example.test').waitFor()
      await page.getByRole('button', { name: /Mask again/ }).click()
      await page.getByText('m***@example.test').first().waitFor()
      assert.equal(await page.getByText('masked@example.test', { exact: true }).count(), 0)
    })
    const [reveal] = await items(`/api/audit?subject=contact:${id}&action=reveal`)
    assert.equal(reveal?.actor, 'console:operator')
  })

  it('hide from a viewer, who cannot reveal them, neither on the page nor past it', async () => {
    const id = await tell('hidden', { email: 'hidden@example.test' })
    await desk.as('viewer', async (visitor) => {
      await visitor.goTo(`/contacts/${id}`)
      assert.equal(await visitor.page.getByRole('button', { name: /Reveal|Export|Erase/ }).count(), 0)
      const status = await visitor.page.evaluate(
        async (path) => (await fetch(path, { method: 'POST' })).status,
        `/api/contacts/${id}/reveal`,
      )
      assert.equal(status, 403)
    })
  })

  it('have conversations, read as one thread over channels', async () => {
    const id = await tell('talk', { email: 'talk@example.test', phone: '+12025550122' })
    await desk.as('operator', async (visitor) => {
      const { page } = visitor
      await visitor.goTo(`/contacts/${id}`)
      await page.getByRole('link', { name: 'order talk', exact: true }).click()
      await page.getByRole('heading', { name: 'About order talk' }).waitFor()
      const thread = page.getByRole('log')
      await thread.getByText('Order talk is paid.').waitFor()
      await thread.getByText('Order talk', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Close…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click()
      await page.getByText('It is closed now.').waitFor()
    })
  })

  it('are written to again once a suppression is lifted, with a reason that stays on record', async () => {
    await desk.tenant.call('POST', '/api/suppressions', { channel: 'email', address: 'lifted@example.test' })
    const [{ id } = assert.fail()] = await items('/api/suppressions?address=lifted@example.test')
    await desk.as('admin', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/contacts?tab=suppressed&q=lifted%40example.test')
      await page.getByRole('button', { name: 'Lift…' }).click()
      const dialog = page.getByRole('dialog')
      assert.ok(await dialog.getByRole('button', { name: 'Lift', exact: true }).isDisabled())
      await dialog.getByLabel('Why may it be used again?').fill('the mailbox is back')
      await dialog.getByRole('button', { name: 'Lift', exact: true }).click()
      await page.getByText('This address is not suppressed').waitFor()
    })
    const [lift] = await items(`/api/audit?subject=suppression:${id}&action=lift`)
    assert.equal(lift?.note, 'the mailbox is back')
  })

  it('are erased only by whoever names them, and says why', async () => {
    const id = await tell('gone', { email: 'gone@example.test' })
    await desk.as('admin', async (visitor) => {
      const { page } = visitor
      await visitor.goTo(`/contacts/${id}`)
      await page.getByRole('button', { name: 'Erase…' }).click()
      const dialog = page.getByRole('dialog')
      const erase = dialog.getByRole('button', { name: 'Erase', exact: true })
      await dialog.getByLabel('Why').fill('asked for it')
      assert.ok(await erase.isDisabled())
      await dialog.getByLabel(/Type/).fill('profile-gone')
      await erase.click()
      await page.getByRole('dialog', { name: 'Erased' }).waitFor()
      await page.getByRole('button', { name: 'To the people' }).click()
      await page.waitForURL('**/contacts')
    })
    assert.equal((await desk.tenant.call('GET', `/api/contacts/${id}`)).status, 404)
  })

  it('have everything about one entity on one page, which also says why nobody was told', async () => {
    await tell('panel', { email: 'panel@example.test' })
    await tell('panel', { phone: '+12025550123' }, 'order.due')
    await desk.as('viewer', async (visitor) => {
      const { page } = visitor
      await visitor.goTo('/entities/order/panel')
      await page.getByRole('region', { name: 'Schedules' }).getByText('pending').waitFor()
      const told = page.getByRole('region', { name: 'Notifications' })
      await told
        .getByRole('row')
        .filter({ hasText: 'skipped' })
        .getByText(/no address/)
        .waitFor()
      await page
        .getByRole('region', { name: 'Why it was told, or not' })
        .getByText(/was published/)
        .first()
        .waitFor()
      await visitor.goTo('/entities/order/panel?embed=1')
      assert.equal(await page.getByRole('navigation').count(), 0)
      await page.getByRole('link', { name: 'Open in the console' }).waitFor()
      await visitor.goTo('/entities/order/nothing')
      await page.getByText('No event about it was published').waitFor()
    })
  })

  it('look right in both themes and on a small phone', async () => {
    const id = await tell('axe', { email: 'axe@example.test', phone: '+12025550124' })
    const [conversation] = await items(`/api/conversations?contactId=${id}`)
    await desk.assertFit('admin', [
      '/contacts',
      '/contacts?q=nobody',
      '/contacts?tab=conversations',
      '/contacts?tab=suppressed',
      `/contacts/${id}`,
      `/conversations/${conversation?.id}`,
      '/entities/order/axe',
      '/entities/order/axe?embed=1',
    ])
  })
})

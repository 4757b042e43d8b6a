import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { openDesk } from './desk.ts'

/** Does something if any page runs it: `stolen` stands on every page of these tests. */
const PLANTED = `<img src=x onerror="stolen('attribute')"><script>stolen('element')</script>`

/** In the frame. */
const COLOUR = "getComputedStyle(document.querySelector('p')).color"

const PAYLOAD = {
  type: 'object',
  properties: { orderId: { type: 'string' }, name: { type: 'string' }, email: { type: 'string' } },
}

/** One event type for each test, so that none of them sees what another changed. */
const TYPES = ['edit.me', 'break.me', 'race.me', 'return.me', 'plain.me', 'show.me', 'plant.me']

const CATALOGUE = {
  name: 'shop',
  defaultLocale: 'en',
  entities: { order: 'orders' },
  eventTypes: Object.fromEntries(
    TYPES.map((name) => [
      name,
      {
        entity: 'order',
        payload: PAYLOAD,
        recipients: [{ email: 'email', name: 'name' }],
        delivery: { channels: ['email'] },
        timing: { after: 'PT0S' },
        templates: [
          {
            channel: 'email',
            locale: 'en',
            subject: 'Order {{orderId}}',
            body: '<p style="color: #146c43">Hi {{name}}</p>',
          },
        ],
      },
    ]),
  ),
}

describe('templates, in a browser', () => {
  const desk = openDesk({ catalogue: CATALOGUE, channels: ['email'] })

  async function templateOf(type: string): Promise<{ id: string; body: string; version: number }> {
    const { body } = await desk.tenant.call('GET', `/api/message-templates?eventType=${type}&locale=en`)
    const [template] = body['items'] as { id: string; body: string; version: number }[]
    assert.ok(template)
    return template
  }

  /** Replaces what stands in the editor with colours. */
  async function write(page: Page, text: string): Promise<void> {
    const editor = page.getByRole('textbox', { name: 'Body' })
    await editor.click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(text)
  }

  it('changes words with a preview by the renderer that sends, and what is published then says the new ones', async () => {
    const { id } = await templateOf('edit.me')
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo(`/templates/${id}`)
      const frame = page.frameLocator('iframe')
      await frame.getByText('Hi Ada').waitFor()
      assert.equal(await page.frames()[1]?.evaluate<string>(COLOUR), 'rgb(20, 108, 67)')
      await write(page, '<p>Dear {{name}}, order {{orderId}}.</p>')
      await frame.getByText('Dear Ada, order 12345.').waitFor()
      await page.getByText('Not saved.').waitFor()
      await page.keyboard.press('Control+s')
      const dialog = page.getByRole('dialog')
      await dialog.getByText('removed: <p style').waitFor()
      await dialog.getByRole('button', { name: 'Save version 2' }).click()
      await page.getByText('Version 2 is in force.').waitFor()
    })
    const payload = { orderId: '77', name: 'Grace', email: 'grace@example.test' }
    await desk.tenant.publish({ type: 'edit.me', entity: { type: 'order', id: '77' }, payload })
    const [message] = await desk.tenant.inbox()
    assert.equal(message?.body, '<p>Dear Grace, order 77.</p>')
  })

  it('says where words cannot be read, and which names nobody knows', async () => {
    const { id } = await templateOf('break.me')
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo(`/templates/${id}`)
      await page.frameLocator('iframe').getByText('Hi Ada').waitFor()
      await write(page, '<p>Hi</p>\n<p>{% if name %}</p>')
      const problems = page.getByRole('status', { name: 'Problems' })
      await problems.getByRole('button', { name: /^line 2, column \d+$/ }).click()
      await page.frameLocator('iframe').getByText('Hi Ada').waitFor()
      await write(page, '<p>Hi {{nmae}}</p>')
      const placeholders = page.getByRole('region', { name: 'Placeholders' })
      await placeholders.getByText('unknown').waitFor()
      await placeholders.getByText('did you mean name?').waitFor()
      await page.getByRole('button', { name: 'Drop changes' }).click()
      await placeholders.getByText('unknown').waitFor({ state: 'detached' })
    })
    assert.equal((await templateOf('break.me')).version, 1)
  })

  it('writes nothing over what somebody else saved meanwhile', async () => {
    const { id } = await templateOf('race.me')
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo(`/templates/${id}`)
      await page.frameLocator('iframe').getByText('Hi Ada').waitFor()
      await write(page, '<p>Mine</p>')
      await page.getByRole('button', { name: 'Save…' }).click()
      await desk.tenant.call('PATCH', `/api/message-templates/${id}`, { body: '<p>Theirs</p>' })
      await page.getByRole('button', { name: /^Save version/ }).click()
      await page.getByText('saved version 2 meanwhile').waitFor()
      await page.keyboard.press('Escape')
      assert.equal((await templateOf('race.me')).body, '<p>Theirs</p>')
      await page.getByText('removed: <p>Theirs</p>').waitFor()
      await page.getByRole('button', { name: 'Go on with mine' }).click()
      await page.getByRole('button', { name: 'Save…' }).click()
      await page.getByRole('button', { name: 'Save version 3' }).click()
      await page.getByText('Version 3 is in force.').waitFor()
    })
    assert.equal((await templateOf('race.me')).body, '<p>Mine</p>')
  })

  it('goes back to an older version, switches off, and sends a test', async () => {
    const { id, body } = await templateOf('return.me')
    await desk.tenant.call('PATCH', `/api/message-templates/${id}`, { body: '<p>Worse</p>' })
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo(`/templates/${id}?tab=versions`)
      await page.getByRole('link', { name: '1', exact: true }).click()
      await page.getByRole('button', { name: 'Go back to it…' }).click()
      await page.getByRole('button', { name: 'Save version 3' }).click()
      await page.getByText('Version 3 is in force.').waitFor()

      await goTo(`/templates/${id}`)
      await page.getByRole('button', { name: 'Test send…' }).click()
      await page.getByLabel('Email address').fill('tester@example.test')
      await page.getByRole('button', { name: 'Send the test' }).click()
      await page.waitForURL(/\/notifications\//)
      await page.getByText('Attempt 1 taken by sandbox').waitFor()

      await goTo(`/templates/${id}`)
      await page.getByRole('button', { name: 'Switch off…' }).click()
      await page.getByRole('button', { name: 'Switch off', exact: true }).click()
      await page.getByText('Nothing is made from it any more.').first().waitFor()
      await page.getByText('off', { exact: true }).first().waitFor()
    })
    assert.equal((await templateOf('return.me')).body, body)
  })

  it('takes words as plain text too, and writes what a language lacks', async () => {
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo('/templates/new?eventType=plain.me&channel=sms&locale=de')
      await page.getByRole('switch', { name: 'Plain text field' }).click()
      await page.getByRole('textbox', { name: 'Body' }).fill('Hallo ')
      await page.getByRole('button', { name: 'name', exact: true }).click()
      await page.getByText(/^1 segment, GSM-7: \d+ characters/).waitFor()
      await page.getByText('Hallo Ada').waitFor()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('heading', { name: 'plain.me · SMS · de' }).waitFor()
      await page.getByText('is not delivered on sms').waitFor()
    })
  })

  it('shows a viewer the words, and nothing to change them with', async () => {
    const { id } = await templateOf('show.me')
    await desk.as('viewer', async ({ page, goTo }) => {
      await goTo('/templates')
      await page.getByRole('link', { name: 'show.me' }).click()
      await page.getByText('Hi {{name}}').waitFor()
      assert.equal(await page.getByRole('button', { name: /Save|Test send|Switch|Remove/ }).count(), 0)
      const status = await page.evaluate(async (path) => {
        const headers = { 'content-type': 'application/json' }
        return (await fetch(path, { method: 'PATCH', headers, body: '{"isActive":false}' })).status
      }, `/api/message-templates/${id}`)
      assert.equal(status, 403)
    })
  })

  it('runs nothing that was planted in words, and loads nothing', async () => {
    const { id } = await templateOf('plant.me')
    const body = `<p>Seen</p>${PLANTED}<style>p { color: #b3261e }</style><a href="https://example.test/x">out</a>`
    await desk.tenant.call('PATCH', `/api/message-templates/${id}`, { subject: PLANTED, body })
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo(`/templates/${id}`)
      const seen = page.frameLocator('iframe').getByText('Seen')
      await seen.waitFor()
      assert.equal(await page.frames()[1]?.evaluate<string>(COLOUR), 'rgb(179, 38, 30)')
      assert.equal(await page.frameLocator('iframe').locator('script, [onerror], [href], img[src]').count(), 0)
    })
  })

  it('has nothing for axe to find, and fits 320 pixels', async () => {
    const { id } = await templateOf('show.me')
    await desk.assertFit('admin', [
      '/templates',
      '/templates?eventType=show.me&isActive=false',
      `/templates/${id}`,
      `/templates/${id}?tab=versions`,
      '/templates/new',
    ])
    await desk.assertFit('viewer', [`/templates/${id}`])
  })
})

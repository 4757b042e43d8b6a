import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openDesk } from './desk.ts'

const CATALOGUE = {
  name: 'stays',
  defaultLocale: 'en',
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.reminder': {
      description: 'Two days before the guest arrives.',
      entity: 'booking',
      once: 'per-entity',
      recipients: [{ email: 'email' }],
      delivery: { fallback: ['sms', 'email'] },
      timing: { before: 'P2D', field: 'checkinDate', at: '09:00' },
      approval: true,
      cancelledBy: ['booking.cancelled'],
      templates: [{ channel: 'email', locale: 'en', subject: 'Soon', body: 'See you soon.' }],
    },
    'booking.cancelled': { entity: 'booking', recipients: [], delivery: { none: true }, templates: [] },
  },
}

const FILE = `name: stays
defaultLocale: en
entities: { booking: bookings }
eventTypes:
  booking.reminder:
    entity: booking
    recipients: [{ email: email }]
    delivery: { fallback: [sms, email] }
    timing: { after: PT1H }
    templates:
      - { channel: email, locale: en, subject: Soon, body: "See you soon." }
  booking.welcome:
    entity: booking
    recipients: [{ email: email }]
    delivery: { channels: [email] }
    templates: []
`

describe('the catalogue, in a browser', () => {
  const desk = openDesk({ catalogue: CATALOGUE, channels: ['email'] })

  it('says what an event type means, with its timing as a line', async () => {
    await desk.as('viewer', async ({ page, goTo }) => {
      await goTo('/catalogue')
      assert.equal(await page.getByRole('link', { name: 'Edit or import' }).count(), 0)
      await page.getByRole('link', { name: 'booking.reminder' }).click()
      await page.getByRole('heading', { name: 'booking.reminder', exact: true }).waitFor()
      const line = page.getByRole('list', { name: 'Timing' }).getByRole('listitem')
      const steps = ['event', 'somebody approves', 'told 2 days before, at 09:00', 'checkinDate']
      assert.deepEqual(await line.allInnerTexts(), steps)
      const meaning = page.getByRole('region', { name: 'What it means' })
      for (const words of ['SMS → email', 'once for each entity', 'booking.cancelled'])
        await meaning.getByText(words).first().waitFor()
    })
  })

  it('says what a file would change, where it is wrong, and imports only what was looked at', async () => {
    await desk.as('admin', async ({ page, goTo }) => {
      await goTo('/catalogue/import')
      const file = page.getByRole('textbox', { name: 'The catalogue, as YAML or JSON' })
      await file.fill(FILE.replace('fallback: [sms, email]', 'fallback: [pigeon]'))
      await page.getByRole('button', { name: 'What would change?' }).click()
      await page
        .getByRole('alert')
        .getByRole('button', { name: /^line 8, column \d+$/ })
        .first()
        .click()

      const take = page.getByRole('button', { name: 'Import', exact: true })
      assert.ok(await take.isDisabled())
      await file.fill(FILE)
      await page.getByRole('button', { name: 'What would change?' }).click()
      await page
        .getByRole('region', { name: 'What would change' })
        .getByText(/booking\.welcome/)
        .first()
        .waitFor()
      await file.fill(`${FILE}# one word more\n`)
      assert.ok(await take.isDisabled())
      await file.fill(FILE)
      await take.click()
      await page.getByText('Version 2 is in force.').waitFor()
      await page.getByRole('link', { name: 'booking.welcome' }).waitFor()
    })
  })

  it('has nothing for axe to find, and fits 320 pixels', async () => {
    await desk.assertFit('admin', [
      '/catalogue',
      '/catalogue?q=nothing',
      '/catalogue/booking.reminder',
      '/catalogue/import',
    ])
  })
})

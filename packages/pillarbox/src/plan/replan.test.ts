import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { storedAccount } from '../../../../test/support/samples.ts'
import type { NewEvent } from '../model/event.ts'
import type { NotificationView } from '../model/notification.ts'
import { isSealedContent } from '../security/payload-seal.ts'
import { type Bench, type Options, openPlanning } from './fixture.ts'
import { type ReplanAnswer, replan } from './replan.ts'

const sms = { channel: 'sms', locale: 'en', body: 'text {{name}}' }
const email = { channel: 'email', locale: 'en', subject: 'S {{name}}', body: 'mail {{name}}' }
const catalogueOf = (fields: Record<string, unknown> = {}) => ({
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ phone: 'phone', email: 'email', name: 'name', locale: 'locale' }],
      templates: [sms, email],
      ...fields,
    },
  },
})

/** An event that became parked notifications, and a change of the world since. */
async function setup(t: TestContext, options: Partial<Options>, event: Partial<NewEvent> = {}) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), ...options })
  await bench.publish(event)
  await bench.plan()
  const parked = (await bench.notifications()).filter(({ status }) => status === 'parked')
  assert.ok(parked[0])
  return {
    bench,
    parked: parked[0],
    async mended(mend: () => Promise<unknown>): Promise<ReplanAnswer> {
      await mend()
      await bench.clock.advance(1_000)
      return replan(bench.chain, parked[0] as NotificationView)
    },
  }
}

function replacementOf(answer: ReplanAnswer) {
  assert.ok('replacement' in answer, JSON.stringify(answer))
  return answer.replacement
}

function problemOf(answer: ReplanAnswer): string {
  return 'problem' in answer ? `${answer.problem.reason}: ${answer.problem.error}` : 'none'
}

async function retried(bench: Bench, { tenantId, id }: NotificationView, answer: ReplanAnswer) {
  const moved = await bench.store.notifications.act({
    tenantId,
    id,
    action: 'retry',
    actor: 'console:test',
    replacement: replacementOf(answer),
  })
  assert.ok(moved?.moved)
  return bench.store.notifications.find(tenantId, id)
}

describe('planning anew what was born parked', () => {
  it('makes it the one that its event would be planned as: a repeat of the event sends nothing more', async (t) => {
    const { bench, parked, mended } = await setup(t, { catalogue: catalogueOf({ templates: [] }) })
    const sent = await retried(bench, parked, await mended(() => bench.import(catalogueOf({ templates: [email] }))))

    await bench.publish({ entity: parked.entity ?? assert.fail() })
    await bench.plan()

    assert.deepEqual(
      (await bench.notifications()).map(({ id }) => id),
      [sent?.id],
    )
  })

  it('does not send what a repeat of the event has sent meanwhile', async (t) => {
    const { bench, parked, mended } = await setup(t, { catalogue: catalogueOf({ templates: [] }) })
    const answer = await mended(async () => {
      await bench.import(catalogueOf({ templates: [email] }))
      await bench.clock.advance(1_000)
      await bench.publish({ entity: parked.entity ?? assert.fail() })
      await bench.plan()
    })
    const { tenantId, id } = parked

    const moved = await bench.store.notifications.act({
      tenantId,
      id,
      action: 'retry',
      actor: 'console:test',
      replacement: replacementOf(answer),
    })

    const queued = (await bench.notifications()).filter(({ status }) => status === 'queued')
    assert.deepEqual([moved?.moved, moved?.twin, queued.length], [false, queued[0]?.id, 1])
  })

  it('for want of templates answers channel, account, template and words as they are now', async (t) => {
    const { bench, parked, mended } = await setup(t, { catalogue: catalogueOf({ templates: [] }) })

    const answer = await mended(() => bench.import(catalogueOf({ templates: [email] })))

    const { content, channel, accountId, to, locale, fallback, warnings } = replacementOf(answer)
    assert.deepEqual(content, { subject: 'S Ada', body: 'mail Ada', data: {} })
    assert.deepEqual([channel, accountId, locale], ['email', bench.accountId('email'), 'en'])
    assert.deepEqual([to, fallback, warnings], [parked.to, [], []])
    const sent = await retried(bench, parked, answer)
    assert.deepEqual([sent?.status, sent?.channel], ['queued', 'email'])
  })

  it('looks at the whole chain, and takes the rest of it along', async (t) => {
    const delivery = { fallback: ['whatsapp', 'sms', 'email'] }
    const catalogue = catalogueOf({ delivery })
    const { bench, parked, mended } = await setup(t, { catalogue, accounts: ['whatsapp'] })
    assert.deepEqual([parked.reason, parked.channel], ['no_active_channels', 'whatsapp'])

    const answer = await mended(async () => {
      for (const channel of ['sms', 'email'] as const) await addAccount(bench, channel)
    })

    const { channel, fallback } = replacementOf(answer)
    assert.deepEqual([channel, fallback], ['sms', ['email']])
  })

  it('goes past a template of the chain that still cannot be rendered', async (t) => {
    const broken = { ...sms, body: '{{ name | no_such_filter }}' }
    const catalogue = catalogueOf({ delivery: { fallback: ['sms', 'email'] }, templates: [broken, email] })
    const { mended } = await setup(t, { catalogue })

    assert.equal(replacementOf(await mended(async () => {})).channel, 'email')
  })

  it('writes the other channels, too, where all of them were missing', async (t) => {
    const { bench, parked, mended } = await setup(t, { accounts: [] })

    const answer = await mended(async () => {
      for (const channel of ['sms', 'email'] as const) await addAccount(bench, channel)
    })

    await retried(bench, parked, answer)
    const all = await bench.notifications()
    assert.deepEqual(all.map(({ channel, status }) => `${channel} ${status}`).toSorted(), [
      'email queued',
      'sms queued',
    ])
    assert.ok('replacement' in (await replan(bench.chain, parked)), 'and does not write them twice')
    assert.equal((await bench.notifications()).length, 2)
  })

  it('of one channel leaves the others alone: they have gone out', async (t) => {
    const broken = { ...sms, body: '{{ name | no_such_filter }}' }
    const { bench, mended } = await setup(t, { catalogue: catalogueOf({ templates: [broken, email] }) })

    const answer = await mended(() => bench.import(catalogueOf()))

    assert.equal(replacementOf(answer).channel, 'sms')
    assert.equal((await bench.notifications()).length, 2)
  })

  it('finds the recipient that the event names now', async (t) => {
    const catalogue = catalogueOf({ recipients: [{ phone: 'tel' }] })
    const { bench, parked, mended } = await setup(t, { catalogue })
    assert.equal(parked.reason, 'no_recipient')

    const answer = await mended(() => bench.import(catalogueOf()))

    assert.equal(replacementOf(answer).to.phone, '+15550100')
  })

  it('finds the address that the catalogue now has a path to', async (t) => {
    const recipients = [{ phone: 'phone', name: 'name' }]
    const { bench, parked, mended } = await setup(t, { catalogue: catalogueOf({ recipients, templates: [email] }) })
    assert.equal(parked.reason, 'no_recipient')

    const answer = await mended(() => bench.import(catalogueOf({ templates: [email] })))

    assert.equal(replacementOf(answer).to.email, 'ada@example.test')
  })

  it('finds the address that the contact has learnt', async (t) => {
    const recipients = [{ phone: '+15550100', profileId: 'p-1' }]
    const { bench, parked, mended } = await setup(t, { catalogue: catalogueOf({ templates: [email] }) }, { recipients })

    const learnt = { email: 'new@example.test' }
    const answer = await mended(() => bench.store.people.updateContact('acme', parked.contactId ?? '', learnt, 'test'))

    assert.equal(replacementOf(answer).to.email, 'new@example.test')
  })

  it('tells everybody whom the event names now', async (t) => {
    const payload = { seats: [{ phone: '+15550101' }, { phone: '+15550102' }, { phone: '+15550103' }] }
    const catalogue = catalogueOf({ recipients: [{ phone: 'tel' }], templates: [sms] })
    const { bench, parked, mended } = await setup(t, { catalogue }, { payload })

    const answer = await mended(() =>
      bench.import(catalogueOf({ recipients: [{ phone: 'seats[].phone' }], templates: [sms] })),
    )

    await retried(bench, parked, answer)
    assert.deepEqual((await bench.notifications()).map(({ to }) => to.phone ?? '').toSorted(), [
      '+15550101',
      '+15550102',
      '+15550103',
    ])
  })

  describe('for an element of a list without an address', () => {
    const fanOut = (phone: string) =>
      catalogueOf({ recipients: [{ phone, name: 'guests[].name' }], templates: [sms], delivery: { channels: ['sms'] } })
    const guests = [
      { name: 'Ada', phone: '+15550100', mobile: '+15550100' },
      { name: 'Bo' },
      { name: 'Cy', mobile: '+15550102' },
    ]
    const open = (t: TestContext) =>
      setup(t, { catalogue: fanOut('guests[].phone'), accounts: ['sms'] }, { payload: { guests } })

    it('says which one it was, and that it still has none', async (t) => {
      const { bench } = await open(t)
      const parked = (await bench.notifications()).filter(({ status }) => status === 'parked')

      const errors = ['guests[1] has no address', 'guests[2] has no address']
      assert.deepEqual(
        parked.map(({ lastError }) => lastError),
        errors,
      )
      for (const [i, one] of parked.entries())
        assert.equal(problemOf(await replan(bench.chain, one)), `no_recipient: ${errors[i]}`)
    })

    it('goes to that one alone, once the catalogue has a path to it', async (t) => {
      const { bench, mended } = await open(t)
      const first = await mended(() => bench.import(fanOut('guests[].mobile')))
      assert.equal(problemOf(first), 'no_recipient: guests[1] has no address')
      const [, , third = assert.fail()] = (await bench.notifications()).toSorted((a, b) =>
        (a.lastError ?? '').localeCompare(b.lastError ?? ''),
      )

      const sent = await retried(bench, third, await replan(bench.chain, third))

      assert.deepEqual([sent?.status, sent?.to], ['queued', { name: 'Cy', phone: '+15550102' }])
      assert.equal((await bench.notifications()).length, 3)
    })
  })

  it('speaks the recipient’s language', async (t) => {
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'de' }
    const german = { ...sms, locale: 'de', body: 'SMS {{name}}' }
    const { bench, mended } = await setup(t, { catalogue: catalogueOf({ templates: [] }) }, { payload })

    const answer = await mended(() => bench.import(catalogueOf({ templates: [sms, german] })))

    assert.equal(replacementOf(answer).locale, 'de')
  })

  it('speaks the event’s language, whatever the recipient prefers', async (t) => {
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'en' }
    const german = { ...sms, locale: 'de', body: 'SMS {{name}}' }
    const event = { payload, locale: 'de' }
    const { bench, mended } = await setup(t, { catalogue: catalogueOf({ templates: [] }) }, event)

    const answer = await mended(() => bench.import(catalogueOf({ templates: [sms, german] })))

    assert.equal(replacementOf(answer).locale, 'de')
  })

  it('goes to the members of a list that exists by now', async (t) => {
    const catalogue = catalogueOf({ recipients: [{ list: 'ops-team', expand: true }], templates: [email] })
    const { bench, parked, mended } = await setup(t, { catalogue })
    assert.equal(parked.reason, 'list_not_found')

    const answer = await mended(() => {
      const members = ['a', 'b'].map((name) => ({ name, email: `${name}@example.test`, phone: null }))
      return bench.store.lists.insert({ id: bench.ids(), tenantId: 'acme', name: 'ops-team', members }, 'test')
    })

    await retried(bench, parked, answer)
    assert.deepEqual((await bench.notifications()).map(({ to }) => to.email ?? '').toSorted(), [
      'a@example.test',
      'b@example.test',
    ])
  })

  it('seals words with secrets for the notification that it is', async (t) => {
    const secret = { ...sms, body: 'code {{token}}' }
    const payload = { phone: '+15550100', token: 's3cret' }
    const { bench, parked, mended } = await setup(
      t,
      { catalogue: catalogueOf({ secrets: ['token'], templates: [] }) },
      { payload },
    )

    const answer = await mended(() => bench.import(catalogueOf({ secrets: ['token'], templates: [secret] })))

    const { content } = replacementOf(answer)
    assert.ok(isSealedContent(content))
    const opened = bench.seal.openContent(content, { tenantId: 'acme', notificationId: parked.id })
    assert.ok('content' in opened && opened.content.body === 'code s3cret')
  })
})

describe('what still cannot be sent', () => {
  it('says what stands in the way', async (t) => {
    const untouched = async () => {}
    const none = await setup(t, { catalogue: catalogueOf({ templates: [] }) })
    const lane = await setup(t, { accounts: ['push'] })
    const who = await setup(t, {}, { payload: { name: 'Ada' } })
    const wrong = await setup(t, { catalogue: catalogueOf({ templates: [sms] }) }, { payload: { phone: 'none' } })

    assert.match(problemOf(await none.mended(untouched)), /^no_templates_found: no active template/)
    assert.match(problemOf(await lane.mended(untouched)), /^no_active_channels: no active account for sms, email/)
    assert.match(problemOf(await who.mended(untouched)), /^no_recipient: /)
    assert.match(problemOf(await wrong.mended(untouched)), /^invalid_recipient: /)
  })

  it('has an event type that is gone', async (t) => {
    const { bench, mended } = await setup(t, { catalogue: catalogueOf({ templates: [] }) })
    const other = { entities: { booking: 'bookings' }, eventTypes: { other: { entity: 'booking', recipients: [] } } }

    assert.match(problemOf(await mended(() => bench.import(other))), /^unknown_event_type: /)
  })

  it('was scrubbed', async (t) => {
    const { bench, parked } = await setup(t, { catalogue: catalogueOf({ templates: [] }) })

    assert.match(problemOf(await replan(bench.chain, { ...parked, isScrubbed: true })), /^content_scrubbed: /)
  })

  it('was called off by the host', async (t) => {
    let isOff = false
    const resolve = () => (isOff ? { cancel: 'booking cancelled' } : undefined)
    const { mended } = await setup(t, { catalogue: catalogueOf({ templates: [] }), resolve })

    const answer = await mended(async () => {
      isOff = true
    })

    assert.equal(problemOf(answer), 'cancelled_by_host: booking cancelled')
  })

  it('has neither words nor an event', async (t) => {
    const { bench, parked } = await setup(t, { catalogue: catalogueOf({ templates: [] }) })

    assert.match(problemOf(await replan(bench.chain, { ...parked, eventId: null })), /neither words nor an event/)
  })
})

async function addAccount(bench: Bench, channel: 'sms' | 'email'): Promise<void> {
  await bench.store.accounts.insert(storedAccount({ id: bench.ids(), channel }))
}

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

/** Its channel is asked for, and has no template yet. */
const unworded = (channel = 'email') => catalogueOf({ templates: [], delivery: { channels: [channel] } })

/** An event that became notifications which were skipped or parked, and a change of the world since. */
async function setup(t: TestContext, options: Partial<Options>, event: Partial<NewEvent> = {}) {
  const bench = await openPlanning(t, { catalogue: catalogueOf(), ...options })
  await bench.publish(event)
  await bench.plan()
  const [stopped] = (await bench.notifications()).filter(({ status }) => status === 'parked' || status === 'skipped')
  assert.ok(stopped)
  return {
    bench,
    stopped,
    async mended(mend: () => Promise<unknown>): Promise<ReplanAnswer> {
      await mend()
      await bench.clock.advance(1_000)
      return replan(bench.chain, stopped)
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

describe('planning anew what was skipped or born parked', () => {
  it('makes it the one that its event would be planned as: a repeat of the event sends nothing more', async (t) => {
    const { bench, stopped, mended } = await setup(t, { catalogue: unworded() })
    const sent = await retried(bench, stopped, await mended(() => bench.import(catalogueOf({ templates: [email] }))))

    await bench.publish({ entity: stopped.entity ?? assert.fail() })
    await bench.plan()

    assert.deepEqual(
      (await bench.notifications()).map(({ status, duplicateOf }) => [status, duplicateOf]),
      [
        ['queued', null],
        ['skipped', sent?.id],
      ],
    )
  })

  it('does not send what a repeat of the event has sent meanwhile', async (t) => {
    const { bench, stopped, mended } = await setup(t, { catalogue: unworded() })
    const answer = await mended(async () => {
      await bench.import(catalogueOf({ templates: [email] }))
      await bench.clock.advance(1_000)
      await bench.publish({ entity: stopped.entity ?? assert.fail() })
      await bench.plan()
    })
    const { tenantId, id } = stopped

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
    const { bench, stopped, mended } = await setup(t, { catalogue: unworded() })

    const answer = await mended(() => bench.import(catalogueOf({ templates: [email] })))

    const { content, channel, accountId, to, locale, fallback, warnings } = replacementOf(answer)
    assert.deepEqual(content, { subject: 'S Ada', body: 'mail Ada', data: {} })
    assert.deepEqual([channel, accountId, locale], ['email', bench.accountId('email'), 'en'])
    assert.deepEqual([to, fallback, warnings], [stopped.to, [], []])
    const sent = await retried(bench, stopped, answer)
    assert.deepEqual([sent?.status, sent?.channel], ['queued', 'email'])
  })

  it('stays on its channel: the others of a chain have notifications of their own', async (t) => {
    const catalogue = catalogueOf({ delivery: { fallback: ['sms', 'email'] } })
    const { bench, stopped, mended } = await setup(t, { catalogue, accounts: ['push'] })
    assert.deepEqual([stopped.reason, stopped.channel, stopped.fallback], ['no_active_account', 'sms', []])

    const withEmail = await mended(() => addAccount(bench, 'email'))
    assert.match(problemOf(withEmail), /^no_active_account: no active account for sms/)
    const { channel, fallback } = replacementOf(await mended(() => addAccount(bench, 'sms')))

    assert.deepEqual([channel, fallback], ['sms', []])
  })

  it('keeps the channels that its chain still holds', async (t) => {
    const broken = { ...sms, body: '{{ name | no_such_filter }}' }
    const delivery = { fallback: ['sms', 'email'] }
    const { bench, mended } = await setup(t, { catalogue: catalogueOf({ delivery, templates: [broken, email] }) })

    const answer = await mended(() => bench.import(catalogueOf({ delivery })))

    assert.deepEqual(replacementOf(answer).fallback, ['email'])
  })

  it('of one channel leaves the others alone: they have gone out', async (t) => {
    const broken = { ...sms, body: '{{ name | no_such_filter }}' }
    const { bench, mended } = await setup(t, { catalogue: catalogueOf({ templates: [broken, email] }) })

    const answer = await mended(() => bench.import(catalogueOf()))

    assert.equal(replacementOf(answer).channel, 'sms')
    assert.equal((await bench.notifications()).length, 2)
  })

  it('finds the address that the catalogue now has a path to', async (t) => {
    const recipients = [{ phone: 'phone', name: 'name' }]
    const { bench, stopped, mended } = await setup(t, { catalogue: catalogueOf({ recipients, templates: [email] }) })
    assert.equal(stopped.reason, 'no_address')

    const answer = await mended(() => bench.import(catalogueOf({ templates: [email] })))

    assert.equal(replacementOf(answer).to.email, 'ada@example.test')
  })

  it('finds the address that the contact has learnt', async (t) => {
    const recipients = [{ phone: '+15550100', profileId: 'p-1' }]
    const { bench, stopped, mended } = await setup(
      t,
      { catalogue: catalogueOf({ templates: [email] }) },
      { recipients },
    )

    const learnt = { email: 'new@example.test' }
    const answer = await mended(() => bench.store.people.updateContact('acme', stopped.contactId ?? '', learnt, 'test'))

    assert.equal(replacementOf(answer).to.email, 'new@example.test')
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
      const skipped = (await bench.notifications()).filter(({ status }) => status === 'skipped')

      const errors = ['guests[1] has no address for sms', 'guests[2] has no address for sms']
      assert.deepEqual(
        skipped.map(({ lastError }) => lastError),
        errors,
      )
      for (const [i, one] of skipped.entries())
        assert.equal(problemOf(await replan(bench.chain, one)), `no_address: ${errors[i]}`)
    })

    it('goes to that one alone, once the catalogue has a path to it', async (t) => {
      const { bench, mended } = await open(t)
      const first = await mended(() => bench.import(fanOut('guests[].mobile')))
      assert.equal(problemOf(first), 'no_address: guests[1] has no address for sms')
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
    const { bench, mended } = await setup(t, { catalogue: unworded('sms') }, { payload })

    const answer = await mended(() => bench.import(catalogueOf({ templates: [sms, german] })))

    assert.equal(replacementOf(answer).locale, 'de')
  })

  it('speaks the event’s language, whatever the recipient prefers', async (t) => {
    const payload = { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'en' }
    const german = { ...sms, locale: 'de', body: 'SMS {{name}}' }
    const event = { payload, locale: 'de' }
    const { bench, mended } = await setup(t, { catalogue: unworded('sms') }, event)

    const answer = await mended(() => bench.import(catalogueOf({ templates: [sms, german] })))

    assert.equal(replacementOf(answer).locale, 'de')
  })

  it('goes to the members of a list that exists by now', async (t) => {
    const catalogue = catalogueOf({ recipients: [{ list: 'ops-team', expand: true }], templates: [email] })
    const { bench, stopped, mended } = await setup(t, { catalogue })
    assert.equal(stopped.reason, 'list_not_found')

    const answer = await mended(() => {
      const members = ['a', 'b'].map((name) => ({ name, email: `${name}@example.test`, phone: null }))
      return bench.store.lists.insert({ id: bench.ids(), tenantId: 'acme', name: 'ops-team', members }, 'test')
    })

    await retried(bench, stopped, answer)
    assert.deepEqual((await bench.notifications()).map(({ to }) => to.email ?? '').toSorted(), [
      'a@example.test',
      'b@example.test',
    ])
  })

  it('gives each member of the list a row for every channel, also where its words cannot be made', async (t) => {
    const broken = { ...sms, body: '{{ name | no_such_filter }}' }
    const recipients = [{ list: 'ops-team', expand: true }]
    const { bench, stopped, mended } = await setup(t, {
      catalogue: catalogueOf({ recipients, templates: [broken, email] }),
    })

    const answer = await mended(() => {
      const members = ['+15550100', null].map((phone, i) => ({ name: null, email: `m${i}@example.test`, phone }))
      return bench.store.lists.insert({ id: bench.ids(), tenantId: 'acme', name: 'ops-team', members }, 'test')
    })

    await retried(bench, stopped, answer)
    assert.deepEqual(
      (await bench.notifications()).map(({ to, channel, status }) => `${to.email} ${channel} ${status}`).toSorted(),
      [
        'm0@example.test email queued',
        'm0@example.test sms parked',
        'm1@example.test email queued',
        'm1@example.test sms skipped',
      ],
    )
    assert.equal(bench.meters.counts['notifications_skipped no_address'], 1)
  })

  it('finds a member of a list by its place, and says that it still has no address', async (t) => {
    const recipients = [{ list: 'ops-team', expand: true }]
    const bench = await openPlanning(t, { catalogue: catalogueOf({ recipients, templates: [sms] }), accounts: ['sms'] })
    const members = [
      { name: 'a', email: null, phone: '+15550100' },
      { name: 'b', email: ' ', phone: null },
    ]
    await bench.store.lists.insert({ id: bench.ids(), tenantId: 'acme', name: 'ops-team', members }, 'test')
    await bench.publish()
    await bench.plan()
    const [, second = assert.fail()] = await bench.notifications()

    assert.match(second.lastError ?? '', /^member .* has no address for sms$/)
    assert.equal(problemOf(await replan(bench.chain, second)), `no_address: ${second.lastError}`)
  })

  it('seals words with secrets for the notification that it is', async (t) => {
    const secret = { ...sms, body: 'code {{token}}' }
    const payload = { phone: '+15550100', token: 's3cret' }
    const { bench, stopped, mended } = await setup(
      t,
      { catalogue: catalogueOf({ secrets: ['token'], templates: [], delivery: { channels: ['sms'] } }) },
      { payload },
    )

    const answer = await mended(() => bench.import(catalogueOf({ secrets: ['token'], templates: [secret] })))

    const { content } = replacementOf(answer)
    assert.ok(isSealedContent(content))
    const opened = bench.seal.openContent(content, { tenantId: 'acme', notificationId: stopped.id })
    assert.ok('content' in opened && opened.content.body === 'code s3cret')
  })
})

describe('what still cannot be sent', () => {
  it('was passed over by a chain that tells the recipient on another channel', async (t) => {
    const { bench, stopped, mended } = await setup(t, {
      catalogue: catalogueOf({ delivery: { fallback: ['email', 'sms'] } }),
      accounts: ['sms'],
    })
    const other = (await bench.notifications()).find(({ id }) => id !== stopped.id)
    assert.deepEqual([stopped.reason, other?.status], ['no_active_account', 'queued'])
    const withAccount = () => bench.store.accounts.insert(storedAccount({ id: bench.ids(), channel: 'email' }))

    assert.match(
      problemOf(await mended(withAccount)),
      new RegExp(`^duplicate: the chain has gone on: notification ${other?.id} on sms is queued; resend by hand`),
    )
    await bench.store.notifications.act({
      tenantId: 'acme',
      id: other?.id ?? '',
      action: 'cancel',
      actor: 'console:test',
    })
    assert.equal(replacementOf(await mended(async () => {})).channel, 'email')
  })

  it('says what stands in the way', async (t) => {
    const untouched = async () => {}
    const none = await setup(t, { catalogue: unworded() })
    const lane = await setup(t, { accounts: ['push'] })
    const who = await setup(t, {}, { payload: { email: 'ada@example.test' } })
    const wrong = await setup(t, { catalogue: catalogueOf({ templates: [sms] }) }, { payload: { phone: 'none' } })

    assert.match(problemOf(await none.mended(untouched)), /^no_template: no active template/)
    assert.match(problemOf(await lane.mended(untouched)), /^no_active_account: no active account for sms/)
    assert.match(problemOf(await who.mended(untouched)), /^no_address: /)
    assert.match(problemOf(await wrong.mended(untouched)), /^invalid_recipient: /)
  })

  it('has an event type that is gone', async (t) => {
    const { bench, mended } = await setup(t, { catalogue: unworded() })
    const other = { entities: { booking: 'bookings' }, eventTypes: { other: { entity: 'booking', recipients: [] } } }

    assert.match(problemOf(await mended(() => bench.import(other))), /^unknown_event_type: /)
  })

  it('was scrubbed', async (t) => {
    const { bench, stopped } = await setup(t, { catalogue: unworded() })

    assert.match(problemOf(await replan(bench.chain, { ...stopped, isScrubbed: true })), /^content_scrubbed: /)
  })

  it('was called off by the host', async (t) => {
    let isOff = false
    const resolve = () => (isOff ? { cancel: 'booking cancelled' } : undefined)
    const { mended } = await setup(t, { catalogue: unworded(), resolve })

    const answer = await mended(async () => {
      isOff = true
    })

    assert.equal(problemOf(answer), 'cancelled_by_host: booking cancelled')
  })

  it('has neither words nor an event', async (t) => {
    const { bench, stopped } = await setup(t, { catalogue: unworded() })

    assert.match(problemOf(await replan(bench.chain, { ...stopped, eventId: null })), /neither words nor an event/)
  })
})

async function addAccount(bench: Bench, channel: 'sms' | 'email'): Promise<void> {
  await bench.store.accounts.insert(storedAccount({ id: bench.ids(), channel }))
}

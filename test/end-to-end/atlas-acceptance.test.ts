import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Notification, TestTenant } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { onEachStore, startWorld } from '../support/world.ts'
import { atlasTenant, BOOKING, NAMES } from './atlas-bookings.ts'

/** The booking system's acceptance criteria, one by one. */

const entity = { type: 'booking', id: '12345' }
const confirmed = { type: 'booking.confirmed', entity, payload: { ...BOOKING, ...NAMES } }

/** The only one that is sent: the catalogue asks for channels that the tenant has no account for, too. */
async function only(tenant: TestTenant): Promise<Notification> {
  const [notification, ...others] = await sendable(tenant)
  assert.deepEqual(others, [])
  return notification ?? assert.fail('there is no notification')
}

async function sendable(tenant: TestTenant): Promise<Notification[]> {
  return (await tenant.notifications()).filter(({ status }) => status !== 'skipped')
}

/** Makes a template's body another one. */
async function rewrite(tenant: TestTenant, channel: string, body: string): Promise<void> {
  const listed = await tenant.call('GET', `/api/message-templates?eventType=booking.confirmed&channel=${channel}`)
  const [template] = listed.body['items'] as { id: string }[]
  const { eventType, locale } = { eventType: 'booking.confirmed', locale: 'en-IN' }
  const answer = await tenant.call('PUT', `/api/message-templates/${template?.id}`, {
    eventType,
    channel,
    locale,
    body,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

onEachStore('acceptance', startWorld, (world) => {
  it('no duplicate sends on double-confirm: two events, two schedules, one call per channel and template', async () => {
    const tenant = await atlasTenant(world(), ['whatsapp', 'sms'])

    await Promise.all([tenant.publish(confirmed), tenant.publish(confirmed)])
    await tenant.settle()
    await tenant.publish(confirmed)

    assert.deepEqual((await tenant.inbox()).map(({ channel }) => channel).toSorted(), ['sms', 'whatsapp'])
    const schedules = await tenant.schedules('bookingId=12345')
    assert.deepEqual(
      schedules.map(({ status }) => status),
      ['completed', 'completed', 'completed'],
    )
    const notifications = await sendable(tenant)
    assert.deepEqual(
      notifications.map(({ idempotencyKey }) => idempotencyKey).toSorted(),
      notifications.map(({ channel, templateId }) => `12345:booking.confirmed:${channel}:${templateId}`).toSorted(),
    )
    assert.equal(notifications.length, 2)
    const skipped = await tenant.notifications('status=skipped')
    assert.deepEqual(skipped.map(({ channel, reason }) => `${channel} ${reason}`).toSorted(), [
      ...Array.from({ length: 3 }, () => 'email no_active_account'),
      ...Array.from({ length: 2 }, () => 'sms duplicate'),
      ...Array.from({ length: 2 }, () => 'whatsapp duplicate'),
    ])
  })

  it('retries and final failure: each failure is counted and set back 1, 2, 4, 8, 16 minutes, and then nothing more is tried', async () => {
    const tenant = await atlasTenant(world(), [])
    const account = {
      channel: 'sms',
      provider: 'sandbox',
      name: 'sms',
      settings: { faults: [{ kind: 'server_error' }] },
    }
    assert.equal((await tenant.call('POST', '/api/channel-accounts', account)).status, 201)
    const attempted = (count: number) =>
      until(`attempt ${count}`, async () => (await only(tenant)).attemptCount === count)
    const waitMs = ({ nextAttemptAt }: Notification): number => Date.parse(nextAttemptAt ?? '') - Date.now()

    await tenant.publish(confirmed)
    for (const [i, minutes] of [1, 2, 4, 8, 16].entries()) {
      await attempted(i + 1)
      const failed = await only(tenant)
      assert.equal(failed.status, 'retrying')
      assert.match(failed.lastError ?? '', /unavailable/)
      const wait = waitMs(failed)
      assert.ok(wait > (minutes - 0.5) * 60_000 && wait <= minutes * 60_000, `${wait} ms`)
      await world().timePasses(minutes * 60_000)
    }
    await attempted(6)
    const last = await only(tenant)
    await world().timePasses(86_400_000)
    await tenant.settle()

    assert.deepEqual([last.status, last.reason], ['parked', 'attempts_exhausted'])
    assert.deepEqual((await only(tenant)).attemptCount, 6)
    assert.deepEqual(await tenant.inbox(), [])
  })

  it('tenant isolation: words, rows and answers are each tenant’s own', async () => {
    const [a, b] = [await atlasTenant(world(), ['sms']), await atlasTenant(world(), ['sms'])]
    await rewrite(b, 'sms', 'B says {{bookingId}} for {{guestPhone}}')

    await a.publish(confirmed)
    await b.publish({ ...confirmed, payload: { ...BOOKING, guestPhone: '+919800000002' } })

    const [[fromA, ...moreA], [fromB, ...moreB]] = [await a.inbox(), await b.inbox()]
    assert.deepEqual([moreA, moreB], [[], []])
    assert.match(fromA?.body ?? '', /^Booking 12345 at Cozy Studio/)
    assert.equal(fromB?.body, 'B says 12345 for +919800000002')
    const [ofA, ofB] = [await only(a), await only(b)]
    assert.equal((await a.call('GET', `/api/notifications/${ofB.id}`)).status, 404)
    assert.equal((await a.call('GET', `/api/message-templates/${ofB.templateId}`)).status, 404)
    assert.equal((await a.call('POST', `/api/notifications/${ofB.id}/cancel`)).status, 404)
    const panel = await a.call('GET', '/api/communication-logs?bookingId=12345')
    const shown = panel.body['items'] as { id: string; status: string; channel: string }[]
    assert.ok(shown.some(({ id }) => id === ofA.id))
    assert.ok(shown.every(({ id }) => id !== ofB.id))
    assert.deepEqual(
      shown
        .filter(({ status }) => status === 'skipped')
        .map(({ channel }) => channel)
        .toSorted(),
      ['email', 'whatsapp'],
    )
  })

  it('manual resend logs separately: a row of its own, the first unchanged, both in the panel', async () => {
    const tenant = await atlasTenant(world(), ['whatsapp', 'sms'])
    await tenant.publish(confirmed)
    const [before] = await tenant.notifications('channel=whatsapp')

    const answer = await tenant.call('POST', '/api/bookings/12345/resend-notification', { channel: 'whatsapp' })
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
    const inbox = (await tenant.inbox()).filter(({ channel }) => channel === 'whatsapp')

    const { requestId, notifications } = answer.body as { requestId: string; notifications: string[] }
    assert.equal(inbox.length, 2)
    assert.equal(inbox[1]?.body, inbox[0]?.body)
    const [first, again] = await tenant.notifications('channel=whatsapp')
    assert.deepEqual(first, before)
    assert.deepEqual([again?.id], notifications)
    assert.equal(again?.idempotencyKey, `manual:12345:whatsapp:${before?.templateId}:${requestId}`)
    assert.equal(again.triggeredBy, 'key:admin')
    const panel = await tenant.call('GET', '/api/communication-logs?bookingId=12345')
    const rows = panel.body['items'] as { id: string; channel: string; toAddress: string }[]
    assert.deepEqual(
      rows.filter(({ channel }) => channel === 'whatsapp').map(({ id }) => id),
      [again.id, first?.id],
    )
    assert.ok(rows.every(({ toAddress }) => !toAddress.includes('9876543')))
  })

  it('a resend may name its template, and each one is sent', async () => {
    const tenant = await atlasTenant(world(), ['sms'])
    await tenant.publish(confirmed)
    const { templateId } = await only(tenant)
    const resend = { channel: 'sms', templateId }

    for (let i = 0; i < 2; i++)
      assert.equal((await tenant.call('POST', '/api/bookings/12345/resend-notification', resend)).status, 202)

    assert.equal((await tenant.inbox()).length, 3)
    assert.equal(new Set((await sendable(tenant)).map(({ idempotencyKey }) => idempotencyKey)).size, 3)
  })

  for (const [missing, words] of [
    ['empty', 'Reach +919876543210, in on 15-Mar-2026, room .'],
    ['keep', 'Reach +919876543210, in on 15-Mar-2026, room {{roomName}}.'],
  ] as const)
    it(`placeholder resolution: values are filled in, and a missing one is left ${missing}, with a warning`, async () => {
      const tenant = await atlasTenant(world(), ['sms'], { missingPlaceholder: missing })
      await rewrite(tenant, 'sms', 'Reach {{GuestPhone}}, in on {{checkinDate}}, room {{roomName}}.')

      await tenant.publish(confirmed)

      const [message] = await tenant.inbox()
      assert.equal(message?.body, words)
      const { status, warnings } = await only(tenant)
      assert.equal(status, 'sent')
      assert.deepEqual(
        warnings.map(({ code, key }) => [code, key]),
        [['missing_placeholder', 'roomName']],
      )
    })

  it('Indian E.164: the number reaches the provider as it is stored', async () => {
    const tenant = await atlasTenant(world(), ['whatsapp', 'sms'])

    await tenant.publish(confirmed)

    const inbox = await tenant.inbox()
    assert.deepEqual(
      inbox.map(({ to }) => to.phone),
      ['+919876543210', '+919876543210'],
    )
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sealWith } from '../../packages/client/src/index.ts'
import type { TestTenant } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { onEachStore, startWorld, type World } from '../support/world.ts'
import { assertClean, wordsOf } from './message-words.ts'

const TOKEN = 'raw+signed/token=='

const INVITATION = {
  type: 'InvitationSent',
  eventId: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
  eventTitle: 'Team Kickoff 2026',
  eventDateTime: '2026-03-15T09:00:00+00:00',
  eventLocation: 'Berlin, Germany',
  invitationId: '7cb2e4a1-0011-4a2d-bcde-000000000001',
  participantEmail: 'alice@example.com',
  rsvpToken: TOKEN,
  tokenExpiresAt: '2026-03-18T09:00:00+00:00',
}

const CANCELLATION = {
  type: 'EventCancelled',
  eventId: INVITATION.eventId,
  eventTitle: INVITATION.eventTitle,
  eventDateTime: INVITATION.eventDateTime,
  affectedParticipantEmails: ['alice@example.com', 'bob@example.com'],
}

const entity = { type: 'invitation', id: INVITATION.invitationId }

function eventhubTenant(world: World): Promise<TestTenant> {
  return world.tenant({ catalogue: 'eventhub', settings: { timeZone: 'Europe/Berlin' }, channels: ['email'] })
}

onEachStore('the eventhub catalogue', startWorld, (world) => {
  it('invites one participant, with the token in the link', async () => {
    const tenant = await eventhubTenant(world())

    await tenant.publish({ type: 'InvitationSent', entity, payload: INVITATION })

    const [message, ...others] = await tenant.inbox()
    assert.deepEqual(others, [])
    assert.deepEqual(message?.to, { email: 'alice@example.com' })
    assert.equal(message.subject, 'You are invited: Team Kickoff 2026')
    assert.match(message.body, /href="https:\/\/eventhub\.example\.com\/rsvp\?token=raw%2Bsigned%2Ftoken%3D%3D"/)
    assert.equal(
      wordsOf(message.body),
      [
        'Hello,',
        'you are invited to Team Kickoff 2026.',
        'When Mar 15, 2026, 10:00 AM',
        'Where Berlin, Germany',
        'Reply to the invitation',
        'Please reply by Mar 18, 2026, 10:00 AM. The link is yours alone, so please do not pass it on.',
      ].join('\n'),
    )
    const [notification] = await tenant.notifications()
    assert.deepEqual([notification?.status, notification?.warnings], ['sent', []])
  })

  it('shows the token to nobody, and forgets it', async () => {
    const tenant = await eventhubTenant(world())

    const id = await tenant.publish({ type: 'InvitationSent', entity, payload: INVITATION })
    await tenant.settle()
    const [sealed] = await tenant.notifications()
    const outbox = await world().ops('GET', `/ops/outbox?tenantId=${tenant.id}`)

    assert.equal(sealed?.content, null)
    assert.doesNotMatch(JSON.stringify([sealed, outbox.body]), /signed/)
    assert.match(JSON.stringify(outbox.body), new RegExp(id))
    await until('the content is scrubbed', async () => (await tenant.notifications())[0]?.isScrubbed === true)
  })

  it('invites once per invitation, however often the event comes', async () => {
    const tenant = await eventhubTenant(world())

    await tenant.publish({ type: 'InvitationSent', entity, payload: INVITATION })
    await tenant.publish({ type: 'InvitationSent', entity, payload: INVITATION })

    assert.equal((await tenant.inbox()).length, 1)
  })

  it('takes a token that the host sealed in its own transaction', async () => {
    const tenant = await eventhubTenant(world())
    const answer = await tenant.call('GET', '/api/sealing-key')
    assert.equal(answer.status, 200)
    const seal = sealWith(String(answer.body['sealingKey']), { tenantId: tenant.id })

    const payload = { ...INVITATION, rsvpToken: seal(TOKEN) }
    const event = { tenantId: tenant.id, type: 'InvitationSent', entity, payload }
    await (await world().host()).transact({ rows: [`invitation ${tenant.id}`], events: [event] })
    // The host may be in another process: nobody nudges the planner.
    await until('it is sent', async () => (await tenant.inbox()).length === 1)

    const [message] = await tenant.inbox()
    assert.match(message?.body ?? '', /token=raw%2Bsigned%2Ftoken%3D%3D"/)
    assert.deepEqual((await tenant.notifications())[0]?.warnings, [])
  })

  it('tells each affected participant that an event is cancelled, in a mail of their own', async () => {
    const tenant = await eventhubTenant(world())

    await tenant.publish({
      type: 'EventCancelled',
      entity: { type: 'event', id: CANCELLATION.eventId },
      payload: CANCELLATION,
    })

    const inbox = await tenant.inbox()
    assert.deepEqual(inbox.map(({ to }) => to.email ?? '').toSorted(), ['alice@example.com', 'bob@example.com'])
    for (const { subject, body } of inbox) {
      assert.equal(subject, 'Cancelled: Team Kickoff 2026')
      assert.equal(
        wordsOf(body),
        [
          'Hello,',
          'we are sorry: Team Kickoff 2026, planned for Mar 15, 2026, 10:00 AM, has been cancelled.',
          'You need not do anything. Thank you for your interest; we hope to see you at another event.',
        ].join('\n'),
      )
    }
    assertClean(await tenant.notifications())
  })

  it('lets an address that is refused fail, and sends to the others', async () => {
    const tenant = await world().tenant({ catalogue: 'eventhub' })
    const faults = [{ kind: 'permanent', reason: 'invalid_recipient', to: 'bob@example.com' }]
    const account = { channel: 'email', provider: 'sandbox', name: 'email', settings: { faults } }
    assert.equal((await tenant.call('POST', '/api/channel-accounts', account)).status, 201)

    await tenant.publish({
      type: 'EventCancelled',
      entity: { type: 'event', id: CANCELLATION.eventId },
      payload: CANCELLATION,
    })

    const ends = (await tenant.notifications()).map(({ to, status, reason }) => `${to.email} ${status} ${reason}`)
    assert.deepEqual(ends.toSorted(), ['alice@example.com sent null', 'bob@example.com failed invalid_recipient'])
  })
})

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { onEachStore, startWorld } from '../support/world.ts'
import { assertClean } from './message-words.ts'

onEachStore('the push catalogue', startWorld, (world) => {
  it('carries the caller’s words and data to the device', async () => {
    const tenant = await world().tenant({ catalogue: 'push', channels: ['push'] })

    for (const [id, targetPlatform] of [
      ['phone', 'FCM'],
      ['desktop', 'WNS'],
    ])
      await tenant.publish({
        type: 'push.message',
        entity: { type: 'device', id },
        payload: {
          targetPlatform,
          deviceToken: `token-${id}`,
          title: 'Payment received',
          body: 'Order 123 is <paid> & packed.',
          data: { orderId: '123' },
        },
      })

    const inbox = await tenant.inbox()
    const seen = inbox.map(({ to, subject, body, data }) => ({ to, subject, body, data }))
    const words = { subject: 'Payment received', body: 'Order 123 is <paid> & packed.', data: { orderId: '123' } }
    assert.deepEqual(
      seen.toSorted((a, b) => String(a.to.platform).localeCompare(String(b.to.platform))),
      [
        { to: { deviceToken: 'token-phone', platform: 'fcm' }, ...words },
        { to: { deviceToken: 'token-desktop', platform: 'wns' }, ...words },
      ],
    )
    assertClean(await tenant.notifications())
  })

  it('refuses a platform that it does not know, and says where', async () => {
    const tenant = await world().tenant({ catalogue: 'push', channels: ['push'] })

    const answer = await tenant.call('POST', '/api/events', {
      type: 'push.message',
      entity: { type: 'device', id: 'x' },
      payload: { targetPlatform: 'APNS', deviceToken: 'token', title: 'a', body: 'b' },
    })

    assert.equal(answer.status, 422)
    assert.equal((answer.body['errors'] as { path: string }[])[0]?.path, '/payload/targetPlatform')
  })
})

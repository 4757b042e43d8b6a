import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { TestTenant } from '../support/tenant.ts'
import { onEachStore, startWorld, type World } from '../support/world.ts'
import { assertClean } from './message-words.ts'

async function scadaTenant(world: World, members = ['a@example.com', 'b@example.com']): Promise<TestTenant> {
  const tenant = await world.tenant({
    catalogue: 'scada',
    settings: { timeZone: 'Europe/Berlin' },
    channels: ['email'],
  })
  const list = { name: 'operators', members: members.map((email) => ({ email })) }
  assert.equal((await tenant.call('POST', '/api/recipient-lists', list)).status, 201)
  return tenant
}

onEachStore('the scada catalogue', startWorld, (world) => {
  it('sends a script’s own words as one plain mail to the whole list', async () => {
    const tenant = await scadaTenant(world())

    await tenant.publish({
      type: 'notify.send',
      entity: { type: 'instance', id: 'pump-4' },
      payload: { list: 'operators', subject: 'Pump 4 & valve', body: 'Pressure < 2 bar.\nPlease look.', site: 'north' },
    })

    const [message, ...others] = await tenant.inbox()
    assert.deepEqual(others, [])
    assert.equal(message?.subject, 'Pump 4 & valve')
    assert.equal(message.body, 'Pressure < 2 bar.\nPlease look.')
    assert.deepEqual(message.to.bcc, ['a@example.com', 'b@example.com'])
    assert.equal(message.to.email, undefined)
    const notifications = await tenant.notifications()
    assertClean(notifications)
    assert.deepEqual(notifications[0]?.resolvedTargets, ['a@example.com', 'b@example.com'])
  })

  it('brings the words of an alarm along', async () => {
    const tenant = await scadaTenant(world())

    await tenant.publish({
      type: 'alarm.raised',
      entity: { type: 'alarm', id: 'tank-4-high' },
      payload: {
        list: 'operators',
        alarm: 'Tank 4 level high',
        site: 'North plant',
        instance: 'Tank 4',
        priority: 'High',
        value: 92.5,
        limit: 90,
        unit: '%',
        raisedAt: '2026-03-15T09:30:00Z',
        message: 'Open the drain.',
      },
    })
    await tenant.settle()
    await tenant.publish({
      type: 'alarm.cleared',
      entity: { type: 'alarm', id: 'tank-4-high' },
      payload: {
        list: 'operators',
        alarm: 'Tank 4 level high',
        site: 'North plant',
        instance: 'Tank 4',
        value: 71,
        unit: '%',
        raisedAt: '2026-03-15T09:30:00Z',
        clearedAt: '2026-03-15T10:05:00Z',
      },
    })

    const [raised, cleared, ...others] = await tenant.inbox()
    assert.deepEqual(others, [])
    assert.equal(raised?.subject, 'ALARM (High): Tank 4 level high, North plant')
    assert.equal(
      raised.body,
      [
        'Alarm: Tank 4 level high',
        'Site: North plant',
        'Instance: Tank 4',
        'Priority: High',
        'Value: 92.5 % (limit 90 %)',
        'Raised: 2026-03-15 10:30',
        '',
        'Open the drain.',
      ].join('\n'),
    )
    assert.equal(cleared?.subject, 'Cleared: Tank 4 level high, North plant')
    assert.equal(
      cleared.body,
      [
        'Cleared: Tank 4 level high',
        'Site: North plant',
        'Instance: Tank 4',
        'Value: 71 %',
        'Raised: 2026-03-15 10:30',
        'Cleared: 2026-03-15 11:05',
      ].join('\n'),
    )
    assertClean(await tenant.notifications())
  })

  it('leaves out of an alarm what nobody measured', async () => {
    const tenant = await scadaTenant(world())
    const entity = { type: 'alarm', id: 'door' }

    await tenant.publish({
      type: 'alarm.raised',
      entity,
      payload: { list: 'operators', alarm: 'Door open', site: 'North plant' },
    })

    const [message] = await tenant.inbox()
    assert.equal(message?.subject, 'ALARM: Door open, North plant')
    assert.equal(message.body, 'Alarm: Door open\nSite: North plant')
    assertClean(await tenant.notifications())
  })

  it('sends every event, however often the same alarm goes off', async () => {
    const tenant = await scadaTenant(world())
    const alarm = {
      type: 'alarm.raised',
      entity: { type: 'alarm', id: 'door' },
      payload: { list: 'operators', alarm: 'Door open', site: 'North plant' },
    }

    for (let i = 0; i < 3; i++) await tenant.publish(alarm)

    assert.equal((await tenant.inbox()).length, 3)
  })

  it('parks what is for a list that does not exist, and says which', async () => {
    const tenant = await scadaTenant(world())

    await tenant.publish({
      type: 'notify.send',
      entity: { type: 'instance', id: 'pump-4' },
      payload: { list: 'nobody', subject: 'Pump 4', body: 'Please look.' },
    })

    const [parked] = await tenant.notifications()
    assert.deepEqual([parked?.status, parked?.reason], ['parked', 'list_not_found'])
    assert.match(parked?.lastError ?? '', /"nobody"/)
  })

  it('asks who is on the list when it sends, and parks where there is nobody', async () => {
    const tenant = await scadaTenant(world(), [])
    const event = {
      type: 'notify.send',
      entity: { type: 'instance', id: 'pump-4' },
      payload: { list: 'operators', subject: 'Pump 4', body: 'Please look.' },
    }

    await tenant.publish(event)
    const [parked] = await tenant.notifications()
    const list = { name: 'operators', members: [{ email: 'late@example.com' }] }
    assert.equal((await tenant.call('PUT', '/api/recipient-lists/operators', list)).status, 200)
    assert.equal((await tenant.call('POST', `/api/notifications/${parked?.id}/retry`)).status, 200)

    assert.deepEqual([parked?.status, parked?.reason], ['parked', 'list_empty'])
    const [message] = await tenant.inbox()
    assert.deepEqual(message?.to.bcc, ['late@example.com'])
  })
})

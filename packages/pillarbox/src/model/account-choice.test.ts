import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AccountStatus } from './account.ts'
import { chooseAccount, knowsDevicesOf } from './account-choice.ts'

const account = (id: string, provider = 'sandbox', status: AccountStatus = 'active') =>
  ({ id, channel: 'push', provider, status }) as const

describe('the account of a notification', () => {
  it('is the first active one of its channel', () => {
    const accounts = [
      { ...account('sms'), channel: 'sms' as const },
      account('off', 'sandbox', 'suspended'),
      account('first'),
      account('second'),
    ]

    assert.equal(chooseAccount(accounts, 'push', {})?.id, 'first')
    assert.equal(chooseAccount(accounts, 'email', {}), null)
  })

  it('is a paused one only where no other is active, and never a suspended one', () => {
    const ill = account('ill', 'sandbox', 'paused')
    const off = account('off', 'sandbox', 'suspended')

    assert.equal(chooseAccount([ill, account('well')], 'push', {})?.id, 'well')
    assert.equal(chooseAccount([off, ill], 'push', {})?.id, 'ill')
    assert.equal(chooseAccount([off], 'push', {}), null)
  })

  it('is one whose vendor knows the device', () => {
    const accounts = [account('google', 'fcm'), account('windows', 'wns')]

    assert.equal(chooseAccount(accounts, 'push', { platform: 'wns' })?.id, 'windows')
    assert.equal(chooseAccount(accounts, 'push', { platform: 'fcm' })?.id, 'google')
    assert.equal(chooseAccount(accounts, 'push', {})?.id, 'google')
    assert.equal(chooseAccount([account('google', 'fcm')], 'push', { platform: 'wns' }), null)
    assert.ok(knowsDevicesOf({ channel: 'push', provider: 'sandbox' }, 'wns'))
    assert.ok(knowsDevicesOf({ channel: 'sms', provider: 'fcm' }, 'wns'))
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CHANNELS, isChannel } from './channel.ts'

describe('channels', () => {
  it('are these six', () => {
    assert.deepEqual([...CHANNELS], ['whatsapp', 'sms', 'email', 'push', 'in_app', 'webhook'])
  })

  it('are recognised by their exact word', () => {
    for (const channel of CHANNELS) assert.ok(isChannel(channel))
    for (const other of ['', 'SMS', 'fax', 'sms ', 'constructor', null, undefined, 1, ['sms'], {}])
      assert.equal(isChannel(other), false, JSON.stringify(other))
  })
})

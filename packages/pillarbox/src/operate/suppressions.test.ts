import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Channel } from '../model/channel.ts'
import type { FieldError } from '../model/errors.ts'
import { addressesToLookFor, addressToSuppress } from './suppressions.ts'

describe('an address that is to be suppressed', () => {
  const read = (channel: Channel, text: string, region: string | null = 'IN') => {
    const problems: FieldError[] = []
    return { address: addressToSuppress(channel, text, { region, problems }), problems }
  }

  it('is read as the channel’s notifications have theirs', () => {
    assert.equal(read('sms', '098765 43210').address, '+919876543210')
    assert.equal(read('whatsapp', 'tel:+49 1512 3456789').address, '+4915123456789')
    assert.equal(read('email', ' Ada@EXAMPLE.com').address, 'Ada@example.com')
    for (const channel of ['push', 'in_app'] as const) assert.equal(read(channel, 'aB:1 ').address, 'aB:1 ')
    assert.equal(read('webhook', 'https://example.com/a').address, 'https://example.com/a')
  })

  it('is refused where nothing can be sent to it', () => {
    for (const [channel, text] of [
      ['sms', 'nobody'],
      ['whatsapp', '12'],
      ['email', '+919876543210'],
      ['webhook', 'https://user@example.com'],
      ['push', 'x'.repeat(4_097)],
    ] as const) {
      const { address, problems } = read(channel, text)
      assert.equal(address, null)
      assert.deepEqual(
        problems.map(({ path }) => path),
        ['/address'],
      )
    }
    assert.match(read('sms', '98765 43210', null).problems[0]?.message ?? '', /the tenant has no region/)
  })

  it('is looked for as it stands, and in every form it may be kept in', () => {
    assert.deepEqual(addressesToLookFor('098765 43210', 'IN'), ['098765 43210', '+919876543210'])
    assert.deepEqual(addressesToLookFor(' a@EXAMPLE.com', null), [' a@EXAMPLE.com', 'a@example.com'])
    assert.deepEqual(addressesToLookFor('+919876543210', null), ['+919876543210'])
    assert.deepEqual(addressesToLookFor('device-1', 'IN'), ['device-1'])
  })
})

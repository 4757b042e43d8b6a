import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isPublicAddress } from './addresses.ts'

describe('isPublicAddress', () => {
  it('knows what is not the public Internet', () => {
    for (const address of [
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.255.254',
      '169.254.169.254',
      '172.16.0.1',
      '172.31.255.255',
      '192.0.2.1',
      '192.168.1.1',
      '198.18.0.1',
      '203.0.113.9',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '0:0:0:0:0:ffff:a00:1',
      '::10.0.0.1',
      '::ffff:0:127.0.0.1',
      '64:ff9b::a00:1',
      '64:ff9b::169.254.169.254',
      'fc00::1',
      'fd12:3456::1',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
      '2001:db8::1',
      '2002:7f00:1::',
    ])
      assert.equal(isPublicAddress(address), false, address)
  })

  it('lets the public Internet through', () => {
    for (const address of [
      '1.1.1.1',
      '8.8.8.8',
      '172.15.255.255',
      '172.32.0.1',
      '100.63.255.255',
      '2606:4700:4700::1111',
      '2a00:1450:4001:80b::200e',
      '::ffff:8.8.8.8',
      '64:ff9b::808:808',
    ])
      assert.equal(isPublicAddress(address), true, address)
  })

  it('takes what is no address for not public', () => {
    for (const text of ['', 'localhost', '1.2.3', '0x7f000001', '2130706433', '1.1.1.1.1', ':::'])
      assert.equal(isPublicAddress(text), false, text)
  })
})

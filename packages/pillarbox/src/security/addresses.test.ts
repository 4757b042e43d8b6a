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
      '64:ff9b::',
      '64:ff9b:0:0:0:0:7f00:0',
      '0:0:0:0:0:0:7f00:1',
      '::ffff:0.0.0.0',
      '::FFFF:10.0.0.1',
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

  // First and last address of a range, and the public ones on either side; null where the neighbour is not public either.
  for (const [first, last, before, after] of [
    ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
    ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
    ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
    ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
    ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
    ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
    ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
    ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
    ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
    ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
    ['224.0.0.0', '239.255.255.255', '223.255.255.255', null],
    ['240.0.0.0', '255.255.255.255', null, null],
    ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fbff::', 'fe00::'],
    ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fe7f::', null],
    ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff', null, '100:0:0:2::'],
    ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:7fff::', '2620:4f:8001::'],
    ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7::', '2001:db9::'],
  ] as const)
    it(`knows where ${first} to ${last} begins and ends`, () => {
      assert.deepEqual([isPublicAddress(first), isPublicAddress(last)], [false, false])
      for (const neighbour of [before, after]) if (neighbour) assert.ok(isPublicAddress(neighbour), neighbour)
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
      '::8.8.8.8',
      '::ffff:808:0',
      '64:ff9b::8.0.0.8',
    ])
      assert.equal(isPublicAddress(address), true, address)
  })

  it('takes what is no address for not public', () => {
    for (const text of ['', 'localhost', '1.2.3', '0x7f000001', '2130706433', '1.1.1.1.1', ':::'])
      assert.equal(isPublicAddress(text), false, text)
  })
})

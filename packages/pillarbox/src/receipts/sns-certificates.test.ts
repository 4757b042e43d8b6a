import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OutboundAnswer } from '../channels/outbound.ts'
import { systemClock } from '../runtime/system.ts'
import { createSnsCertificates, isCertificateUrl, isSnsUrl } from './sns-certificates.ts'

const PEM = '/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem'

const VENDORS = [
  'https://sns.us-east-1.amazonaws.com',
  'https://sns.ap-southeast-2.amazonaws.com',
  'https://sns.us-gov-west-1.amazonaws.com',
  'https://sns.cn-north-1.amazonaws.com.cn',
  'https://SNS.eu-central-1.AMAZONAWS.com',
]

const NOT_VENDORS = [
  'http://sns.us-east-1.amazonaws.com',
  'https://sns.us-east-1.amazonaws.com:8443',
  'https://user@sns.us-east-1.amazonaws.com',
  'https://sns.us-east-1.amazonaws.com.example.com',
  'https://sns.us-east-1.amazonaws.com.cn.example.com',
  'https://example.com/sns.us-east-1.amazonaws.com',
  'https://evil-sns.us-east-1.amazonaws.com',
  'https://x.sns.us-east-1.amazonaws.com',
  'https://sns.s3.amazonaws.com',
  'https://sns.s3-us-west-2.amazonaws.com',
  'https://sns.s3.us-west-2.amazonaws.com',
  'https://sns.us-east-1.example.com',
  'https://snsxus-east-1.amazonaws.com',
  'https://sns.us-east-1.amazonawsxcom',
  'https://127.0.0.1',
  'ftp://sns.us-east-1.amazonaws.com',
]

describe('the hosts of SNS', () => {
  for (const origin of VENDORS)
    it(`are believed: ${origin}`, () => {
      assert.equal(isSnsUrl(`${origin}/?Action=ConfirmSubscription`, []), true)
      assert.equal(isCertificateUrl(`${origin}${PEM}`, []), true)
    })

  for (const origin of NOT_VENDORS)
    it(`are not: ${origin}`, () => {
      assert.equal(isSnsUrl(`${origin}/?Action=ConfirmSubscription`, []), false)
      assert.equal(isCertificateUrl(`${origin}${PEM}`, []), false)
    })

  it('have certificates at addresses of certificates only', () => {
    for (const path of [
      '/',
      '/?Action=ListTopics',
      `${PEM}?x=1`,
      `/x${PEM}`,
      `${PEM}/x`,
      '/SimpleNotificationService-a.txt',
    ])
      assert.equal(isCertificateUrl(`https://sns.us-east-1.amazonaws.com${path}`, []), false, path)
  })

  it('may be added to, by name or by name and port', () => {
    assert.equal(isCertificateUrl('http://localhost:8080/any.pem', ['localhost']), true)
    assert.equal(isCertificateUrl('http://localhost:8080/any.pem', ['localhost:8080']), true)
    assert.equal(isCertificateUrl('http://localhost:8081/any.pem', ['localhost:8080']), false)
    assert.equal(isCertificateUrl('http://localhost.example.com/any.pem', ['localhost']), false)
    assert.equal(isCertificateUrl('ftp://localhost/any.pem', ['localhost']), false)
    assert.equal(isCertificateUrl('http://user:x@localhost/any.pem', ['localhost']), false)
  })
})

it('fetches only a few certificates at a time, whatever addresses are made up', async () => {
  const waiting: ((answer: OutboundAnswer) => void)[] = []
  const outbound = {
    request: () => new Promise<OutboundAnswer>((resolve) => void waiting.push(resolve)),
  }
  const certificates = createSnsCertificates({ outbound, clock: systemClock, certHosts: [] })
  const asked = Array.from({ length: 100 }, (_, i) =>
    certificates.find(`https://sns.us-east-1.amazonaws.com/SimpleNotificationService-${i}.pem`),
  )

  const refused = await Promise.all(asked.slice(8))
  for (const resolve of waiting) resolve({ kind: 'answer', status: 404, headers: {}, body: Buffer.alloc(0) })
  const missing = await Promise.all(asked.slice(0, 8))

  assert.equal(waiting.length, 8)
  assert.deepEqual(new Set(refused), new Set(['unavailable']))
  assert.deepEqual(new Set(missing), new Set(['certificate_unusable']))
})

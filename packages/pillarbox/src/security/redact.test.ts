import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertLinear } from '../../../../test/support/linear.ts'
import { redact, redactForLog } from './redact.ts'

/** Texts as vendors, drivers and libraries write them; each canary must be gone, and what names the fault must stay. */
const CORPUS: [text: string, canaries: string[], stays: string][] = [
  ['401 from https://api.example.test with Authorization: Bearer abcdef123456', ['abcdef123456'], '401 from'],
  ['authorization: Basic dXNlcjpodW50ZXIy', ['dXNlcjpodW50ZXIy'], 'authorization'],
  ['connect ECONNREFUSED postgres://app:hunter2@db.internal:5432/pillarbox', ['hunter2', 'app:'], 'ECONNREFUSED'],
  ['amqp://guest:p%40ss@10.0.0.1/ refused', ['p%40ss'], 'refused'],
  ['smtp://a:b@c@host timed out', ['a:b'], 'timed out'],
  ['535 5.7.8 bad credentials password=hunter2', ['hunter2'], '535 5.7.8'],
  ['{"error":"bad","password":"hunter2 with spaces"}', ['hunter2', 'spaces'], '"error":"bad"'],
  ["login failed, passwd: 'hunter2'", ['hunter2'], 'login failed'],
  ['GET /send?authkey=998877AbCd&mobile=91 returned 400', ['998877AbCd'], 'returned 400'],
  ['https://hooks.example.test/x?token=s3cr3tvalue&x=1 gone', ['s3cr3tvalue'], 'x=1 gone'],
  ['api_key: 12345678 is not valid', ['12345678'], 'is not valid'],
  ['x-api-key=abcdEFGH rejected', ['abcdEFGH'], 'rejected'],
  ['endpoint=https://acs.example.test/;accesskey=Zm9vYmFyYmF6cXV4Zm9v refused', ['Zm9vYmFyYmF6cXV4Zm9v'], 'refused'],
  ['SharedAccessKey=abc123def456; failed', ['abc123def456'], 'failed'],
  ['The AWS Access Key Id AKIAIOSFODNN7EXAMPLE does not exist', ['AKIAIOSFODNN7EXAMPLE'], 'does not exist'],
  ['AWS4-HMAC-SHA256 Credential=AKIA/2026/x, Signature=deadbeef', ['deadbeef', 'AKIA/'], 'AWS4-HMAC-SHA256'],
  ['key pbx_3mJr7AoUXx2Wqd-AbCdEfGhIjKlMnOpQrStUvWxYz012 was sent', ['3mJr7AoUXx2Wqd'], 'was sent'],
  ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SflKxwRJSMeKKF2QT4 expired', ['eyJhbG', 'SflKxw'], 'expired'],
  ['jwt cut off eyJhbGciOiJIUzI1NiJ9.eyJzd', ['eyJhbG', 'eyJzd'], 'cut off'],
  ['-----BEGIN PRIVATE KEY-----\nMIIEvQ\nabc\n-----END PRIVATE KEY----- is wrong', ['MIIEvQ', 'abc'], 'is wrong'],
  ['wrong key -----BEGIN RSA PRIVATE KEY-----\nMIIEvQ', ['MIIEvQ'], 'wrong key'],
  ['Invalid OAuth access token EAAGm0PX4ZCpsBAKZCZCZCZCZC1', ['EAAGm0PX4'], 'Invalid OAuth'],
  ['token ya29.a0AfH6SMBxxxxxx was refused', ['a0AfH6SMB'], 'was refused'],
  ['key AIzaSyA-1234567890abcdefghij bad', ['AIzaSyA'], 'bad'],
  ['hash 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 seen', ['9f86d081'], 'seen'],
  ['blob QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcQ12== end', ['QUJDREVG'], 'end'],
  ['Cookie: sid=abcdefgh12345678', ['abcdefgh'], 'Cookie'],
  ['clientSecret=verysecretvalue; tenant=x', ['verysecretvalue'], 'tenant=x'],
  ['Stripe says sk_live_abcdefgh1234 is bad', ['abcdefgh1234'], 'is bad'],
]

describe('redaction', () => {
  for (const [text, canaries, stays] of CORPUS)
    it(`scrubs ${JSON.stringify(text.slice(0, 48))}`, () => {
      const clean = redact(text)

      for (const canary of canaries) assert.ok(!clean.includes(canary), clean)
      assert.ok(clean.includes(stays), clean)
    })

  it('leaves ordinary error text as it is', () => {
    for (const text of [
      'connect ECONNREFUSED 127.0.0.1:5432',
      '550 5.1.1 The email account that you tried to reach does not exist',
      'notification 0198a3c2-7b1e-7c3a-9d2f-1a2b3c4d5e6f is not parked',
      'timeout after 10000 ms',
      'template "booking.confirmed" has no body for de-DE',
      'the passenger list is empty',
      'duplicate key violates unique constraint "notifications_pkey"',
    ])
      assert.equal(redact(text), text)
  })

  it('removes the values it is told are secret, however they are written', () => {
    const secret = 'p&ss "w/rd"'
    const text = [secret, encodeURIComponent(secret), JSON.stringify(secret), Buffer.from(secret).toString('base64')]

    const clean = redact(text.join(' | '), [secret])

    assert.equal(clean.match(/\[redacted\]/g)?.length, 4)
    assert.equal(redact('<p>tom &amp; jerry&#39;s</p>', ["tom & jerry's"]), '<p>[redacted]</p>')
  })

  it('removes a short secret where it is a word of its own', () => {
    assert.equal(redact('PIN 4711 refused (1047110)', ['4711']), 'PIN [redacted] refused (1047110)')
    assert.equal(redact('code 25 refused', ['25']), 'code 25 refused')
  })

  it('leaves no end of a secret that begins with another one', () => {
    assert.equal(redact('x token-123-tail x', ['token-123', 'token-123-tail']), 'x [redacted] x')
  })

  it('is one line of bounded length', () => {
    assert.equal(redact('a\r\nb\u0000c\u2028d'), 'a b c d')
    assert.equal(redact('word '.repeat(10_000)).length, 1_000)
  })

  it('leaves no half of a secret where a long text is cut', () => {
    const text = `${'word '.repeat(3_270)}password=${'hunter2'.repeat(200)}`

    assert.ok(!redact(text).includes('hunter2'))
    assert.ok(!redact('x'.repeat(50_000)).includes('xx'))
  })

  it('hides addresses from logs', () => {
    assert.equal(
      redactForLog('mail to a.b+c@example.test and +919876543210 bounced'),
      'mail to [address] and [address] bounced',
    )
  })

  it('takes less than 50 ms for 100 KB of hostile text', () => {
    for (const hostile of [
      'a',
      '+/',
      '-----BEGIN A-----',
      'password=',
      'password="',
      'bearer ',
      'http://',
      'http://a:',
      'eyJaaaaaaaa.',
      '\u0000',
      'A1 ',
      '@',
      'a@',
      '+1234567',
    ])
      assertLinear(
        (size) => redactForLog(hostile.repeat(Math.ceil(size / hostile.length)), ['secret']),
        100_000,
        hostile,
      )
  })
})

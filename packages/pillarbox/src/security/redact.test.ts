import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
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

const NAMES = ['token', 'access_token', 'API key', 'apiKey', 'authkey', 'password', 'client_secret', 'signature', 'sig']
const ASSIGNED: ((name: string, value: string) => string)[] = [
  (name, value) => `${name}: ${value}`,
  (name, value) => `${name}:${value}`,
  (name, value) => `${name} = ${value}`,
  (name, value) => `?a=1&${name}=${value}&b=2`,
  (name, value) => `{"${name}": "${value}"}`,
  (name, value) => `${name}='${value}'`,
  (name, value) => `(${name}: ${value})`,
]

const HEX = '0123456789abcdef'
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const secretOf = (alphabet: string, minLength: number, maxLength: number) =>
  fc
    .string({ unit: fc.constantFrom(...alphabet.split('')), minLength, maxLength })
    .filter((text) => /[A-Za-z0-9]{4}/.test(text))

/** Long ones of any alphabet, and shorter ones that have a digit and a letter, as generated keys do. */
const MADE_SECRET = fc.oneof(
  secretOf(HEX, 20, 80),
  secretOf(BASE32, 20, 80),
  secretOf(BASE64URL, 20, 80),
  secretOf(BASE64URL, 8, 20).filter((text) => /\d/.test(text) && /[A-Za-z]/.test(text)),
)

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

  it('leaves a vendor’s sentence as it is, also after a word that names a secret', () => {
    for (const text of [
      'Invalid token: expired',
      'Invalid OAuth access token: Cannot parse access token',
      'Error validating access token: Session has expired on Monday.',
      'token: invalid_grant (Token has been revoked.)',
      'Bad signature: does not match',
      'Unauthorized. Invalid API key: missing',
      'authorization: missing or malformed',
      'Wrong password: please try again',
      'The OTP: expired',
      'client secret: required',
      '535 5.7.139 Authentication unsuccessful, basic authentication is disabled.',
      'See https://developers.example.com/docs/whatsapp/cloud-api/support/error-codes/131047 for more',
      'template booking_confirmation_for_all_passengers_of_route_12 does not exist',
      'no answer from /api/webhooks/interakt/notifications/0198a3c2-7b1e-7c3a-9d2f-1a2b3c4d5e6f',
    ])
      assert.equal(redact(text), text)
  })

  it('marks a secret once', () => {
    for (const [text, clean] of [
      ['Authorization: Bearer abcdef123456 refused', 'Authorization: Bearer [redacted] refused'],
      ['Authorization: Hawk id4711x refused', 'Authorization: Hawk [redacted] refused'],
      ['token: abc-known-def refused', 'token: [redacted] refused'],
    ] as const)
      assert.equal(redact(text, ['known-']), clean)
  })

  it('leaves scheme and host of a URL, and what is too short to be a key', () => {
    for (const [text, clean] of [
      ['no answer from postgres://app:hunter2@db.internal/x', 'no answer from postgres://[redacted]@db.internal/x'],
      ['s3+https://app:hunter2@host refused', 's3+https://[redacted]@host refused'],
      ['git says ghp_abcdefghijklmnopqrst is revoked', 'git says [redacted] is revoked'],
      ['no such column: ghp_total', 'no such column: ghp_total'],
      ['no such host: ya29.test', 'no such host: ya29.test'],
    ] as const)
      assert.equal(redact(text), clean)
  })

  it('changes nothing when it is done again', () => {
    for (const [text] of CORPUS) assert.equal(redact(redact(text)), redact(text))
    assert.equal(redact('password=[redacted]; token: [redacted]'), 'password=[redacted]; token: [redacted]')
  })

  it('lets no secret through that a machine made, whatever it is called and however that is written', () => {
    fc.assert(
      fc.property(MADE_SECRET, fc.constantFrom(...NAMES), fc.constantFrom(...ASSIGNED), (secret, name, write) => {
        const clean = redact(`The vendor says: ${write(name, secret)} was refused.`)
        assert.ok(!clean.includes(secret), clean)
        assert.ok(clean.startsWith('The vendor says: '), clean)
      }),
    )
  })

  it('lets no password through, also one that is an ordinary word', () => {
    const word = fc.oneof(
      fc.constantFrom('hunter', 'dragon', 'letmein', 'Sunshine', 'correct-horse', 'qwerty'),
      fc.stringMatching(/^[a-z]{1,8}$/).map((start) => `${start}horse`),
    )
    const names = fc.constantFrom('password', 'Password', 'smtp_pass', 'passphrase', 'clientSecret', 'pwd')
    fc.assert(
      fc.property(word, names, fc.constantFrom(...ASSIGNED), (password, name, write) => {
        assert.ok(!redact(`login failed, ${write(name, password)}`).includes(password))
      }),
    )
  })

  it('lets no long secret through that has no name at all', () => {
    fc.assert(
      fc.property(secretOf(BASE64URL, 40, 200), (secret) => {
        assert.ok(!redact(`the key is ${secret} and wrong`).includes(secret))
      }),
    )
  })

  it('lets no secret through that it was told of, in any sentence', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\x21-\x7e]{6,40}$/), fc.constantFrom(...NAMES), (secret, name) => {
        fc.pre(!'[redacted]'.includes(secret))
        assert.ok(!redact(`error: ${name}: ${secret}, again ${secret}.`, [secret]).includes(secret))
      }),
    )
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
    const [secret, half] = ['correct-horse-battery', 'correct-hor']
    // One long token becomes a mark, so that what stands where the input is cut is within what is answered.
    const token = 'A1b2'.repeat(4_096).slice(0, 16_384 - ' then '.length - half.length)

    assert.equal(redact(`${token} then ${half}`), `[redacted] then ${half}`)
    assert.equal(redact(`${token} then ${secret} again`, [secret]), '[redacted] then')
    assert.equal(redact('x'.repeat(50_000)), '')
  })

  it('hides addresses from logs', () => {
    assert.equal(
      redactForLog('mail to a.b+c@example.test and +919876543210 bounced'),
      'mail to [address] and [address] bounced',
    )
  })

  it('finds in ids and words what a search finds, though it does not search all of them', () => {
    const beginnings = [
      'pbx',
      'pbu',
      'sk',
      'live',
      'ghp',
      'xoxb',
      'AIza',
      'eyJ',
      'AKIA',
      'EAA',
      'ya29',
      'token',
      'Bearer',
    ]
    const piece = fc.oneof(
      fc.constantFrom(...beginnings),
      fc.stringMatching(/^[A-Za-z]{1,17}$/),
      fc.stringMatching(/^[0-9a-f]{1,12}$/),
      fc.stringMatching(/^\d{1,8}$/),
      fc.uuid(),
    )
    const id = fc
      .array(fc.tuple(piece, fc.constantFrom('-', '_', '.', '/', '')), { minLength: 1, maxLength: 6 })
      .map((pieces) => pieces.flat().join(''))

    fc.assert(
      fc.property(id, (text) => {
        assert.equal(redactForLog(text, ['sesame']), redact(text, ['sesame']))
      }),
      { numRuns: 20_000 },
    )
    assert.equal(redactForLog('open-sesame-now', ['sesame']), 'open-[redacted]-now')
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

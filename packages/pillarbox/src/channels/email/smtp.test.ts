import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { loopbackCertificate, type SmtpOptions, startSmtpServer, startVendorServer } from '@pillarbox/vendors'
import PostalMime from 'postal-mime'
import { account, sendRequest, testOutbound } from '../../../../../test/support/providers.ts'
import { until } from '../../../../../test/support/until.ts'
import { told } from '../../../../../test/support/vendor-facts.ts'
import { systemClock } from '../../runtime/system.ts'
import { createDial } from '../../security/dial.ts'
import { smtpProvider } from './smtp.ts'
import { SMTP_ENHANCED, SMTP_REPLIES, smtpRule } from './smtp-errors.ts'

/** Reply codes by RFC 5321 and 4954. */
const REPLIES = {
  421: 'transient',
  432: 'unauthorized',
  450: 'transient',
  451: 'transient',
  452: 'transient',
  454: 'transient',
  455: 'transient',
  500: 'permanent permanent_refusal',
  501: 'permanent permanent_refusal',
  502: 'permanent permanent_refusal',
  503: 'transient',
  504: 'permanent permanent_refusal',
  521: 'permanent invalid_recipient',
  530: 'unauthorized',
  534: 'unauthorized',
  535: 'unauthorized',
  538: 'unauthorized',
  550: 'permanent invalid_recipient',
  551: 'permanent invalid_recipient',
  552: 'permanent content_rejected',
  553: 'permanent invalid_recipient',
  554: 'permanent content_rejected',
  555: 'permanent permanent_refusal',
  556: 'permanent invalid_recipient',
}

/** Enhanced status codes by RFC 3463, 7372, 7504 and 7505. */
const ENHANCED = {
  '5.1.0': 'permanent invalid_recipient',
  '5.1.1': 'permanent invalid_recipient, dead',
  '5.1.2': 'permanent invalid_recipient, dead',
  '5.1.3': 'permanent invalid_recipient, dead',
  '5.1.6': 'permanent invalid_recipient, dead',
  '5.1.10': 'permanent invalid_recipient, dead',
  '5.1.8': 'unauthorized',
  '5.2.1': 'permanent invalid_recipient, dead',
  '5.2.2': 'permanent unreachable',
  '5.2.3': 'permanent content_rejected',
  '5.3.4': 'permanent content_rejected',
  '5.4.x': 'permanent permanent_refusal',
  '5.5.x': 'permanent permanent_refusal',
  '5.6.x': 'permanent content_rejected',
  '5.7.1': 'permanent permanent_refusal',
  '5.7.8': 'unauthorized',
  '5.7.9': 'unauthorized',
  '5.7.23': 'unauthorized',
  '5.7.25': 'unauthorized',
  '5.7.26': 'unauthorized',
  '5.7.27': 'unauthorized',
  '5.7.30': 'unauthorized',
  '4.4.x': 'transient',
  '4.7.x': 'transient',
  '4.x.x': 'transient',
}

const TEXTS: readonly [reply: number, words: string, fact: string][] = [
  [454, 'Throttling failure: Daily message quota exceeded', 'deferred 3600 s'],
  [454, 'Throttling failure: Maximum sending rate exceeded', 'throttled'],
]

async function setup(
  t: TestContext,
  options: SmtpOptions = {},
  more: { settings?: object; secrets?: Record<string, string> } = {},
) {
  const server = await startSmtpServer(options)
  t.after(server.close)
  const provider = smtpProvider({
    ...testOutbound(t),
    dial: createDial({ clock: systemClock, allowPrivate: true }),
    authorities: loopbackCertificate.authority,
  })
  t.after(() => provider.close?.())
  const sender = account('email', 'smtp', {
    settings: {
      host: server.host,
      port: server.port,
      tls: options.tls ?? 'none',
      fromAddress: 'Example Tours <tours@example.com>',
      ...more.settings,
    },
    secrets: more.secrets ?? {},
  })
  const request = sendRequest(sender, {
    to: { email: 'guest@example.org', name: 'Guest' },
    content: { subject: 'Booking 12345', body: 'See you soon.' },
  })
  return { server, provider, sender, request }
}

describe('smtp', () => {
  it('sends plain text as plain text, with a message id of ours', async (t) => {
    const { server, provider, request } = await setup(t)

    const outcome = await provider.send(request)

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: `<${request.notificationId}@example.com>` })
    const [sent] = server.mails
    assert.deepEqual([sent?.from, sent?.to], ['tours@example.com', ['guest@example.org']])
    const mail = await PostalMime.parse(sent?.raw ?? '')
    assert.equal(mail.subject, 'Booking 12345')
    assert.equal(mail.text?.trim(), 'See you soon.')
    assert.equal(mail.html, undefined)
    assert.deepEqual([mail.from?.name, mail.to?.[0]?.name], ['Example Tours', 'Guest'])
    assert.equal(mail.messageId, `<${request.notificationId}@example.com>`)
  })

  it('gives HTML a text part, and a way to leave the list where one is named', async (t) => {
    const { server, provider, request } = await setup(
      t,
      {},
      { settings: { listUnsubscribe: 'https://example.com/leave/{notificationId}', replyTo: 'desk@example.com' } },
    )

    await provider.send({
      ...request,
      content: { ...request.content, body: '<p>Dear <b>Guest</b>,</p><p>see you.</p>', isHtml: true },
    })

    const mail = await PostalMime.parse(server.mails[0]?.raw ?? '')
    const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value
    assert.match(mail.html ?? '', /<b>Guest<\/b>/)
    assert.match(mail.text ?? '', /Dear Guest,\s+see you\./)
    assert.equal(header('list-unsubscribe'), `<https://example.com/leave/${request.notificationId}>`)
    assert.equal(header('list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
    assert.equal(mail.replyTo?.[0]?.address, 'desk@example.com')
  })

  it('sends plain text as plain text, whatever a guest’s name looks like', async (t) => {
    const { server, provider, request } = await setup(t)

    await provider.send({ ...request, content: { ...request.content, body: 'Hello <img src=x onerror=1>' } })

    const mail = await PostalMime.parse(server.mails[0]?.raw ?? '')
    assert.deepEqual([mail.html, mail.text?.trim()], [undefined, 'Hello <img src=x onerror=1>'])
  })

  it('sends one mail to a list, of whom nobody sees the others', async (t) => {
    const { server, provider, request } = await setup(t)

    await provider.send({ ...request, to: { list: 'ops', bcc: ['a@example.org', 'b@example.org'] } })

    assert.equal(server.mails.length, 1)
    assert.deepEqual(server.mails[0]?.to, ['a@example.org', 'b@example.org'])
    assert.ok(!server.mails[0]?.raw.includes('a@example.org'))
    assert.match(server.mails[0]?.raw ?? '', /^To: "?undisclosed-recipients"?:;/m)
  })

  it('tells whom of a list the server would not take, in its words, and what it said in the end', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith({ at: 'rcpt', code: 550, text: '5.1.1 No such user' })
    const exchange = { answer: null, refused: null }

    const outcome = await provider.send({
      ...request,
      to: { list: 'ops', bcc: ['a@example.org', 'b@example.org'] },
      exchange,
    })

    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual(server.mails[0]?.to, ['b@example.org'])
    assert.deepEqual(exchange.refused, [{ recipient: 'a@example.org', error: '550 5.1.1 No such user' }])
    assert.match(exchange.answer ?? '', /^250 /)
  })

  it('lets no line break of a subject or name become a header', async (t) => {
    const { server, provider, request } = await setup(t)

    await provider.send({
      ...request,
      to: { email: 'guest@example.org', name: 'Guest\r\nBcc: evil@example.org' },
      content: { ...request.content, subject: 'Hello\r\nX-Evil: 1' },
    })

    const mail = await PostalMime.parse(server.mails[0]?.raw ?? '')
    assert.deepEqual(server.mails[0]?.to, ['guest@example.org'])
    assert.ok(!mail.headers.some(({ key }) => key === 'x-evil' || key === 'bcc'))
  })

  for (const tls of ['none', 'starttls', 'implicit'] as const)
    it(`speaks with TLS ${tls} and logs in`, async (t) => {
      const { server, provider, request } = await setup(
        t,
        { tls, users: { user: 'pass' } },
        { settings: { user: 'user' }, secrets: { password: 'pass' } },
      )

      assert.equal((await provider.send(request)).kind, 'accepted')
      assert.deepEqual([server.mails[0]?.isSecure, server.mails[0]?.user], [tls !== 'none', 'user'])
    })

  it('does not go on without the TLS it was told to use', async (t) => {
    const { server, provider, request, sender } = await setup(t, { tls: 'none' })
    const settings = { ...sender.settings, tls: 'starttls' }

    const outcome = await provider.send({ ...request, account: { ...sender, settings } })

    assert.deepEqual([outcome.kind, 'code' in outcome && outcome.code], ['unauthorized', 'EREQUIRETLS'])
    assert.equal(server.mails.length, 0)
  })

  it('says of what it decided itself that these are its own words, not the server’s', async (t) => {
    const { provider, request, sender } = await setup(t, { tls: 'none' })
    const errorOf = async (changes: object, to: object = request.to) => {
      const account = { ...sender, settings: { ...sender.settings, ...changes } }
      const outcome = await provider.send({ ...request, account, to })
      return 'error' in outcome ? outcome.error : ''
    }

    assert.match(
      await errorOf({ tls: 'starttls' }),
      /^Pillarbox says: TLS is needed and not offered\. the account asks for STARTTLS; the server’s answer to it: 5\d\d/,
    )
    assert.match(await errorOf({ tls: 'sometimes' }), /^Pillarbox says: The account’s settings make no sense\./)
    assert.match(await errorOf({}, { email: 'guest>@example.org' }), /^Pillarbox says: An address cannot be used\./)
    const verified = await provider.verify?.(
      { ...sender, settings: { ...sender.settings, tls: 'starttls' } },
      request.signal,
    )
    assert.match(verified?.isGood === false ? verified.error : '', /^Pillarbox says: TLS is needed/)
  })

  it('says of a connection that failed neither that we nor that the server said so', async (t) => {
    const { server, provider, request, sender } = await setup(t)
    await server.close()

    const outcome = await provider.send(request)
    const verified = await provider.verify?.(sender, request.signal)

    assert.match('error' in outcome ? outcome.error : '', /^The connection failed\./)
    assert.match(verified?.isGood === false ? verified.error : '', /^The connection failed\./)
  })

  it('logs in with an access token, which it keeps', async (t) => {
    const accessTokens = new Set(['token-1'])
    let given = 0
    const tokens = await startVendorServer({
      answers: {},
      accept: ({ body }) => {
        assert.match(body, /grant_type=client_credentials&client_id=client&client_secret=hidden&scope=mail/)
        given += 1
        return { status: 200, body: { access_token: `token-${given}`, expires_in: 3_600 } }
      },
    })
    t.after(tokens.close)
    const { server, provider, request } = await setup(
      t,
      { tls: 'starttls', accessTokens },
      {
        settings: { user: 'tours@example.com', oauth2: { tokenUrl: tokens.url, clientId: 'client', scope: 'mail' } },
        secrets: { oauth2ClientSecret: 'hidden' },
      },
    )

    await Promise.all([provider.send(request), provider.send(request)])
    await provider.send(request)

    assert.deepEqual([server.mails.length, given], [3, 1])
  })

  it('asks for another token when the server no longer takes the one it has, once', async (t) => {
    const accessTokens = new Set(['token-1'])
    let given = 0
    const tokens = await startVendorServer({
      answers: {},
      accept: () => {
        given += 1
        return { status: 200, body: { access_token: `token-${given}`, expires_in: 3_600 } }
      },
    })
    t.after(tokens.close)
    const { server, provider, request, sender } = await setup(
      t,
      { tls: 'none', accessTokens },
      {
        settings: { user: 'tours@example.com', oauth2: { tokenUrl: tokens.url, clientId: 'client' } },
        secrets: { oauth2ClientSecret: 'hidden' },
      },
    )
    const verify = async () => (await provider.verify?.(sender, request.signal))?.isGood
    const seen = [[await verify(), given]]

    // The server says so by a challenge.
    accessTokens.clear()
    accessTokens.add('token-2')
    seen.push([await verify(), given])
    // It refuses outright.
    accessTokens.add('token-3')
    server.answerWith({ at: 'auth', code: 535, text: '5.7.8 Expired' })
    seen.push([await verify(), given])
    accessTokens.clear()
    seen.push([await verify(), given])
    const refused = await provider.send(request)
    tokens.alwaysAnswer({ status: 503 })
    const away = await provider.send(request)

    assert.deepEqual(seen, [
      [true, 1],
      [true, 2],
      [true, 3],
      [false, 4],
    ])
    assert.deepEqual([refused.kind, away.kind], ['unauthorized', 'transient'])
  })

  it('uses a connection for one mail after another', async (t) => {
    const { server, provider, request } = await setup(t)

    for (let i = 0; i < 5; i++) await provider.send(request)

    assert.deepEqual([server.mails.length, server.connections()], [5, 1])
  })

  it('has no more connections than the account allows; the other mails wait for one', async (t) => {
    const { server, provider, request } = await setup(t, {}, { settings: { maxConnections: 2 } })

    const outcomes = await Promise.all(Array.from({ length: 12 }, () => provider.send(request)))

    assert.ok(outcomes.every(({ kind }) => kind === 'accepted'))
    assert.deepEqual([server.mails.length, server.connections()], [12, 2])
  })

  it('has 20 connections at most where the account does not say', async (t) => {
    const { server, provider, request } = await setup(t)

    await Promise.all(Array.from({ length: 40 }, () => provider.send(request)))

    assert.deepEqual([server.mails.length, server.connections()], [40, 20])
  })

  it('frees the place of a mail that was refused, and of one whose connection broke', async (t) => {
    const { server, provider, request } = await setup(t, {}, { settings: { maxConnections: 1 } })
    server.answerWith({ at: 'rcpt', code: 550, text: '5.1.1 No such user' }, 'cut_before_data')

    const outcomes = await Promise.all([provider.send(request), provider.send(request), provider.send(request)])

    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['permanent', 'transient', 'accepted'],
    )
  })

  it('costs a mail that waited in vain for a connection no attempt', async (t) => {
    const { server, provider, request } = await setup(t, {}, { settings: { maxConnections: 1 } })
    const first = new AbortController()
    server.answerWith('silence_after_accept')
    const holding = provider.send({ ...request, signal: first.signal })
    await until('the only connection is taken', () => server.mails.length > 0)

    const waited = await provider.send({ ...request, signal: AbortSignal.timeout(50) })
    first.abort()
    await holding

    assert.deepEqual([waited.kind, 'code' in waited && waited.code], ['throttled', 'EBUSY'])
    assert.equal((await provider.send(request)).kind, 'accepted')
  })

  it('says no more than it must between two mails: a reset after a refusal', async (t) => {
    const { server, provider, sender, request } = await setup(t)
    const said: string[] = []
    const relay = createServer((client) => {
      const upstream = connect(server.port, '127.0.0.1')
      client.on('data', (bytes) => said.push(...String(bytes).split('\r\n')))
      client.pipe(upstream).pipe(client)
    })
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
    t.after(() => relay.close())
    const { port } = relay.address() as AddressInfo
    const relayed = { ...request, account: { ...sender, settings: { ...sender.settings, host: '127.0.0.1', port } } }

    for (let i = 0; i < 3; i++) await provider.send(relayed)
    assert.deepEqual(
      said.filter((line) => /^(?:EHLO|MAIL|RSET)\b/.test(line)).map((line) => line.slice(0, 4)),
      ['EHLO', 'MAIL', 'MAIL', 'MAIL'],
    )
    server.answerWith({ at: 'rcpt', code: 550, text: '5.1.1 No such user' })
    await provider.send(relayed)
    await until('the provider resets the connection', () => said.includes('RSET'))
    assert.equal(server.mails.length, 3)
  })

  it('has a fact for every line of its tables', () => {
    assert.deepEqual(Object.keys(REPLIES).sort(), Object.keys(SMTP_REPLIES).sort())
    assert.deepEqual(Object.keys(ENHANCED).sort(), Object.keys(SMTP_ENHANCED).sort())
  })

  for (const [code, fact] of Object.entries(REPLIES))
    it(`takes reply ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith({ at: 'data', code: Number(code), text: 'because' })

      assert.deepEqual(told(await provider.send(request)), [fact, code, `the mail server says: ${code} because`])
    })

  for (const [code, fact] of Object.entries(ENHANCED))
    it(`takes ${code} for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      const reply = code.startsWith('4') ? 499 : 550
      const enhanced = code === '4.x.x' ? '4.2.9' : code.replace('x', '99')
      server.answerWith({ at: 'rcpt', code: reply, text: `${enhanced} because` })

      const outcome = await provider.send(request)

      assert.deepEqual(told(outcome), [fact, enhanced, `the mail server says: ${reply} ${enhanced} because`])
    })

  for (const [reply, words, fact] of TEXTS)
    it(`takes “${reply} ${words}” for ${fact}`, async (t) => {
      const { server, provider, request } = await setup(t)
      server.answerWith({ at: 'data', code: reply, text: words })

      const outcome = await provider.send(request)

      assert.deepEqual(told(outcome), [fact, String(reply), `the mail server says: ${reply} ${words}`])
    })

  it('lets only the greylisted mail wait, and the whole account where the connection is refused as too many', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith({ at: 'rcpt', code: 451, text: '4.7.1 Greylisted, come back later' })
    const greylisted = await provider.send(request)
    server.answerWith({ at: 'mail', code: 421, text: '4.7.0 Too many messages, slow down' })
    const refused = await provider.send(request)

    assert.deepEqual([told(greylisted)[0], told(refused)[0]], ['transient', 'throttled'])
  })

  it('judges a reply it has never heard of by its first digit', () => {
    assert.deepEqual(smtpRule(499, null), { does: 'retry' })
    assert.deepEqual(smtpRule(599, null), { does: 'unmapped' })
  })

  it('leaves in doubt what broke off after the message, and not what broke off before', async (t) => {
    const { server, provider, request } = await setup(t)

    server.answerWith('cut_after_accept')
    const after = await provider.send(request)
    server.answerWith({ at: 'mail', code: 421, text: '4.3.2 closing' })
    const before = await provider.send(request)
    await server.close()
    const down = await provider.send(request)

    assert.deepEqual([after.kind, before.kind, down.kind], ['unknown', 'transient', 'transient'])
    assert.equal(server.mails.length, 1)
  })

  it('gives up when it is told to, and is then in doubt', async (t) => {
    const { server, provider, request } = await setup(t)
    const giveUp = new AbortController()
    server.answerWith('silence_after_accept')

    const sending = provider.send({ ...request, signal: giveUp.signal })
    await until('the server has the mail', () => server.mails.length > 0)
    giveUp.abort()
    const outcome = await sending

    assert.equal(outcome.kind, 'unknown')
  })

  it('gives up when it is told to while nobody answers, and is then in no doubt', async (t) => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    t.after(() => silent.close())
    const { provider, request, sender } = await setup(t)
    // No name is ever found.
    const dial = createDial({ clock: systemClock, allowPrivate: true, lookup: () => new Promise(() => {}) })
    const lost = smtpProvider({ ...testOutbound(t), dial })
    const { port } = silent.address() as AddressInfo
    const account = { ...sender, settings: { ...sender.settings, port } }
    const elsewhere = { ...account, settings: { ...account.settings, host: 'mail.example.com' } }

    for (const [through, from] of [
      [provider, account],
      [lost, elsewhere],
    ] as const) {
      const startedAt = performance.now()

      const outcome = await through.send({ ...request, account: from, signal: AbortSignal.timeout(100) })

      assert.deepEqual([outcome.kind, 'code' in outcome && outcome.code], ['transient', 'ETIMEDOUT'])
      assert.ok(performance.now() - startedAt < 5_000)
    }
    assert.equal((await provider.verify?.(account, AbortSignal.abort()))?.isGood, false)
  })

  it('sends to the rest of a list when some of it is refused', async (t) => {
    const { server, provider, request } = await setup(t)
    server.answerWith({ at: 'rcpt', code: 550, text: '5.1.1 No such user' })

    const outcome = await provider.send({ ...request, to: { list: 'ops', bcc: ['a@example.org', 'b@example.org'] } })

    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual(server.mails[0]?.to, ['b@example.org'])
  })

  it('stops the account when its login, its server’s certificate or its settings are wrong', async (t) => {
    const { provider, request, sender } = await setup(
      t,
      { tls: 'starttls', users: { user: 'pass' } },
      { settings: { user: 'user' }, secrets: { password: 'wrong' } },
    )
    const strict = smtpProvider({ ...testOutbound(t), dial: createDial({ clock: systemClock, allowPrivate: true }) })
    const closed = smtpProvider({ ...testOutbound(t), dial: createDial({ clock: systemClock, allowPrivate: false }) })
    const badMode = { ...sender, settings: { ...sender.settings, tls: 'sometimes' } }

    const outcomes = [
      await provider.send(request),
      await strict.send(request),
      await closed.send(request),
      await provider.send({ ...request, account: badMode }),
    ]

    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['unauthorized', 'unauthorized', 'unauthorized', 'unauthorized'],
    )
    assert.ok(outcomes.every((outcome) => !JSON.stringify(outcome).includes('wrong"')))
  })

  it('verifies by logging in, with the server’s words', async (t) => {
    const { provider, sender, request } = await setup(
      t,
      { tls: 'implicit', users: { user: 'pass' } },
      { settings: { user: 'user' }, secrets: { password: 'pass' } },
    )

    const good = await provider.verify?.(sender, request.signal)
    const bad = await provider.verify?.({ ...sender, secrets: { password: 'no' } }, request.signal)

    assert.deepEqual(good, { isGood: true, detail: 'localhost lets us in.' })
    assert.match(bad?.isGood === false ? bad.error : '', /localhost says: 535 5\.7\.8/)
  })
})

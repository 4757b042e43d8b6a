import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { account, sendRequest } from '../../../../../test/support/providers.ts'
import type { SendRequest } from '../channel.ts'
import { mailOf as composed, type Mail } from './mail.ts'

const sender = (settings: Record<string, unknown> = {}) =>
  account('email', 'smtp', { settings: { fromAddress: 'Tours <tours@example.com>', ...settings } })
const mailOf = (request: SendRequest) => composed(request, 'SMTP') as Mail
const to = { email: 'guest@example.org' }

describe('how to leave a list', () => {
  it('is said where the account or the event asks for it, the event first', () => {
    const listed = sender({ listUnsubscribe: 'https://example.com/account/{notificationId}' })
    const data = { listUnsubscribe: 'https://example.com/event/{notificationId}' }

    const headersOf = (from: typeof listed, content = {}) => mailOf(sendRequest(from, { to, content })).headers

    assert.deepEqual(headersOf(sender()), {})
    assert.equal(
      headersOf(listed)['List-Unsubscribe'],
      '<https://example.com/account/018f0000-0000-7000-8000-0000000000ff>',
    )
    assert.deepEqual(headersOf(listed, { data }), {
      'List-Unsubscribe': '<https://example.com/event/018f0000-0000-7000-8000-0000000000ff>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
  })

  it('is one click only where it is a web address', () => {
    const { headers } = mailOf(sendRequest(sender({ listUnsubscribe: 'mailto:leave@example.com' }), { to }))

    assert.deepEqual(headers, { 'List-Unsubscribe': '<mailto:leave@example.com>' })
  })

  it('is not said in words that could say something else', () => {
    for (const listUnsubscribe of [
      'http://example.com/leave',
      'https://example.com/\r\nBcc: evil@example.org',
      'https://example.com/>, <https://evil.example.org/',
      'javascript:alert(1)',
      { url: 'https://example.com/' },
    ])
      assert.deepEqual(mailOf(sendRequest(sender(), { to, content: { data: { listUnsubscribe } } })).headers, {})
  })
})

describe('a mail', () => {
  it('has a text part made from its HTML, and plain text stays as it is', () => {
    const html = mailOf(
      sendRequest(sender(), { to, content: { body: '<h1>Hello</h1><img src="x"><p>A &amp; B</p>', isHtml: true } }),
    )
    const plain = mailOf(sendRequest(sender(), { to, content: { body: 'Hello <Guest>' } }))

    assert.match(html.text, /^HELLO\s+A & B$/)
    assert.deepEqual([plain.text, plain.html], ['Hello <Guest>', null])
  })

  it('has the text part that was made when the notification was, and makes none again', () => {
    const content = { body: '<blockquote>'.repeat(800), isHtml: true, text: 'Hello' }

    assert.equal(mailOf(sendRequest(sender(), { to, content })).text, 'Hello')
  })

  it('is refused for good where its HTML is too deep for a text part to be made of it', () => {
    const content = { body: '<blockquote>'.repeat(800), isHtml: true }
    const refused = composed(sendRequest(sender(), { to, content }), 'SMTP')

    assert.deepEqual('kind' in refused && [refused.kind, 'reason' in refused && refused.reason], [
      'permanent',
      'content_rejected',
    ])
  })

  it('has the same id for every attempt, in the sender’s domain', () => {
    const request = sendRequest(sender(), { to })

    assert.equal(mailOf(request).messageId, `<${request.notificationId}@example.com>`)
    assert.equal(mailOf({ ...request, attempt: 4 }).messageId, mailOf(request).messageId)
  })
})

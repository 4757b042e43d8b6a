import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { account, sendRequest } from '../../../../../test/support/providers.ts'
import { PillarboxError } from '../../model/errors.ts'
import type { ProviderContent, Target } from '../channel.ts'
import { type InboxPort, inboxProvider } from './inbox.ts'

/** An inbox that keeps what it is given, under a seal that can be looked through. */
function setup(failure: Error | null = null) {
  const kept = new Map<string, Parameters<InboxPort['put']>[0]>()
  const inbox: InboxPort = {
    async put(message) {
      if (failure) throw failure
      if (!kept.has(message.id)) kept.set(message.id, message)
    },
    seal: (words, { tenantId, table, rowId }) => JSON.stringify([tenantId, table, rowId, words]),
  }
  const provider = inboxProvider({ inbox })
  const send = (to: Target, content: Partial<ProviderContent> = {}) =>
    provider.send(sendRequest(account('in_app', 'inbox'), { to, content }))
  const words = (): unknown => {
    const [, , , text] = JSON.parse([...kept.values()][0]?.sealed ?? '[]') as string[]
    return JSON.parse(text ?? 'null')
  }
  return { provider, kept, send, words }
}

const ID = '018f0000-0000-7000-8000-0000000000ff'

describe('the inbox provider', () => {
  it('keeps the words for the user, sealed for their row, under the notification’s id', async () => {
    const { kept, send, words } = setup()

    const outcome = await send({ userId: 'ada' }, { subject: 'Hello', body: 'a <b> c', data: { orderId: 7 } })

    assert.deepEqual(outcome, { kind: 'accepted', providerMessageId: ID })
    const message = kept.get(ID)
    assert.deepEqual([message?.tenantId, message?.userId], ['tenant', 'ada'])
    assert.deepEqual((JSON.parse(message?.sealed ?? '[]') as string[]).slice(0, 3), ['tenant', 'inbox_messages', ID])
    assert.deepEqual(words(), { subject: 'Hello', text: 'a <b> c', html: null, data: { orderId: 7 } })
  })

  it('keeps the text that was made when the notification was, and refuses HTML that none can be made of', async () => {
    const body = '<blockquote>'.repeat(800)
    const made = setup()
    await made.send({ userId: 'ada' }, { body, isHtml: true, text: 'Hello' })
    const outcome = await setup().send({ userId: 'ada' }, { body, isHtml: true })

    assert.equal((made.words() as { text: string }).text, 'Hello')
    assert.deepEqual([outcome.kind, 'reason' in outcome && outcome.reason], ['permanent', 'content_rejected'])
  })

  it('keeps HTML apart from the text that is made of it', async () => {
    const { send, words } = setup()

    const body = '<h1>Hi</h1><p>Tom &amp; <b>Ada</b></p><script>alert(1)</script><img src="x" onerror="alert(2)">'
    await send({ userId: 'ada' }, { body, isHtml: true })

    const { text, html } = words() as { text: string; html: string }
    assert.equal(html, body)
    assert.match(text, /Tom & Ada/)
    assert.doesNotMatch(text, /<|alert/)
  })

  it('may be called again', async () => {
    const { provider, kept, send } = setup()

    await send({ userId: 'ada' }, { body: 'first' })
    assert.equal((await send({ userId: 'ada' }, { body: 'second' })).kind, 'accepted')

    assert.equal(kept.size, 1)
    assert.equal(provider.capability(account('in_app', 'inbox')), 'key')
  })

  for (const userId of [undefined, '', 'a'.repeat(201), 'a\nb', '\ud800', '..'])
    it(`refuses ${JSON.stringify(userId)?.slice(0, 20)} as a user’s id, so that another channel can take over`, async () => {
      const { kept, send } = setup()

      const outcome = await send(userId === undefined ? {} : { userId })

      assert.deepEqual([outcome.kind, 'reason' in outcome && outcome.reason], ['permanent', 'invalid_recipient'])
      assert.ok(!('isDead' in outcome))
      assert.equal(kept.size, 0)
    })

  it('refuses words that are longer than an inbox keeps', async () => {
    const { kept, send } = setup()

    const outcome = await send({ userId: 'ada' }, { body: 'ä'.repeat(20_000) })

    assert.deepEqual(
      [outcome.kind, 'reason' in outcome && outcome.reason, 'code' in outcome && outcome.code],
      ['permanent', 'content_rejected', 'too_long'],
    )
    assert.equal(kept.size, 0)
  })

  it('does not know what became of a message when the store does not answer', async () => {
    const { send } = setup(new PillarboxError('store_unavailable', 'The database cannot be reached.'))

    assert.deepEqual(await send({ userId: 'ada' }), {
      kind: 'unknown',
      code: 'not_kept',
      error: 'The database cannot be reached.',
    })
  })

  it('has no settings and no secrets, and is always good', async () => {
    const { provider } = setup()

    assert.deepEqual(provider.fields, { settings: {}, secrets: {} })
    assert.equal((await provider.verify?.(account('in_app', 'inbox'), new AbortController().signal))?.isGood, true)
  })
})

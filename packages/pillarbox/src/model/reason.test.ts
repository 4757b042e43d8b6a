import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CHANNELS } from './channel.ts'
import { isReason, REASONS } from './reason.ts'

describe('reasons', () => {
  it('are codes of lower-case words, each with a sentence', () => {
    for (const [code, sentence] of Object.entries(REASONS)) {
      assert.match(code, /^[a-z]+(_[a-z]+)*$/)
      assert.match(sentence, /^[A-Z].*\.$/, code)
    }
  })

  it('are known by their code', () => {
    for (const code of Object.keys(REASONS)) assert.ok(isReason(code), code)
  })

  it('may carry the channel that took over, and only that one may', () => {
    for (const channel of CHANNELS) assert.ok(isReason(`fallback_triggered:${channel}`))
    assert.equal(isReason('bounced:email'), false)
  })

  it('are a closed set', () => {
    for (const text of ['', 'nonsense', 'toString', '__proto__', 'constructor', 'Bounced', 'bounced '])
      assert.equal(isReason(text), false, text)
  })
})

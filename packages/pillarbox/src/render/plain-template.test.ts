import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Channel } from '../model/channel.ts'
import { isPlainTemplate } from './plain-template.ts'
import type { TemplateWords } from './render.ts'

function isPlain(body: string, words: Partial<TemplateWords> = {}, channel: Channel = 'email'): boolean {
  return isPlainTemplate({ subject: null, body, ...words }, channel)
}

describe('a plain template', () => {
  it('is text with placeholders', () => {
    assert.ok(isPlain('Dear {{guest.name}}, {{ check_in }} it is.', { subject: 'Your trip {{trip}}' }))
    assert.ok(isPlain('A brace { and another } and {', {}, 'sms'))
    assert.ok(isPlain('', { providerTemplate: { name: 'hello', parameters: ['{{guest.name}}'] } }, 'whatsapp'))
  })

  it('has nothing in it that would have to be worked out', () => {
    for (const body of [
      '{% if a %}b{% endif %}',
      '{{ a | upcase }}',
      '{{ a[0] }}',
      '{{ a["b"] }}',
      '{{ "a" }}',
      '{{ 1 }}',
      '{{ a == b }}',
      '{{- a }}',
      '{{{a}}',
      '{{a',
      '{{ a }} {{',
      '{{}}',
      '{{ a.b.c.d.e.f.g.h.i.j.k }}',
    ])
      assert.equal(isPlain(body), false, body)
    assert.equal(isPlain('Hello', { subject: '{{ a | upcase }}' }), false)
    assert.equal(isPlain('Hello', { providerTemplate: { parameters: ['{{ a | upcase }}'] } }, 'whatsapp'), false)
  })

  it('is no HTML, of which text would have to be made', () => {
    assert.equal(isPlain('<p>Hello {{name}}</p>'), false)
    assert.equal(isPlain('Hello', { format: 'html' }), false)
    assert.ok(isPlain('<p>Hello</p>', { format: 'text' }))
    assert.ok(isPlain('<p>Hello</p>', {}, 'sms'))
  })

  it('is short', () => {
    assert.equal(isPlain('a'.repeat(5_001)), false)
    assert.equal(isPlain('{{a}}'.repeat(51)), false)
    const deep = { providerTemplate: { parameters: Array.from({ length: 2_000 }, () => 'a') } }
    assert.equal(isPlain('Hello', deep, 'whatsapp'), false)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Liquid } from 'liquidjs'
import { assertLinear } from '../../../../test/support/linear.ts'
import type { Channel } from '../model/channel.ts'
import { createRenderer, type Renderer } from './render.ts'

interface Given {
  subject?: string
  channel?: Channel
  context?: Record<string, unknown>
  renderer?: Renderer
}

function render(body: string, { subject, channel = 'sms', context = {}, renderer = createRenderer() }: Given = {}) {
  return renderer.render({ subject: subject ?? null, body }, channel, context)
}

function bodyOf(body: string, given: Given = {}): string {
  const rendered = render(body, given)
  assert.ok('body' in rendered, 'error' in rendered ? rendered.error : '')
  return rendered.body
}

function errorOf(body: string, given: Given = {}): string {
  const rendered = render(body, given)
  assert.ok('error' in rendered, 'it was rendered')
  return rendered.error
}

describe('a template', () => {
  it('is filled in, subject and body', () => {
    const rendered = render('Hello {{guest.name}}, room {{rooms[0]}}', {
      subject: 'Booking {{id}}',
      context: { id: 42, guest: { name: 'Ada' }, rooms: ['12a'] },
    })

    assert.deepEqual(rendered, { subject: 'Booking 42', body: 'Hello Ada, room 12a' })
  })

  it('without a subject has none afterwards either', () => {
    assert.deepEqual(render('x'), { subject: null, body: 'x' })
  })

  it('renders empty what the payload does not have', () => {
    assert.equal(bodyOf('[{{missing}}][{{a.b.c}}]', { context: { a: {} } }), '[][]')
  })

  it('gives the same words for the same payload, and keeps nothing from one to the next', () => {
    const renderer = createRenderer()
    const body = '{% assign n = n | plus: 1 %}{{n}} {{name}}'

    assert.equal(bodyOf(body, { renderer, context: { name: 'Ada' } }), '1 Ada')
    assert.equal(bodyOf(body, { renderer, context: { name: 'Bob' } }), '1 Bob')
  })

  it('does not change the payload', () => {
    const context = { list: [3, 1, 2] }

    bodyOf('{% assign list = list | sort %}{{list | join: ","}}', { context })

    assert.deepEqual(context, { list: [3, 1, 2] })
  })
})

describe('HTML', () => {
  const hostile = { context: { name: '<img src=x onerror=alert(1)> & "you"' } }

  it('in the body of a mail escapes what is filled in, not what the template says', () => {
    const body = bodyOf('<p>Dear {{name}}</p>', { ...hostile, channel: 'email' })

    assert.equal(body, '<p>Dear &lt;img src=x onerror=alert(1)&gt; &amp; &#34;you&#34;</p>')
  })

  it('is not made where there is none: plain mails, other channels and subjects stay as they are', () => {
    const { name } = hostile.context

    assert.equal(bodyOf('Dear {{name}}, 1 < 2', { ...hostile, channel: 'email' }), `Dear ${name}, 1 < 2`)
    assert.equal(bodyOf('<b>{{name}}</b>', { ...hostile, channel: 'sms' }), `<b>${name}</b>`)
    const mail = render('<p>x</p>', { ...hostile, subject: '{{name}}', channel: 'email' })
    assert.equal('subject' in mail && mail.subject, name)
  })

  it('is recognised by a tag that ends, in time linear in the text', () => {
    const email = { channel: 'email', context: { x: '&' } } as const

    assert.equal(bodyOf('{{x}}<br', email), '&<br')
    assert.equal(bodyOf('{{x}}<br/>', email), '&amp;<br/>')
    assert.equal(bodyOf('{{x}}<A HREF="a">', email), '&amp;<A HREF="a">')
    assert.equal(bodyOf('a > b {{x}}<c', email), 'a > b &<c')
    assertLinear((size) => bodyOf('<a'.repeat(size / 2), email), 90_000, 'looking for tags')
  })
})

describe('a payload', () => {
  it('is seen with its own properties only', () => {
    const context = { guest: { name: 'Ada' }, list: ['a', 'b'] }

    assert.equal(bodyOf('{{constructor}}{{toString}}{{__proto__}}{{hasOwnProperty}}', { context }), '')
    assert.equal(bodyOf('{{guest.constructor}}{{guest.__proto__}}{{guest.toString}}', { context }), '')
    assert.equal(bodyOf('{{guest.constructor.constructor}}', { context }), '')
  })

  it('may have properties named like inherited ones', () => {
    assert.equal(bodyOf('{{constructor}}', { context: { constructor: 'Acme Ltd' } }), 'Acme Ltd')
  })

  it('may be something that is no object at all', () => {
    for (const payload of [null, [], 'text', 7])
      assert.equal(bodyOf('[{{name}}]', { context: payload as unknown as Record<string, unknown> }), '[]')
  })
})

describe('a template that cannot be rendered is an answer, not a throw', () => {
  it('for an unknown filter', () => {
    assert.match(errorOf('{{ name | no_such_filter }}'), /no_such_filter/)
  })

  it('for a tag that is unknown or not closed', () => {
    assert.match(errorOf('{% shell "ls" %}'), /shell/)
    assert.match(errorOf('{% if name %}never closed'), /if name/)
  })

  it('in the subject, too', () => {
    assert.match(errorOf('fine', { subject: '{{ name | no_such_filter }}' }), /no_such_filter/)
  })

  it('and the next one is rendered all the same (P7)', () => {
    const renderer = createRenderer()

    errorOf('{{ name | no_such_filter }}', { renderer })

    assert.equal(bodyOf('{{name}}', { renderer, context: { name: 'Ada' } }), 'Ada')
  })
})

describe('a hostile template', () => {
  // Each of these would run for minutes without the limit that stops it.
  const quickly = (body: string, context: Record<string, unknown> = {}): string => errorOf(body, { context })

  it('does not read files, whichever tag it tries', () => {
    for (const tag of ['include', 'render', 'layout'])
      for (const file of ['package.json', './package.json', '../package.json', '/etc/hostname'])
        assert.match(errorOf(`{% ${tag} '${file}' %}`), /ENOENT|not found|Failed to lookup/i)
  })

  it('is stopped in an endless loop', () => {
    assert.match(
      quickly('{% for i in (1..9999) %}{% for j in (1..9999) %}{{ i | times: j }}{% endfor %}{% endfor %}'),
      /limit exceeded/,
    )
  })

  it('is stopped when it asks for too much memory', () => {
    assert.match(quickly('{% for i in (1..1000000000) %}x{% endfor %}'), /limit exceeded/)
    const doubling = `{% assign s = "0123456789" %}${'{% assign s = s | append: s %}'.repeat(40)}{{ s }}`
    assert.match(quickly(doubling), /limit exceeded/)
  })

  it('is refused when it is too long to be read', () => {
    assert.match(quickly('x'.repeat(100_001)), /limit exceeded/)
  })
})

describe('the cache', () => {
  it('reads a template once, however often it is used', (t) => {
    const parse = t.mock.method(Liquid.prototype, 'parse')
    const renderer = createRenderer()

    for (let i = 0; i < 5; i++) bodyOf('Hello {{n}}', { renderer, context: { n: i } })

    assert.equal(parse.mock.callCount(), 1)
  })

  it('keeps the same text apart as HTML and as plain text', () => {
    const renderer = createRenderer()
    const given = { renderer, context: { x: '&' } }

    assert.equal(bodyOf('<b>{{x}}</b>', { ...given, channel: 'email' }), '<b>&amp;</b>')
    assert.equal(bodyOf('<b>{{x}}</b>', { ...given, channel: 'sms' }), '<b>&</b>')
    assert.equal(bodyOf('<b>{{x}}</b>', { ...given, channel: 'email' }), '<b>&amp;</b>')
  })

  it('forgets the oldest when there are too many, and reads it again when it is needed', (t) => {
    const renderer = createRenderer()
    const parse = t.mock.method(Liquid.prototype, 'parse')
    for (let i = 0; i < 2_001; i++) bodyOf(`${i}`, { renderer })
    parse.mock.resetCalls()

    bodyOf('2000', { renderer })
    bodyOf('1', { renderer })
    assert.equal(parse.mock.callCount(), 0)
    assert.equal(bodyOf('0', { renderer }), '0')

    assert.equal(parse.mock.callCount(), 1)
  })
})

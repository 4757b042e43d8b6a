import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { datesAt, errorOf, render } from './fixture.ts'

const context = { name: 'Ada', n: 7, lines: 'one\n\ttwo\r\n three     four', blank: ' \n ', at: '2026-03-15' }

function provided(providerTemplate: Record<string, unknown>, channel: 'whatsapp' | 'sms' = 'whatsapp') {
  return render('x', { providerTemplate, channel, context, dateFields: datesAt('at') })
}

describe('a provider template', () => {
  it('has every text filled in, however deep, and everything else as it is', () => {
    const template = {
      name: 'hello_{{n}}',
      language: { code: 'en', policy: null },
      components: [{ type: 'body', parameters: [{ type: 'text', text: '{{name}} {{at}}' }, 5, true] }],
      '{{name}}': 'a key is no text',
      '': 'x',
    }

    assert.deepEqual(provided(template).providerTemplate, {
      name: 'hello_7',
      language: { code: 'en', policy: null },
      components: [{ type: 'body', parameters: [{ type: 'text', text: 'Ada 15-Mar-2026' }, 5, true] }],
      '{{name}}': 'a key is no text',
      '': 'x',
    })
  })

  it('is plain text, never HTML', () => {
    const rendered = render('<p>x</p>', { channel: 'email', providerTemplate: { a: '{{x}}' }, context: { x: '<&>' } })

    assert.deepEqual(rendered.providerTemplate, { a: '<&>' })
  })

  it('warns of what is missing, like a body', () => {
    assert.deepEqual(
      provided({ text: 'Hi {{nobody}}' }, 'sms').warnings.map(({ key }) => key),
      ['nobody'],
    )
  })

  it('may have fields of any name', () => {
    const template = JSON.parse('{"__proto__": {"text": "{{name}}"}, "constructor": "{{name}}"}') as Record<
      string,
      unknown
    >
    const rendered = provided(template).providerTemplate ?? {}

    assert.deepEqual(Object.keys(rendered), ['__proto__', 'constructor'])
    assert.equal(Object.getPrototypeOf(rendered), Object.prototype)
  })

  it('is refused when it is too large or too deep', () => {
    let deep: Record<string, unknown> = {}
    for (let i = 0; i < 20; i++) deep = { deep }
    const round: Record<string, unknown> = {}
    round['round'] = round

    for (const providerTemplate of [deep, round, { list: Array.from({ length: 2_000 }, () => '{{name}}') }])
      assert.match(errorOf('x', { providerTemplate }), /limit exceeded/)
  })
})

describe('a WhatsApp parameter', () => {
  const parameters = (...texts: string[]) => provided({ parameters: texts.map((text) => ({ type: 'text', text })) })

  it('has no line breaks, tabs or many spaces, with a warning that says where', () => {
    const { providerTemplate, warnings } = parameters('{{name}}', '{{lines}}')

    assert.deepEqual(providerTemplate, {
      parameters: [
        { type: 'text', text: 'Ada' },
        { type: 'text', text: 'one two three four' },
      ],
    })
    assert.deepEqual(
      warnings.map(({ code, key }) => [code, key]),
      [['parameter_changed', 'parameters[1].text']],
    )
  })

  it('is a dash where it would be empty', () => {
    const { providerTemplate, warnings } = parameters('{{nobody}}', '{{blank}}')

    assert.deepEqual(providerTemplate, {
      parameters: [
        { type: 'text', text: '-' },
        { type: 'text', text: '-' },
      ],
    })
    assert.equal(warnings.filter(({ code }) => code === 'parameter_changed').length, 2)
    assert.deepEqual(provided({ bodyValues: ['{{nobody}}'] }).providerTemplate, { bodyValues: ['-'] })
    assert.deepEqual(provided({ image: { link: '{{nobody}}' } }).providerTemplate, { image: { link: '' } })
  })

  it('may have three spaces, and stays as the template has it where nothing is filled in', () => {
    assert.deepEqual(parameters('{{name}}   !').warnings, [])
    assert.deepEqual(provided({ footer: 'a\nb' }).providerTemplate, { footer: 'a\nb' })
  })

  it("is nobody else's: an SMS keeps its lines", () => {
    assert.deepEqual(provided({ text: '{{lines}}' }, 'sms').providerTemplate, { text: context.lines })
  })
})

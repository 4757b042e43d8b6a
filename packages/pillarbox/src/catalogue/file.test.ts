import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { describePlaced, type PlacedError, readCatalogueText } from './file.ts'

function problemsOf(text: string): PlacedError[] {
  const read = readCatalogueText(text)
  assert.ok('problems' in read, 'was taken')
  return read.problems
}

const said = (text: string): string[] => problemsOf(text).map((problem) => describePlaced('x.yaml', problem))

const GOOD = `
name: shop
entities: { order: orders }
eventTypes:
  order.paid:
    entity: order
    recipients: [{ email: customer.email }]
    timing: { at: 09:00 }   # no quotes needed
    templates:
      - channel: email
        subject: Order {{orderId}}
        body: |
          Dear {{customer.name}},
          thank you.
`

describe('a catalogue file', () => {
  it('is read from YAML, and from the same in JSON, with tabs and a byte order mark', () => {
    const yaml = readCatalogueText(GOOD)
    assert.ok('catalogue' in yaml, JSON.stringify(yaml))
    assert.equal(yaml.catalogue.templates[0]?.body, 'Dear {{customer.name}},\nthank you.\n')
    assert.equal(yaml.catalogue.eventTypes[0]?.timing.at, '09:00')

    const template = { channel: 'email', subject: 'Order {{orderId}}', body: 'Dear {{customer.name}},\nthank you.\n' }
    const order = {
      entity: 'order',
      recipients: [{ email: 'customer.email' }],
      timing: { at: '09:00' },
      templates: [template],
    }
    const json = JSON.stringify(
      { name: 'shop', entities: { order: 'orders' }, eventTypes: { 'order.paid': order } },
      null,
      '\t',
    )
    assert.deepEqual(readCatalogueText(`\uFEFF${json}`), yaml)
  })

  it('may repeat itself with aliases, as people do', () => {
    const text = `
eventTypes:
  a: { entity: x, recipients: &everybody [{ email: e }] }
  b: { entity: x, recipients: *everybody }
`
    const read = readCatalogueText(text)

    assert.ok('catalogue' in read)
    assert.deepEqual(read.catalogue.eventTypes[1]?.recipients, [{ email: 'e' }])
  })
})

describe('a mistake in a catalogue file', () => {
  it('is shown with file, line, column, place and how to mend it', () => {
    const text = `name: shop
eventTypes:
  order.paid:
    entity: order
    recipients: [{ email: e }]
    timing:
      after: 24h
`
    assert.deepEqual(said(text), [
      'x.yaml:7:7  eventTypes.order.paid.timing.after: must be an ISO 8601 duration such as PT24H (got "24h"; write PT24H)',
    ])
  })

  it('is found in flow style, in lists, and behind an alias; what is missing is shown where it should stand', () => {
    const text = `
eventTypes:
  a/b:
    entity: x
    recipients: []
    templates:
      - channel: sms
        body: x
      - &bad { channel: sms, locale: de, bdoy: x }
  c:
    entity: x
    recipients: []
    templates:
      - *bad
  d: { delivery: { channels: [sms, fax] } }
`
    assert.deepEqual(
      problemsOf(text).map(({ line, column, path }) => [line, column, path]),
      [
        [3, 3, '/eventTypes/a~1b'],
        [9, 14, '/eventTypes/a~1b/templates/1/body'],
        [9, 42, '/eventTypes/a~1b/templates/1/bdoy'],
        [9, 42, '/eventTypes/c/templates/0/bdoy'],
        [14, 9, '/eventTypes/c/templates/0/body'],
        [15, 36, '/eventTypes/d/delivery/channels/1'],
      ],
    )
  })

  it('is found in JSON too', () => {
    const text = '{\n  "eventTypes": {\n    "a": { "entity": "x", "recipients": [], "once": "never" }\n  }\n}\n'

    assert.deepEqual(
      problemsOf(text).map(({ line, column, path }) => [line, column, path]),
      [[3, 45, '/eventTypes/a/once']],
    )
  })

  it('that is only odd is a warning with its place', () => {
    const read = readCatalogueText(GOOD.replace('subject: Order {{orderId}}', 'locale: en'))

    assert.ok('catalogue' in read)
    assert.deepEqual(
      read.warnings.map((warning) => describePlaced('shop.yaml', warning)),
      [
        'shop.yaml:10:9  eventTypes.order.paid.templates.0: is an email without a subject (missing_subject); give it one',
      ],
    )
  })

  for (const [what, text, expected] of [
    ['a tab', 'name: x\neventTypes:\n\ta: {}\n', /^x\.yaml:3:1 {2}has a tab where YAML wants spaces/],
    ['a bracket that is left open', 'name: [x\n', /^x\.yaml:2:1 {2}is not valid YAML or JSON: \S/],
    ['several documents', 'name: a\n---\nname: b\n', /^x\.yaml:2:1 {2}holds several documents/],
    ['a tag', 'name: !!js/function "x"\n', /^x\.yaml:1:7 {2}Unresolved tag.*take it out/],
    ['a key twice', 'name: a\nname: b\n', /^x\.yaml:2:1 {2}name: stands here a second time/],
    [
      'a key twice, deep within',
      'eventTypes: { a: { once: x, once: y } }\n',
      /^x\.yaml:1:29 {2}eventTypes\.a\.once: stands here/,
    ],
    ['a key that is none', '? [a]\n: b\n', /^x\.yaml:1:3 {2}has a field without a name/],
    ['a key of every object', '__proto__: { a: 1 }\n', /^x\.yaml:1:1 {2}__proto__: is a name that cannot be used/],
    ['a NUL character', 'name: "a\\0b"\n', /^x\.yaml:1:1 {2}name: contains a NUL character/],
    ['nothing at all', '', /^x\.yaml {2}must be an object with eventTypes/],
    ['a number that is none', 'eventTypes: .inf\n', /cannot be kept/],
  ] as const)
    it(`is explained: ${what}`, () => {
      assert.match(said(text)[0] ?? '', expected)
    })
})

describe('a hostile file', () => {
  const nine = (name: string): string => Array.from({ length: 9 }, () => `*${name}`).join(', ')
  const HOSTILE: [string, string, RegExp][] = [
    [
      'an alias bomb',
      `a: &a [x, x]\nb: &b [${nine('a')}]\nc: &c [${nine('b')}]\nd: &d [${nine('c')}]\ne: [${nine('d')}]\n`,
      /aliases .* more than 100 times/,
    ],
    ['an alias of itself', 'a: &a [*a]\n', /deeper than 32/],
    ['two million brackets', '['.repeat(2_000_000), /nested too deeply/],
    ['half a million braces', '{a: '.repeat(500_000), /nested too deeply/],
    ['a million dashes', '- '.repeat(1_000_000), /more parts than any catalogue/],
    ['deep dashes', '- '.repeat(20_000), /nested too deeply/],
    ['two hundred thousand keys', Array.from({ length: 200_000 }, (_, i) => `k${i}: 1`).join('\n'), /more parts/],
    ['two million quotes', '"'.repeat(2_000_000), /more parts/],
    ['more than 2 MiB', `# ${'x'.repeat(2_097_152)}`, /larger than 2 MiB/],
  ]
  for (const [what, text, message] of HOSTILE)
    it(`is refused quickly: ${what}`, () => {
      const startedAt = performance.now()
      const problems = problemsOf(text)
      const took = performance.now() - startedAt

      assert.match(problems[0]?.message ?? '', message)
      assert.ok(took < 5_000, `${took} ms`)
    })

  it('never makes the reader throw', () => {
    const piece = fc.constantFrom(
      'a',
      ': ',
      '- ',
      '\n',
      '  ',
      '[',
      ']',
      '{',
      '}',
      '&x ',
      '*x',
      '!t ',
      '"',
      "'",
      '|',
      '>',
      '#',
      '\t',
      'eventTypes',
      '? ',
      ',',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece, { maxLength: 40 }).map((all) => all.join('')),
          fc.string(),
        ),
        (text) => {
          const read = readCatalogueText(text)
          assert.ok('catalogue' in read || read.problems.length > 0)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

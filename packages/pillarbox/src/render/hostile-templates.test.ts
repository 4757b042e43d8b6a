import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Channel } from '../model/channel.ts'
import { datesAt, errorOf, OPTIONS, tryRender } from './fixture.ts'
import { createRenderer } from './render.ts'

/** Work is counted, not timed; this only tells an answer from none, on a machine that does ten other things. */
const SOON_MS = 5_000

function soon(
  body: string,
  context: Record<string, unknown> = {},
  channel: Channel = 'webhook',
): ReturnType<typeof tryRender> {
  const startedAt = performance.now()
  const rendered = tryRender(body, { context, channel, renderer: createRenderer(), dateFields: null })
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < SOON_MS, `it took ${tookMs} ms`)
  if ('body' in rendered) assert.ok(rendered.body.length <= 1_000_000)
  return rendered
}

function refused(body: string, context: Record<string, unknown> = {}): void {
  const rendered = soon(body, context)
  assert.match('error' in rendered ? rendered.error : 'it was rendered', /limit exceeded/)
}

const loop = (inner: string, times = 100_000): string => `{% for i in (1..${times}) %}${inner}{% endfor %}`

describe('a hostile template', () => {
  it('does not read files, whichever tag it tries', () => {
    for (const tag of ['include', 'render', 'layout', 'block'])
      for (const file of ["'package.json'", "'../package.json'", "'/etc/hostname'", 'name'])
        assert.match(errorOf(`{% ${tag} ${file} %}`), new RegExp(`"${tag}" is not allowed`))
  })

  it('is stopped in loops without end', () => {
    refused(loop(loop('{{ i | times: 2 }}')))
    refused(loop(loop('')))
    refused('{% for i in (1..1000000000) %}x{% endfor %}')
    refused('{% assign n = 1 | divided_by: 0 %}{% for i in (1..n) %}x{% endfor %}')
    refused('{% tablerow i in (1..100000) cols: 1 %}{{i}}{% endtablerow %}')
    refused(loop('{% increment x %}'))
  })

  it('is stopped when it doubles its text or its lists', () => {
    refused(`{% assign s = "0123456789" %}${'{% assign s = s | append: s %}'.repeat(40)}{{ s }}`)
    refused(`{% assign s = "0123456789" %}${'{% capture s %}{{s}}{{s}}{% endcapture %}'.repeat(40)}{{ s }}`)
    refused(`{% assign a = "x" | split: "" %}${'{% assign a = a | concat: a %}'.repeat(40)}{{ a }}`)
    // A list that holds itself twice, forty times over: to look through it once would take years.
    const twice = `{% assign a = "x" | split: "" %}${'{% assign a = a | push: a | push: a %}'.repeat(40)}`
    for (const use of ['{{ a }}', '{% if a == a %}{% endif %}', '{{ a | json }}', '{% if a > a %}{% endif %}'])
      refused(`${twice}${use}`)
    refused('{{ s | replace: "a", s }}', { s: 'a'.repeat(100_000) })
    refused('{{ "x" | append: s }}', { s: 'a'.repeat(1_000_001) })
    refused(loop('{{ s }}'), { s: 'a'.repeat(10_000) })
  })

  it('is stopped when it works through a payload again and again', () => {
    const list = Array.from({ length: 20_000 }, (_, i) => ({ n: `x${i}`, p: { q: i } }))
    const wide = Object.fromEntries(list.map(({ n }, i) => [n, i]))
    const context = { list, wide, nested: [list.map(() => null)], text: 'a'.repeat(400_000) }
    const uses = [
      '{% assign x = list | where: "p.q", 7 %}',
      '{% assign x = list | sort: "p.q" | reverse | uniq %}',
      '{% assign x = list | group_by: "N" %}',
      '{{ list | map: "n" | join | size }}',
      '{% for p in wide limit: 1 %}{% endfor %}',
      '{% for p in list reversed limit: 1 %}{% endfor %}',
      '{{ wide.size }}',
      '{{ wide.X19999 }}',
      '{% if nested == nested %}{% endif %}',
      '{% for j in (nested..nested) %}{% endfor %}',
      '{{ nested | append: "" }}',
      '{% if text contains "aab" %}{% endif %}',
      '{{ text | upcase | size }}',
      '{{ wide | json | size }}',
    ]
    for (const use of uses) refused(loop(use), context)
  })

  it('is stopped when it asks for many keys, formats or zones', () => {
    const context = { at: '2026-03-15T10:00:00Z', name: 'Ada' }
    const uses = [
      '{{ nobody.is.there }}',
      '{{ NAME }}',
      '{{ at | date: "%c %x %X" }}',
      '{% assign z = "Z" | append: i %}{{ at | date: "%c", z }}',
      '{% assign z = "d" | append: i %}{{ at | date: z }}',
      '{% assign z = "Z" | append: i %}{{ i | money: z }}',
      '{{ i | amount: i }}',
      `{% if ${'1 == 2 or '.repeat(400)} 1 %}{% endif %}`,
      `{% case 1 %}{% when ${'2,'.repeat(2_000)}3 %}{% endcase %}`,
      `{% cycle ${'"a",'.repeat(1_000)}"b" %}`,
      `{% for x in a["${'x'.repeat(4_900)}"] %}{% endfor %}`,
      `{% if false %}${'{% elsif false %}'.repeat(1_000)}{% endif %}`,
    ]
    for (const use of uses) refused(loop(use), context)
  })

  it('is stopped by a payload made to be searched', () => {
    // Every way to cut a run of a's in pieces is a path of this payload.
    const root: Record<string, unknown> = {}
    const open = [root]
    for (let made = 0; made < 20_000; )
      for (const key of ['a', 'aa', 'aaa']) {
        const next = {}
        const at = open[Math.floor(made / 3)]
        if (at) at[key] = next
        open.push(next)
        made += 1
      }

    refused(loop(`{{ root.${'A'.repeat(150)}b }}`), { root })
    refused(loop(`{{ root.${'A.'.repeat(15)}b }}`), { root })
  })

  it('is refused when it is too long, has too many parts, or is nested too deeply', () => {
    refused('x'.repeat(1_000_000))
    refused('x'.repeat(100_001))
    refused('{{a}}'.repeat(10_000))
    refused('{% liquid\n'.concat('echo a\n'.repeat(12_000), '%}'))
    refused('{% if a %}'.repeat(60) + '{% endif %}'.repeat(60))
    refused(`{{ a.${'b'.repeat(5_000)} }}`)
  })

  it('may be nonsense', () => {
    const nonsense = [
      '{{'.repeat(4_000),
      '{%'.repeat(4_000),
      '{{ "'.repeat(4_000),
      `{% raw %}${'{%'.repeat(4_000)}`,
      '{% comment %}'.repeat(4_000),
      '{% if a %}'.repeat(4_000),
      `{{ a${'['.repeat(4_000)} }}`,
      `{{ ${'('.repeat(4_000)} }}`,
      '{{- a -}}   '.repeat(4_000),
      `{{ a ${'| upcase'.repeat(500)} }}`,
      `{{ a${'.b'.repeat(2_000)} }}`,
      `{{ ${'a['.repeat(1_000)}b${']'.repeat(1_000)} }}`,
      '{% assign __proto__ = 1 %}{{ __proto__ }}{{ constructor }}',
      '{% for __proto__ in (1..2) __proto__: 1 %}{{ __proto__ }}{% endfor %}',
      '{{ "%99999999d" | date: "%99999999d" }}',
      '{{ x | slice: -99999999, 99999999999 }}{{ x | truncate: 99999999999 }}',
    ]
    for (const body of nonsense) soon(body, { x: 'abc' })
  })

  it('harms no filter: text made for slow patterns is worked through in no time', () => {
    const context = { spaces: ' '.repeat(200_000), opens: '<'.repeat(200_000), a: 'a'.repeat(200_000) }
    for (const filter of [
      'strip_html',
      'squish',
      'truncatewords: 3',
      'slugify',
      'number_of_words',
      'strip',
      'escape_once',
    ])
      for (const key of ['spaces', 'opens', 'a']) soon(`{{ ${key} | ${filter} | size }}`, context, 'email')
    for (const filter of ['replace', 'split', 'remove', 'remove_last'])
      soon(
        `{% assign n = a | slice: 0, 90000 %}{% assign m = "b" | append: n %}{{ a | ${filter}: m, "" | size }}`,
        context,
      )
  })

  it('leaves the next one alone (P7)', () => {
    const renderer = createRenderer()

    errorOf(loop(loop('{{i}}')), { renderer })

    assert.deepEqual(tryRender('{{name}}', { renderer, context: { name: 'Ada' }, channel: 'push' }), {
      subject: null,
      body: 'Ada',
      providerTemplate: null,
      isHtml: false,
      hasSecrets: false,
      warnings: [],
    })
  })
})

describe('a digest that is meant well', () => {
  it('of a thousand rows has room enough', () => {
    const rows = Array.from({ length: 1_000 }, (_, i) => ({
      name: `Guest ${i}`,
      at: '2026-03-15',
      total: i * 1.5,
      paid: i % 2 === 0,
    }))
    const body =
      '<table>{% for row in rows %}<tr><td>{{ forloop.index }}</td><td>{{ row.name | upcase }}</td><td>{{ row.at }}</td>' +
      '<td>{{ row.total | money: "EUR" }}</td><td>{% if row.paid %}yes{% else %}no{% endif %}</td></tr>{% endfor %}</table>'
    const rendered = tryRender(body, {
      channel: 'email',
      context: { rows },
      dateFields: datesAt('rows[].at'),
      locale: 'de',
    })

    assert.ok('body' in rendered, 'error' in rendered ? rendered.error : '')
    assert.equal(rendered.body.split('<tr>').length, 1_001)
  })
})

describe('a renderer', () => {
  const renderer = createRenderer()
  const pieces = fc.constantFrom(
    '{{',
    '}}',
    '{%',
    '%}',
    'if',
    'endif',
    'for',
    'endfor',
    'x',
    'in',
    'a',
    '.',
    '[',
    ']',
    '|',
    'date',
    ':',
    '"',
    "'",
    '(1..3)',
    ' ',
    '\n',
    '-',
    'assign',
    '=',
    'capture',
    'endcapture',
    'case',
    'when',
    'raw',
    'endraw',
    'liquid',
    'echo',
    'money',
    'where',
    'sort',
    'map',
    'split',
    'slice',
    'join',
    '0',
    '-1',
    '<p>',
    'size',
    'first',
    'cycle',
    'increment',
    '__proto__',
    'constructor',
  )
  const templates = fc.oneof(
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join('')),
    fc.array(pieces, { maxLength: 8 }).map((parts) => `{{ a ${parts.join(' ')} }}`),
    fc.string(),
  )
  const channels = fc.constantFrom<Channel>('sms', 'email', 'whatsapp', 'push', 'in_app', 'webhook')
  const contexts = fc.dictionary(fc.oneof(fc.constantFrom('a', 'x', 'A.b', '__proto__'), fc.string()), fc.jsonValue())

  it('never throws, whatever the text and the payload, and answers the same again', () => {
    fc.assert(
      fc.property(
        templates,
        fc.option(templates),
        channels,
        contexts,
        fc.string(),
        (body, subject, channel, context, format) => {
          const template = { subject, body, providerTemplate: { text: body } }
          const options = {
            ...OPTIONS,
            dateFields: null,
            dateFormat: format,
            locale: format,
            timeZone: format,
            missing: 'keep' as const,
          }
          const before = JSON.stringify(context)

          const rendered = renderer.render(template, channel, context, options)
          assert.deepEqual(renderer.render(template, channel, context, options), rendered)
          assert.equal(JSON.stringify(context), before)
          renderer.preview(template, channel, context, { ...options, knownPaths: ['a.b'], secrets: ['a', 'x[].y'] })
          renderer.placeholdersOf(template)
          if ('body' in rendered) {
            assert.equal(renderer.problem(template), null)
            assert.doesNotMatch(rendered.subject ?? '', /[\r\n]/)
            assert.ok(rendered.body.isWellFormed() && !rendered.body.includes('\0'))
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('puts nothing of a payload into HTML unescaped', () => {
    const filters = fc.subarray([
      'upcase',
      'escape',
      'newline_to_br',
      'strip',
      'default: a',
      'append: a',
      'json',
      'split: ""',
      'join',
      'escape_once',
      'strip_html',
      'url_encode',
      'date',
      'money',
      'slice: 0, 9',
      'capitalize',
    ])
    fc.assert(
      fc.property(fc.string(), filters, (text, chain) => {
        const body = `<p>{{ ${['a', ...chain].join(' | ')} }}</p>`
        const rendered = tryRender(body, { renderer, channel: 'email', context: { a: `<x>${text}<y z="` } })
        assert.ok('body' in rendered)
        assert.doesNotMatch(rendered.body.slice(3, -4).replaceAll('<br>', ''), /[<>"]/)
      }),
    )
  })
})

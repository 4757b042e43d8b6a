import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Parser } from 'liquidjs'
import { assertLinear } from '../../../../test/support/linear.ts'
import type { Channel } from '../model/channel.ts'
import { bodyOf, datesAt, errorOf, missingOf, OPTIONS, render, tryRender } from './fixture.ts'
import { createRenderer } from './render.ts'

// No zone of any test, so that the machine's own would be noticed.
const machineZone = process.env['TZ']
before(() => {
  process.env['TZ'] = 'Pacific/Chatham'
})
after(() => {
  if (machineZone === undefined) delete process.env['TZ']
  else process.env['TZ'] = machineZone
})

describe('a template', () => {
  it('is filled in, subject and body', () => {
    const rendered = render('Hello {{guest.name}}, room {{rooms[0]}}', {
      subject: 'Booking {{id}}',
      channel: 'email',
      context: { id: 42, guest: { name: 'Ada' }, rooms: ['12a'] },
    })

    assert.deepEqual(rendered, {
      subject: 'Booking 42',
      body: 'Hello Ada, room 12a',
      providerTemplate: null,
      isHtml: false,
      hasSecrets: false,
      warnings: [],
    })
  })

  it('is filled with keys that every object inherits, where the payload has them, and never without', () => {
    const context = { constructor: 'ACME', guest: { prototype: { toString: 'own' } } }

    assert.equal(bodyOf('{{constructor}} {{guest.prototype.toString}}', { context }), 'ACME own')
    assert.deepEqual(missingOf('{{guest.constructor}}{{valueOf}}', { context }), ['guest.constructor', 'valueOf'])
  })

  it('without a subject has none afterwards either', () => {
    assert.equal(render('x').subject, null)
  })

  it('gives the same words for the same payload, and keeps nothing from one to the next', () => {
    const body = '{% assign n = n | plus: 1 %}{% increment c %}{{n}} {{name}}'

    assert.equal(bodyOf(body, { context: { name: 'Ada' } }), '01 Ada')
    assert.equal(bodyOf(body, { context: { name: 'Bob' } }), '01 Bob')
  })

  it('may be a whole program in Liquid', () => {
    const context = {
      rows: [
        { n: 'b', price: 2 },
        { n: 'a', price: 1 },
      ],
      vip: true,
    }
    const body = [
      '{%- assign sorted = rows | sort: "n" -%}',
      '{%- for row in sorted -%}{{ forloop.index }}:{{ row.n }}{% unless forloop.last %},{% endunless %}{%- endfor -%}',
      '{%- case vip %}{% when true %} VIP{% else %} no{% endcase -%}',
      '{%- liquid\n  if vip\n    echo " hello"\n  endif\n-%}',
      ' {{ rows | sum: "price" }} {{ rows | where: "n", "a" | map: "price" | first }}',
      '{% comment %}not this{% endcomment %}{% raw %}{{ raw }}{% endraw %}{% # nor this %}',
    ].join('')

    assert.equal(bodyOf(body, { context }), '1:a,2:b VIP hello3 1{{ raw }}')
  })

  it('never holds what a database refuses', () => {
    assert.equal(bodyOf('a{{ x }}b', { context: { x: '\0\ud83d' } }), 'a\ufffdb')
    assert.equal(bodyOf('{{ "a\\u0000b" }}'), 'ab')
  })
})

describe('a missing key', () => {
  const context = { name: 'Ada', nothing: null, empty: '', zero: 0, no: false, guest: { name: 'x' }, list: [] }

  it('is left empty, with a warning that names it', () => {
    const { body, warnings } = render('[{{nobody}}][{{guest.age}}]', { context })

    assert.equal(body, '[][]')
    assert.deepEqual(warnings, [
      { code: 'missing_placeholder', key: 'nobody', message: 'nobody is not in the payload: it was left empty' },
      { code: 'missing_placeholder', key: 'guest.age', message: 'guest.age is not in the payload: it was left empty' },
    ])
  })

  it('stays as it stands where the tenant says so', () => {
    const { body, warnings } = render('{{nobody}} {{ guest.age }} {{- nobody | upcase }}', { context, missing: 'keep' })

    assert.equal(body, '{{nobody}} {{guest.age}}{{nobody}}')
    assert.equal(warnings.length, 2)
    const html = bodyOf('<p>{{ guest["<a>"] }}</p>', { context, missing: 'keep', channel: 'email' })
    assert.equal(html, '<p>{{guest[&#34;&lt;a&gt;&#34;]}}</p>')
  })

  it('is no value that is empty, false or null', () => {
    assert.deepEqual(missingOf('{{nothing}}{{empty}}{{zero}}{{no}}{{list}}', { context, missing: 'keep' }), [])
    assert.equal(bodyOf('{{nothing}}{{empty}}{{zero}}{{no}}{{list}}', { context, missing: 'keep' }), '0false')
  })

  it('for which the template has a default needs no warning', () => {
    assert.deepEqual(missingOf('{{ nobody | default: "you" }}{{ nobody | upcase | default: other }}', { context }), [])
    assert.equal(
      bodyOf('{{ nobody | default: "you" }}{{ nothing | default: 1 }}{{ no | default: 2 }}', { context }),
      'you12',
    )
    assert.equal(bodyOf('{{ no | default: 2, allow_false: true }}{{ zero | default: 3 }}', { context }), 'false0')
  })

  it('in a condition or a loop is a question, not a mistake', () => {
    const body = '{% if nobody %}{% endif %}{% for x in nobody %}{% endfor %}{% unless a.b == 1 %}ok{% endunless %}'

    assert.equal(bodyOf(body, { context }), 'ok')
    assert.deepEqual(missingOf(body, { context }), [])
  })

  it('is noticed as the argument of a filter, and in echo', () => {
    assert.deepEqual(missingOf('{{ name | append: nobody }}{% echo other %}', { context }), ['nobody', 'other'])
  })

  it('is told once, and so are twenty of them', () => {
    const many = Array.from({ length: 30 }, (_, i) => `{{key${i}}}`).join('')
    const { warnings } = render(`x${many}${many}`)

    assert.equal(warnings.length, 21)
    assert.equal(warnings.at(-1)?.message, '10 further placeholders are not in the payload')
  })

  it('is also an object of which no field is named', () => {
    const { body, warnings } = render('[{{guest}}]', { context })

    assert.equal(body, '[]')
    assert.match(warnings[0]?.message ?? '', /guest has several fields/)
    assert.equal(bodyOf('{{ guest | json }} {{ guest | upcase }}', { context }), '{"name":"x"} ')
  })
})

describe('a date', () => {
  const india = {
    timeZone: 'Asia/Kolkata',
    locale: 'en-IN',
    dateFields: datesAt('checkin', 'trip.at', 'rooms[].from', 'days[]'),
  }
  const context = {
    checkin: '2026-03-15',
    other: '2026-03-15',
    trip: { at: '2026-03-15T20:00:00Z' },
    rooms: [{ from: '2026-03-15T20:00:00Z' }, { from: '2026-03-17' }],
    days: ['2026-03-15', '2026-03-16'],
  }

  it("that the schema marks is in the tenant's zone, format and language", () => {
    assert.equal(
      bodyOf('{{checkin}} {{trip.at}} {{TripAt}} {{other}}', { ...india, context }),
      '15-Mar-2026 16-Mar-2026 16-Mar-2026 2026-03-15',
    )
    assert.equal(
      bodyOf('{{trip.at}}', { ...india, context, locale: 'de', dateFormat: 'long' }),
      '16. März 2026 um 01:30',
    )
  })

  it('is one in loops, variables and lists, too', () => {
    const body = '{% for r in rooms %}{{r.from}} {% endfor %}{{ rooms | map: "from" | join: "+" }}'
    assert.equal(bodyOf(body, { ...india, context }), '16-Mar-2026 17-Mar-2026 16-Mar-2026+17-Mar-2026')
    assert.equal(
      bodyOf('{% assign d = checkin %}{{d}} {% capture c %}{{d}}{% endcapture %}{{c}}', { ...india, context }),
      '15-Mar-2026 15-Mar-2026',
    )
    assert.equal(
      bodyOf('{% for d in days %}{{d}} {% endfor %}{{days[1]}}', { ...india, context }),
      '15-Mar-2026 16-Mar-2026 16-Mar-2026',
    )
    assert.equal(bodyOf('{{ checkin | default: "soon" }}', { ...india, context }), '15-Mar-2026')
  })

  it('is seen by filters and conditions as the payload has it', () => {
    const body =
      '{% if checkin == "2026-03-15" and checkin < "2026-04" %}{{ checkin | slice: 0, 4 }}{% endif %}{{ rooms | sort: "from" | map: "from" | json }}'

    assert.equal(bodyOf(body, { ...india, context }), '2026["2026-03-15T20:00:00Z","2026-03-17"]')
  })

  it("may be given another form by the date filter, in the tenant's zone and language", () => {
    const given = { ...india, context, locale: 'de' }

    assert.equal(bodyOf('{{ trip.at | date: "%d.%m.%Y %H:%M" }}', given), '16.03.2026 01:30')
    assert.equal(bodyOf('{{ trip.at | date: "long" }}, {{ trip.at | time }}', given), '16. März 2026, 01:30')
    assert.equal(bodyOf('{{ trip.at | date: "EEEE" }} {{ other | date }}', given), 'Montag 15-März-2026')
    assert.equal(bodyOf('{{ trip.at | date: "%H:%M", "Europe/Berlin" }}', given), '21:00')
    assert.equal(bodyOf('{{ trip.at | date: "%H:%M", "Nowhere" }}', given), '01:30')
    assert.equal(bodyOf('{{ "soon" | date: "%Y" }}{{ nobody | date: "%Y" }}', given), 'soon')
    assert.equal(bodyOf('{{ "now" | date: "%Y" }}', { ...given, now: 0 }), '1970')
  })

  it('without a schema is whatever has the form of a full date-time', () => {
    const given = {
      ...india,
      dateFields: null,
      context: { ...context, note: 'at 2026-03-15T20:00:00Z', list: ['2026-03-15T20:00:00Z'] },
    }

    assert.equal(bodyOf('{{trip.at}} {{checkin}} {{note}}', given), '16-Mar-2026 2026-03-15 at 2026-03-15T20:00:00Z')
    assert.equal(bodyOf('{{list[0]}}{% for d in list %} {{d}}{% endfor %}', given), '16-Mar-2026 16-Mar-2026')
  })

  it('that is midnight is a day without a time, in every zone, unless the schema says that it has one', () => {
    const midnight = {
      checkin: '2026-03-15T00:00:00Z',
      days: ['2026-03-15T00:00:00.000Z', '2026-03-15T00:00:00+05:30', '2026-03-15T00:00', '2026-03-15T00:01:00Z'],
    }
    const shown = (given: object) =>
      bodyOf('{{checkin}}|{{ days | join: "|" }}|{{ checkin | date: "d MMM" }}|{{ checkin | time }}', {
        ...india,
        dateFormat: 'medium',
        context: midnight,
        ...given,
      })
    const days = '15 Mar 2026|15 Mar 2026|15 Mar 2026|15 Mar 2026|15 Mar 2026, 5:31 am|15 Mar|'

    assert.equal(shown({}), days)
    assert.equal(shown({ dateFields: null }), days)
    assert.match(shown({ timeZone: 'America/New_York' }), /^15 Mar 2026\|.*14 Mar 2026, 8:01 pm\|15 Mar\|$/)
    assert.match(
      shown({ dateFields: new Map([['checkin', 'date-time']]) }),
      /^15 Mar 2026, 5:30 am\|.*\|15 Mar\|5:30 am$/,
    )
  })

  it('that cannot be read stays as it is', () => {
    assert.equal(bodyOf('{{checkin}}', { ...india, context: { checkin: 'soon' } }), 'soon')
  })

  it("may be an object of the host's", () => {
    assert.equal(
      bodyOf('{{at}}{{no}}', { ...india, context: { at: new Date(Date.UTC(2026, 2, 15, 20)), no: new Date(NaN) } }),
      '16-Mar-2026',
    )
  })
})

describe('an amount', () => {
  const context = { total: 1234.5, text: '1234.50', n: 7, currency: 'CHF', words: 'free' }

  it('is written plainly unless the template asks for more', () => {
    assert.equal(bodyOf('{{total}} {{n}} {{text}}', { context, locale: 'de' }), '1234.5 7 1234.50')
    assert.equal(
      bodyOf('{{ total | amount }} {{ n | amount: 0 }} {{ text | amount }}', { context, locale: 'de' }),
      '1.234,50 7 1.234,50',
    )
  })

  it("is in the currency that is named, else the payload's, else the tenant's", () => {
    const de = { locale: 'de-DE', currency: 'EUR' }

    assert.equal(bodyOf('{{ total | money: "USD" }}', { ...de, context }), '1.234,50 $')
    assert.equal(bodyOf('{{ text | money }}', { ...de, context }), '1.234,50 CHF')
    assert.equal(bodyOf('{{ total | money }}', { ...de, context: { total: 1234.5 } }), '1.234,50 €')
    assert.equal(bodyOf('{{ total | money }}', { locale: 'de-DE', context: { total: 1234.5 } }), '1.234,50')
  })

  it('that is none stays as it is', () => {
    assert.equal(bodyOf('{{ words | money }} {{ words | amount }}', { context }), 'free free')
    assert.equal(bodyOf('{{ nothing | money | default: "none" }}', { context }), 'none')
  })
})

describe('HTML', () => {
  const hostile = { context: { name: '<img src=x onerror=alert(1)> & "you"' } }
  const escaped = '&lt;img src=x onerror=alert(1)&gt; &amp; &#34;you&#34;'

  it('in the body of a mail escapes what is filled in, not what the template says', () => {
    const { body, isHtml } = render('<p>Dear {{name}}</p>', { ...hostile, channel: 'email' })

    assert.deepEqual([body, isHtml], [`<p>Dear ${escaped}</p>`, true])
  })

  it('comes with the text that a reader without it is shown; without it where it is too deep for that', () => {
    const body =
      '<h1>Hello</h1><p>Dear {{name}}, this is the first of several lines that a mail has, wrapped as mails are</p>'
    const context = { name: 'Ada & Tom' }
    const lines = (channel: Channel): number => render(body, { context, channel }).text?.split('\n').length ?? 0

    assert.match(render(body, { context, channel: 'email' }).text ?? '', /^HELLO\n\nDear Ada & Tom, this is/)
    assert.ok(lines('email') > lines('in_app'))
    assert.equal(render('Dear {{name}}', { context, channel: 'email' }).text, undefined)
    assert.match(
      errorOf('<blockquote>'.repeat(800), { channel: 'email' }),
      /limit exceeded: the HTML is nested more than/,
    )
  })

  it('in the body of an in_app message is as in a mail', () => {
    const { body, isHtml } = render('<p>Dear {{name}}</p>', { ...hostile, channel: 'in_app' })

    assert.deepEqual([body, isHtml], [`<p>Dear ${escaped}</p>`, true])
    assert.equal(bodyOf('Dear {{name}}', { ...hostile, channel: 'in_app' }), `Dear ${hostile.context.name}`)
  })

  it('is not made where there is none: plain mails, other channels and subjects stay as they are', () => {
    const { name } = hostile.context

    assert.equal(bodyOf('Dear {{name}}, 1 < 2', { ...hostile, channel: 'email' }), `Dear ${name}, 1 < 2`)
    assert.equal(bodyOf('<b>{{name}}</b>', { ...hostile, channel: 'sms' }), `<b>${name}</b>`)
    assert.equal(render('<p>x</p>', { ...hostile, subject: '{{name}}', channel: 'email' }).subject, name)
    assert.equal(render('{{name}}', { ...hostile, channel: 'email' }).isHtml, false)
  })

  it('is what the template says, whatever it looks like', () => {
    const { name } = hostile.context

    assert.equal(bodyOf('Dear {{name}}', { ...hostile, channel: 'email', format: 'html' }), `Dear ${escaped}`)
    const text = render('<p>Dear {{name}}</p>', { ...hostile, channel: 'email', format: 'text' })
    assert.deepEqual([text.body, text.isHtml], [`<p>Dear ${name}</p>`, false])
    assert.equal(render('Dear {{name}}', { ...hostile, channel: 'sms', format: 'html' }).isHtml, false)
  })

  for (const [body, isHtml] of [
    ['a < b and c > d', false],
    ['I <3 you>', false],
    ['Ada <ada@example.com>', false],
    ['Dear <your name>', false],
    ['if (a<b) return x>y', false],
    ['<br', false],
    ['line<br>line', true],
    ['line<BR/>line', true],
    ['<a href="https://example.com/?a={{a}}">x', true],
    ['a < b</p>', true],
    ['<!DOCTYPE html>', true],
    ['<h1\nclass="x">', true],
  ] as const)
    it(`is${isHtml ? '' : ' not'} guessed of ${JSON.stringify(body)}`, () => {
      assert.equal(render(body, { channel: 'email' }).isHtml, isHtml)
    })

  it('is escaped whichever way a value gets there', () => {
    const ways = [
      '{% echo name %}',
      '{% cycle name, "x" %}',
      '{% assign n = name %}{{n}}',
      '{% capture n %}{{name}}{% endcapture %}{{n}}',
      '{{ nobody | default: name }}',
      '{{ list | join: ", " }}',
      '{{ "" | append: name }}',
      '{% liquid echo name %}',
      '{{ name | escape }}',
      '{{ name | escape_once }}',
      '{{ name | newline_to_br }}',
      '{{ name | escape | upcase | downcase }}',
    ]
    for (const way of ways) {
      const body = bodyOf(`<p>${way}</p>`, {
        context: { ...hostile.context, list: [hostile.context.name] },
        channel: 'email',
      })
      assert.ok(!body.includes('<img'), `${way}: ${body}`)
      assert.ok(body.includes('img src=x'), `${way}: ${body}`)
    }
  })

  it('is escaped once only', () => {
    const email = { ...hostile, channel: 'email' } as const

    assert.equal(bodyOf('<p>{{ name | escape }}</p>', email), `<p>${escaped}</p>`)
    assert.equal(
      bodyOf('<p>{% capture x %}<b>{{name}}</b>{% endcapture %}{{x}}</p>', email),
      `<p><b>${escaped}</b></p>`,
    )
    assert.equal(
      bodyOf('<p>{{ t | newline_to_br }}</p>', { context: { t: '<\n>' }, channel: 'email' }),
      '<p>&lt;<br>\n&gt;</p>',
    )
  })

  it('cannot be switched off', () => {
    assert.match(
      errorOf('<p>{{ name | raw }}</p>', { ...hostile, channel: 'email' }),
      /"raw" is not allowed: .*escaped/,
    )
  })

  it('is recognised by a tag that ends, in time linear in the text', () => {
    const email = { channel: 'email', context: { x: '&' } } as const

    assert.equal(bodyOf('{{x}}<br', email), '&<br')
    assert.equal(bodyOf('{{x}}<br/>', email), '&amp;<br/>')
    assert.equal(bodyOf('{{x}}<A HREF="a">', email), '&amp;<A HREF="a">')
    assert.equal(bodyOf('a > b {{x}}<c', email), 'a > b &<c')
    assertLinear((size) => bodyOf('<a'.repeat(size / 2), email), 90_000, 'looking for tags')
    assertLinear((size) => bodyOf('<a '.repeat(size / 3), email), 90_000, 'looking for the ends of tags')
  })

  it('leaves the scheme of a link to whoever writes the template', () => {
    const body = bodyOf('<a href="{{link}}">x</a>', { context: { link: 'javascript:alert("1")' }, channel: 'email' })

    assert.equal(body, '<a href="javascript:alert(&#34;1&#34;)">x</a>')
  })
})

describe('a subject', () => {
  const subjectOf = (subject: string, context: Record<string, unknown> = {}) =>
    render('x', { subject, context, channel: 'email' })

  it('is one line, without space around it', () => {
    assert.equal(
      subjectOf(' Hi {{name}}\n\n', { name: 'Ada\r\nBcc: all@example.com\u2028x' }).subject,
      'Hi Ada Bcc: all@example.com x',
    )
  })

  it('is cut between characters where it is longer than a mail allows, with a warning', () => {
    const { subject, warnings } = subjectOf('{{x}}', { x: '€'.repeat(400) })

    assert.equal(subject, '€'.repeat(332))
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ['subject_shortened'],
    )
    assert.equal(subjectOf('{{x}}', { x: `a${'😀'.repeat(300)}` }).subject, `a${'😀'.repeat(249)}`)
    assert.equal(subjectOf('{{x}}', { x: 'a'.repeat(998) }).warnings.length, 0)
  })
})

describe('an SMS', () => {
  it('is told how it is cut; nothing else is', () => {
    assert.deepEqual(render('Grüße, {{name}} ✓', { context: { name: 'Ada' } }).segments, {
      encoding: 'UCS-2',
      units: 12,
      segments: 1,
      remaining: 58,
      forcedBy: ['✓'],
    })
    assert.equal('segments' in render('x', { channel: 'whatsapp' }), false)
  })

  it('is not made longer by the signs that a locale likes', () => {
    const body = '{{ n | money: "EUR" }} {{ n | money: "CHF" }} {{ d | time }}'

    for (const locale of ['de', 'de-CH', 'fr', 'en-US', 'sv', 'pl'])
      assert.deepEqual(
        render(body, { locale, context: { n: -12345.6, d: '2026-03-15T20:00:00Z' } }).segments?.forcedBy.filter(
          (sign) => sign !== 'ł',
        ),
        [],
        locale,
      )
  })
})

describe('a template that renders to nothing', () => {
  it('is an error on a channel that needs words', () => {
    for (const channel of ['sms', 'email', 'whatsapp', 'push', 'in_app'] as const)
      assert.equal(errorOf(' {{nobody}}\n', { channel }), 'the template renders to nothing', channel)
    assert.equal(errorOf('', { channel: 'email', subject: 'Hello' }), 'the template renders to nothing')
  })

  it('is none where the words are elsewhere', () => {
    assert.equal(bodyOf('', { channel: 'webhook' }), '')
    assert.equal(bodyOf('', { channel: 'push', subject: 'Title' }), '')
    assert.equal(bodyOf('', { channel: 'whatsapp', providerTemplate: { name: 'hello' } }), '')
    assert.equal(bodyOf('', { channel: 'sms', providerTemplate: { flowId: '1' } }), '')
  })
})

describe('a secret', () => {
  const secrets = ['token', 'guests[].code', 'card.number']
  const context = { token: 's3cret', guests: [{ code: 'c0de', name: 'Ada' }], card: { number: '4111', owner: 'Ada' } }

  it('that stands in the words is told', () => {
    const isIn = (body: string) => render(body, { context, secrets, channel: 'webhook' }).hasSecrets

    assert.ok(isIn('{{token}}'))
    assert.ok(isIn('{{ TOKEN | upcase }}'))
    assert.ok(isIn('{% for g in guests %}{{g.code}}{% endfor %}'))
    assert.ok(isIn('{{ card | json }}'))
    assert.ok(!isIn('{{card.owner}} {{name}} {{guests[0].name}}'))
    assert.ok(!render('{{token}}', { context }).hasSecrets)
  })

  it('is covered in a preview, however it is reached', () => {
    const body =
      '{{token}} {{guests[0].code}} {{ card | json }} {{card.owner}} {% for g in guests %}{{g.Code}}{% endfor %}'
    const preview = createRenderer().preview({ subject: '{{token}}', body }, 'sms', context, {
      ...OPTIONS,
      secrets,
      knownPaths: null,
    })

    assert.ok('body' in preview)
    assert.equal(preview.body, '•••••• •••••• {"number":"••••••","owner":"Ada"} Ada ••••••')
    assert.equal(preview.subject, '••••••')
    assert.equal(context.token, 's3cret')
    const other = createRenderer().preview(
      { subject: null, body: '{{token}} {{TOKEN}} {{__proto__}}' },
      'sms',
      { TOKEN: 'x', Token: 'y' },
      { ...OPTIONS, secrets, knownPaths: null },
    )
    assert.equal('body' in other && other.body, '•••••• •••••• ')
  })

  it('that is still sealed is never sent, and covered in a preview', () => {
    const sealed = { token: { $sealed: 'abc' }, old: { $scrubbed: true } }

    assert.match(errorOf('{{token}}', { context: sealed }), /sealed, and was not opened/)
    assert.match(errorOf('{% assign x = old %}hello', { context: sealed }), /sealed, and was not opened/)
    const preview = createRenderer().preview({ subject: null, body: '{{token}}' }, 'sms', sealed, {
      ...OPTIONS,
      knownPaths: null,
    })
    assert.equal('body' in preview && preview.body, '••••••')
  })
})

describe('a template that cannot be rendered is an answer, not a throw', () => {
  it('for a filter that is unknown, with the one that was meant', () => {
    assert.equal(
      errorOf('Hi\n{{ name | upcas }}'),
      'there is no filter "upcas"; did you mean "upcase"? (line 2, column 1)',
    )
    assert.match(errorOf('{{ name | no_such_filter }}'), /no_such_filter/)
    assert.match(errorOf('{% if x %}{{ a | date | nope_nope }}{% endif %}'), /nope_nope.*column 11/)
  })

  it('for a filter that is refused, with the reason', () => {
    assert.match(errorOf('{{ x | where_exp: "i", "i" }}'), /where_exp.*use where/)
    assert.match(errorOf('{{ x | sample }}'), /the same whenever/)
  })

  it('for a tag that is unknown or not closed', () => {
    assert.match(errorOf('{% shell "ls" %}'), /shell/)
    assert.match(errorOf('{% if name %}never closed'), /if name/)
    assert.match(errorOf('{{ name'), /not closed/)
  })

  for (const [body, message] of [
    ['Hi {{name, your room is\n{{room}}', /\{\{ is not closed before the next \{\{.*line 1, column 4/],
    ['{{name} {% if room %}{{x}}', /\{\{ is not closed before the next \{%.*line 1, column 1/],
    ['Hi\n{% if room }}x{% endif %}', /\{% is not closed before the next \{%.*line 2, column 1/],
    ['{% if name == %}x{% endif %}', /"==" has no value.*line 1, column 12/],
    ['{% if name and %}x{% endif %}', /"and" has no value.*line 1, column 12/],
    ['{% if name %}x{% elsif > 3 %}y{% endif %}', /">" has no value.*line 1, column 24/],
    ['{% assign x = 1 == %}{{x}}', /"==" has no value.*line 1, column 17/],
    ['{{ guest name }}', /unexpected name.*line 1, column 10/],
    ['{{ name, room }}', /unexpected ", room".*line 1, column 8/],
  ] as const)
    it(`for what is written in part: ${JSON.stringify(body)}`, () => {
      assert.match(errorOf(body), message)
    })

  it('but not for braces that are text', () => {
    const body =
      '{{ "{{" }}{% # {{ name %}{% raw %}{{x, {{y}}{% endraw %}{% comment %}{{x, {{y}}{% endcomment %} }} a{b}}'

    assert.equal(bodyOf(body), '{{{{x, {{y}} }} a{b}}')
    assert.equal(bodyOf('{% if not a and b contains "{%" %}x{% endif %}', { context: { b: '{%' } }), 'x')
  })

  it('in the subject and the provider template, too', () => {
    assert.match(errorOf('fine', { subject: '{{ name | no_such_filter }}' }), /no_such_filter/)
    assert.match(errorOf('fine', { providerTemplate: { a: ['{{ name | no_such_filter }}'] } }), /no_such_filter/)
  })

  it('and the next one is rendered all the same (P7)', () => {
    const renderer = createRenderer()

    errorOf('{{ name | no_such_filter }}', { renderer })

    assert.equal(bodyOf('{{name}}', { renderer, context: { name: 'Ada' } }), 'Ada')
  })

  it('and is found out when it is saved', () => {
    const { problem } = createRenderer()

    assert.equal(problem({ subject: null, body: 'Hi {{ name | upcase }}', providerTemplate: { a: '{{x}}' } }), null)
    assert.match(problem({ subject: '{{ x | raw }}', body: '' }) ?? '', /"raw" is not allowed/)
    assert.match(problem({ subject: null, body: '{% layout "x" %}' }) ?? '', /"layout" is not allowed/)
    assert.match(problem({ subject: null, body: '', providerTemplate: { a: { b: '{{ x' } } }) ?? '', /not closed/)
  })

  it('unless only its data is bad: then a filter leaves it as it is', () => {
    const context = { percent: '100%', half: '\ud83d', text: 'not base64!' }

    assert.equal(
      bodyOf('{{ percent | url_decode }} {{ half | url_encode }} {{ text | base64_decode }}', { context }),
      '100% %EF%BF%BD not base64!',
    )
  })
})

describe('a preview', () => {
  const renderer = createRenderer()
  const template = { subject: 'Hi {{GuestName}}', body: 'See you {{checkin}}, {{gestName}} {{other}}' }
  const context = { guest: { name: 'Ada' }, checkin: '2026-03-15' }
  const options = { ...OPTIONS, dateFields: datesAt('checkin'), knownPaths: ['guest.name', 'checkin'] }

  it('is what is sent, and what an editor wants to know of it', () => {
    const preview = renderer.preview(template, 'sms', context, options)
    const sent = renderer.render(template, 'sms', context, options)

    assert.ok('body' in preview && 'body' in sent)
    const { missing, unknown, ...words } = preview
    assert.deepEqual({ ...words, hasSecrets: false }, sent)
    assert.deepEqual(missing, ['gestName', 'other'])
    assert.deepEqual(unknown, [
      { key: 'gestName', suggestion: 'guest.name' },
      { key: 'other', suggestion: null },
    ])
    assert.equal(preview.segments?.segments, 1)
  })

  it('answers an error where sending would', () => {
    assert.ok('error' in renderer.preview({ subject: null, body: '{{ x | nope }}' }, 'sms', {}, options))
    assert.deepEqual(renderer.preview({ subject: null, body: '' }, 'sms', {}, options), {
      error: 'the template renders to nothing',
    })
  })
})

describe('the cache', () => {
  it('reads a template once, however often it is used, also one that cannot be read', (t) => {
    const parse = t.mock.method(Parser.prototype, 'parse')
    const renderer = createRenderer()

    for (let i = 0; i < 5; i++) bodyOf('Hello {{n}}', { renderer, context: { n: i } })
    for (let i = 0; i < 5; i++) errorOf('{{ x | nope }}', { renderer })
    renderer.problem({ subject: null, body: 'Hello {{n}}' })
    renderer.placeholdersOf({ subject: null, body: 'Hello {{n}}' })

    assert.equal(parse.mock.callCount(), 2)
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
    const parse = t.mock.method(Parser.prototype, 'parse')
    for (let i = 0; i < 2_001; i++) bodyOf(`${i}`, { renderer })
    parse.mock.resetCalls()

    bodyOf('2000', { renderer })
    bodyOf('1', { renderer })
    assert.equal(parse.mock.callCount(), 0)
    assert.equal(bodyOf('0', { renderer }), '0')

    assert.equal(parse.mock.callCount(), 1)
  })

  it('forgets the oldest when they are too long together', (t) => {
    const renderer = createRenderer()
    const parse = t.mock.method(Parser.prototype, 'parse')
    const text = (i: number) => `${i}`.padEnd(100_000, 'x')
    for (let i = 0; i < 101; i++) bodyOf(text(i), { renderer })
    parse.mock.resetCalls()

    bodyOf(text(100), { renderer })
    bodyOf(text(0), { renderer })

    assert.equal(parse.mock.callCount(), 1)
  })
})

it('what can be rendered is never half an answer', () => {
  assert.deepEqual(Object.keys(tryRender('{{ x | nope }}')), ['error'])
})

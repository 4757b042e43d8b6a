import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRenderer } from './render.ts'

const renderer = createRenderer()
const placeholders = (body: string) => renderer.placeholdersOf({ subject: null, body })
const unknown = (body: string, known: string[]) =>
  renderer
    .unknownPlaceholders({ subject: null, body }, known)
    .map(({ key, suggestion }) => (suggestion === null ? key : `${key} → ${suggestion}`))

describe('the placeholders of a template', () => {
  it('are all it takes from the payload, in order and once', () => {
    const body =
      '{{a}} {{ b.c | append: d }} {% if e == f %}{{a}}{% endif %}{% for x in (1..g) %}{% endfor %}{% echo h %}'

    assert.deepEqual(placeholders(body), ['a', 'b.c', 'd', 'e', 'f', 'g', 'h'])
  })

  it('are in subject, body and provider template', () => {
    const template = {
      subject: '{{a}}',
      body: '{{b}}',
      providerTemplate: { parameters: [{ text: '{{c}}' }], name: 'd' },
    }

    assert.deepEqual(renderer.placeholdersOf(template), ['a', 'b', 'c'])
    assert.deepEqual(renderer.placeholdersOf({ subject: '{% assign x = 1 %}{{x}}', body: '{{x}} {{x}}' }), ['x'])
  })

  it("are not the template's own variables", () => {
    const body =
      '{% assign t = "x" | append: a %}{{t}}{% capture c %}{{b}}{% endcapture %}{{c}}{% increment n %}{{n}}' +
      '{% for i in (1..3) %}{{i}}{{forloop.index}}{% endfor %}{{i}}'

    assert.deepEqual(placeholders(body), ['a', 'b', 'i'])
  })

  it('are named as the payload has them, through loops and assignments', () => {
    const body =
      '{% for room in hotel.rooms %}{{room.name}}{% for bed in room.beds %}{{bed.size}}{% endfor %}{% endfor %}' +
      '{% assign g = guest %}{{g.name}}{{rooms[0].price}}{{a[b].c}}'

    assert.deepEqual(placeholders(body), [
      'hotel.rooms',
      'hotel.rooms[].name',
      'hotel.rooms[].beds',
      'hotel.rooms[].beds[].size',
      'guest',
      'guest.name',
      'rooms[].price',
      'b',
      'a[].c',
    ])
  })

  it('are none where it cannot be read', () => {
    assert.deepEqual(placeholders('{{ a | nope }}'), [])
  })
})

describe('an unknown placeholder', () => {
  it('is one that no known path answers to', () => {
    const known = ['guest.name', 'guest.phone', 'passengers[].name', 'total']
    const body =
      '{{GuestName}}{{guest.Phone}}{{guest}}{{passengers[0].name}}{{passengers.size}}{{passengers.first.name}}{{total}}'

    assert.deepEqual(unknown(body, known), [])
    assert.deepEqual(unknown('{{voucher}}', known), ['voucher'])
  })

  it('comes with the known name that was probably meant', () => {
    const known = ['guestName', 'listing.title', 'checkinDate']

    assert.deepEqual(unknown('{{gestName}}', known), ['gestName → guestName'])
    assert.deepEqual(unknown('{{listing.titel}}', known), ['listing.titel → listing.title'])
    assert.deepEqual(unknown('{{ListingTitel}}', known), ['ListingTitel → listing.title'])
    assert.deepEqual(unknown('{{check_in_date}}', known), ['check_in_date → checkinDate'])
  })

  it('of a loop is called as it is called there', () => {
    assert.deepEqual(unknown('{% for p in passengers %}{{p.nmae}}{% endfor %}', ['passengers[].name']), [
      'p.nmae → p.name',
    ])
  })

  it('does not exist where anything goes', () => {
    assert.deepEqual(unknown('{{meta.anything.at.all}}{{Meta.x}}', ['meta.*']), [])
    assert.deepEqual(unknown('{{metadata}}', ['meta.*']), ['metadata'])
    assert.deepEqual(unknown('{{anything}}', ['*']), [])
    assert.deepEqual(renderer.unknownPlaceholders({ subject: null, body: '{{anything}}' }, null), [])
  })

  it('is soon found however many there are, and however long', () => {
    const many = Array.from({ length: 3_000 }, (_, i) => `{{key${i}.x}}`).join('')
    const known = Array.from({ length: 2_000 }, (_, i) => `other${i}.y`)

    assert.equal(unknown(many, known).length, 100)
    assert.deepEqual(unknown(`{{a${'.b'.repeat(2_000)}}}`, known).length, 1)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bodyOf, missingOf } from './fixture.ts'

describe('a key', () => {
  it('is found as it is written before any other way', () => {
    const context = { NAME: 'big', name: 'small', guestPhone: 'flat', guest: { phone: 'nested' } }

    assert.equal(bodyOf('{{name}} {{NAME}} {{guestPhone}} {{guest.phone}}', { context }), 'small big flat nested')
  })

  it('is found whatever the case of its letters', () => {
    const context = { guestname: 'Ada', Booking: { REFERENCE: 7 } }

    assert.equal(bodyOf('{{GuestName}} {{booking.reference}} {{BOOKING.Reference}}', { context }), 'Ada 7 7')
  })

  it('is found nested where it is run together, and run together where it is nested', () => {
    const nested = { guest: { Phone: '+49', address: { city: 'Ulm' } } }
    const flat = { guestPhone: '+49', GuestAddressCity: 'Ulm' }
    const body = '{{guestPhone}} {{guest.phone}} {{guestAddressCity}} {{guest.addressCity}} {{guest.address.city}}'

    assert.equal(bodyOf(body, { context: nested }), '+49 +49 Ulm Ulm Ulm')
    assert.equal(bodyOf(body, { context: flat }), '+49 +49 Ulm Ulm Ulm')
    assert.equal(bodyOf('{{guest.phone}}', { context: { 'guest.phone': '+49' } }), '+49')
  })

  it('is found in the elements of a list, in loops and after a place in it', () => {
    const context = { Rooms: [{ Name: 'Red' }, { name: 'Blue', bed: { Count: 2 } }] }

    assert.equal(bodyOf('{{rooms[0].name}} {{rooms.last.bedCount}} {{ROOMS[-1].NAME}}', { context }), 'Red 2 Blue')
    assert.equal(bodyOf('{% for room in rooms %}{{room.NAME}},{% endfor %}', { context }), 'Red,Blue,')
    assert.equal(bodyOf('{{ rooms | map: "name" | join: "+" }}', { context }), 'Red+Blue')
  })

  it('may be worked out', () => {
    const context = { which: 'name', name: 'Bob', guest: { name: 'Ada' }, i: 1, list: ['a', 'b'] }

    assert.equal(bodyOf('{{guest[which]}}{{list[i]}}{{guest["Name"]}}{{[which]}}', { context }), 'AdabAdaBob')
    assert.deepEqual(missingOf('{{guest[nobody]}}', { context }), ['nobody'])
    assert.equal(bodyOf('{{guest[nobody]}}', { context, missing: 'keep' }), '{{guest[nobody]}}')
  })

  it('means the same whatever order a database gives the keys back in', () => {
    const keys = ['name', 'Name', 'NAME', 'nAme']
    fc.assert(
      fc.property(fc.shuffledSubarray(keys, { minLength: 4 }), (order) => {
        const context = Object.fromEntries(order.map((key) => [key, key]))
        assert.equal(bodyOf('{{namE}}', { context }), 'NAME')
      }),
    )
    const nested = { guestP: { hone: 1 }, guest: { phone: 2 } }
    assert.equal(bodyOf('{{guestPhone}}', { context: nested }), '1')
    assert.equal(bodyOf('{{guestPhone}}', { context: { guest: { phone: 2 }, guestP: { hone: 1 } } }), '1')
  })

  it('with an underscore or a dash is another key than one without', () => {
    assert.deepEqual(missingOf('{{guest_name}} {{guest-name}}', { context: { guestName: 'Ada' } }), [
      'guest_name',
      'guest-name',
    ])
  })

  it("named size, first or last may be the payload's; otherwise it is what Liquid knows of a list", () => {
    const context = { list: ['a', 'b'], text: 'four', box: { size: 'XL', Last: 'z' }, guest: { a: 1, b: 2 } }

    assert.equal(bodyOf('{{list.size}}{{list.first}}{{list.last}}{{List.size}}{{text.size}}', { context }), '2ab24')
    assert.equal(bodyOf('{{box.size}}{{box.last}}{{guest.size}}{{Guest.size}}', { context }), 'XLz22')
    assert.deepEqual(missingOf('{{size}}', { context }), ['size'])
  })

  it('of the template goes before one of the payload', () => {
    const context = { name: 'Ada', rooms: [1, 2] }

    assert.equal(bodyOf('{% assign name = "Bob" %}{{name}} {{Name}}', { context }), 'Bob Ada')
    assert.equal(bodyOf('{% for rooms in rooms %}{{rooms}}{% endfor %}{{rooms}}', { context }), '1212')
  })
})

describe('a payload', () => {
  it('is seen with its own properties only', () => {
    const context = { guest: { name: 'Ada' }, list: ['a'], text: 'x' }
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'prototype', 'Constructor']

    for (const name of names)
      for (const owner of ['', 'guest.', 'list.', 'list[0].', 'text.', 'guest.constructor.'])
        assert.equal(bodyOf(`[{{${owner}${name}}}]`, { context }), '[]', `${owner}${name}`)
    assert.equal(bodyOf('{% for x in list %}{{forloop.constructor}}{{forloop.__proto__}}{% endfor %}', { context }), '')
    assert.equal(bodyOf('{{ list | map: "constructor" }}{{ guest | map: "__proto__" }}', { context }), '')
  })

  it('may have properties named like inherited ones', () => {
    const text = '{"constructor": "Acme", "__proto__": {"name": "x"}, "toString": "y"}'
    const context = JSON.parse(text) as Record<string, unknown>

    assert.equal(bodyOf('{{constructor}}{{__proto__.name}}{{toString}}{{__PROTO__.Name}}', { context }), 'Acmexyx')
  })

  it('may be something that is no object at all', () => {
    for (const payload of [null, [], 'text', 7, undefined])
      assert.equal(bodyOf('[{{name}}{{Name.x}}]', { context: payload as unknown as Record<string, unknown> }), '[]')
  })

  it('is not called, and not changed', () => {
    const context = { call: () => 'called', list: [3, 1, 2], n: 5, guest: Object.freeze({ a: 1 }) }

    assert.equal(bodyOf('{{call}}', { context }), '')
    bodyOf('{% assign list = list | sort | push: 9 %}{% increment n %}{% assign guest = 2 %}{{list}}{{n}}', { context })

    assert.deepEqual([context.list, context.n, context.guest], [[3, 1, 2], 5, { a: 1 }])
  })

  it('with 100,000 keys is read once', () => {
    const entries = Array.from({ length: 100_000 }, (_, i): [string, number] => [`key${i}`, i])
    const context = { ...Object.fromEntries(entries), Name: 'Ada' }

    assert.equal(bodyOf('{{name}} {{KEY99999}} {{key5}}'.repeat(20), { context }).length, 20 * 'Ada 99999 5'.length)
  })

  it('may be as deep as it likes', () => {
    let deep: Record<string, unknown> = { end: 'here' }
    for (let i = 0; i < 100_000; i++) deep = { down: deep }
    const context = { deep }

    assert.equal(bodyOf(`{% if deep${'.down'.repeat(900)} %}yes{% endif %}`, { context }), 'yes')
    assert.equal(bodyOf(`{{deep${'Down'.repeat(40)}}}{{DEEP.down.end}}`, { context }), '')
  })

  it('may have a getter that throws: the template cannot be rendered, and nothing else happens', () => {
    const context = {
      get name(): string {
        throw new Error('no name')
      },
    }

    assert.throws(() => bodyOf('{{name}}', { context }), /no name/)
    assert.equal(bodyOf('{{other}}{{Other}}', { context }), '')
  })
})

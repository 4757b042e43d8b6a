import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { believed, emailAt, idAt, instantIn, jsonIn, phoneAt, referenceAt, secondsAt } from './reading.ts'

describe('reading JSON', () => {
  it('reads what JSON.parse reads, brackets in texts included', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        assert.deepEqual(jsonIn(text), JSON.parse(text))
        assert.deepEqual(jsonIn(Buffer.from(text)), JSON.parse(text))
      }),
    )
    const brackets = JSON.stringify({ '[[[["': `\\"${'['.repeat(1_000)}` })
    assert.deepEqual(jsonIn(brackets), JSON.parse(brackets))
  })

  it('reads 64 levels and no more', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

    assert.ok(Array.isArray(jsonIn(nested(64))))
    assert.equal(jsonIn(nested(65)), undefined)
    assert.equal(jsonIn(`{"a":`.repeat(65)), undefined)
    assert.ok(Array.isArray(jsonIn(`[${'[],{},'.repeat(1_000)}1]`)))
  })
})

describe('reading times', () => {
  for (const [text, zone, expected] of [
    ['2024-05-22 10:06:20', '+05:30', '2024-05-22T04:36:20.000Z'],
    ['2024-05-22 10:06:20', 'Z', '2024-05-22T10:06:20.000Z'],
    ['2024-05-22T10:06:20Z', '+05:30', '2024-05-22T10:06:20.000Z'],
    ['2022-09-06T22:34:52.1303595+00:00', 'Z', '2022-09-06T22:34:52.130Z'],
    ['2022-09-06T22:34:52+0530', 'Z', '2022-09-06T17:04:52.000Z'],
    ['2016-06-28 00:40:34.558', 'Z', '2016-06-28T00:40:34.558Z'],
  ] as const)
    it(`takes ${text} in ${zone} for ${expected}`, () => {
      assert.equal(new Date(instantIn(text, zone) ?? 0).toISOString(), expected)
    })

  it('takes nothing else for a time', () => {
    for (const text of [null, '', 'now', '2024', '22-05-2024 10:06', '2024-13-45 99:99:99', '+275760-09-13T00:00:00Z'])
      assert.equal(instantIn(text, 'Z'), null, String(text))
    for (const text of ['', '-1', '1e9', '1.5', '9'.repeat(20), null, {}])
      assert.equal(secondsAt({ text }, 'text'), null, JSON.stringify(text))
    assert.equal(secondsAt({ text: 1_726_729_500 }, 'text'), 1_726_729_500_000)
  })

  it('believes the first that is possible, else that it happened when it came', () => {
    const kept = { rawBody: Buffer.alloc(0), headers: {}, receivedAt: Date.UTC(2026, 0) }

    assert.equal(believed(kept, null, 0, Date.UTC(2025, 0), Date.UTC(2024, 0)), Date.UTC(2025, 0))
    assert.equal(believed(kept, null, Date.UTC(2027, 0), Number.NaN), kept.receivedAt)
  })
})

describe('reading names', () => {
  it('takes for an id what can be looked for in any database', () => {
    assert.equal(idAt(['wamid.HBgM+/=='], 0), 'wamid.HBgM+/==')
    for (const id of ['', ' ', 'a b', 'a\0', 'é', 'a'.repeat(513), null, {}, []]) assert.equal(idAt([id], 0), null)
  })

  it('takes for our reference a UUID', () => {
    const id = '018f0000-0000-7000-8000-0000000000ff'

    assert.equal(referenceAt([id.toUpperCase()], 0), id)
    for (const text of ['', '0', `${id}x`, `{${id}}`, id.replaceAll('-', '')])
      assert.equal(referenceAt([text], 0), null)
  })

  it('takes for a recipient a number or an address', () => {
    assert.equal(phoneAt(['919876543210'], 0), '+919876543210')
    assert.equal(phoneAt([919_876_543_210], 0), '+919876543210')
    for (const text of ['+1XXX5550100', '12', '1'.repeat(16), 'US.1234567']) assert.equal(phoneAt([text], 0), null)
    assert.equal(emailAt(['guest@example.com'], 0), 'guest@example.com')
    for (const text of ['guest', '@', 'a@b@c', 'a b@c', 'a\0@c', `${'a'.repeat(70)}@c`])
      assert.equal(emailAt([text], 0), null)
  })
})

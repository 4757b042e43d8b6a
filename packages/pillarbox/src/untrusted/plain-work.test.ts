import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TemplateWords } from '../render/render.ts'
import { createPlainWork } from './plain-work.ts'
import type { RenderJob } from './tasks.ts'
import { createUntrustedInProcess } from './untrusted.ts'

const options = {
  locale: 'en',
  timeZone: 'UTC',
  dateFormat: 'medium',
  missing: 'empty',
  dateFields: new Map(),
} as const

function job(
  words: Partial<TemplateWords>,
  context: Record<string, unknown>,
  more: Partial<RenderJob> = {},
): RenderJob {
  const template = { subject: null, body: '', providerTemplate: null, ...words }
  return { tenantId: 'acme', template, channel: 'email', context, options, ...more }
}

describe('plain work', () => {
  const plain = createPlainWork()

  it('is answered as by a child', async () => {
    const dated = { ...options, dateFields: new Map([['when', 'date-time' as const]]), secrets: ['code'] }
    const jobs = [
      job({ subject: 'Hello {{name}}', body: '{{Guest.Name}}, {{nobody}}' }, { name: 'Ada\nB', guestName: 'Bo' }),
      job({ body: '{{when}} {{code}}' }, { when: '2026-03-15T09:30:00Z', code: 1 }, { options: dated }),
      job(
        { body: '{{recipient.name}} ü' },
        {},
        { channel: 'sms', own: { now: 0, supplied: { recipient: { name: 'Cy' } } } },
      ),
      job({ providerTemplate: { name: 'x', parameters: ['{{a}}'] } }, { a: 'one\n two' }, { channel: 'whatsapp' }),
    ]
    assert.deepEqual(
      jobs.map((one) => plain.answer('render', one)),
      await createUntrustedInProcess().run('render', jobs, 'acme'),
    )
  })

  it('is only what simply succeeds', () => {
    assert.equal(plain.answer('render', job({ body: '{{a | upcase}}' }, { a: 'b' })), null)
    assert.equal(plain.answer('render', job({ body: '{{a}}' }, { a: '' })), null, 'it renders to nothing')
    assert.equal(plain.answer('render', job({ body: '{{a}}' }, { a: { $sealed: 'x' } })), null, 'it is sealed')
    const rules = { payload: { type: 'object', required: ['a'] }, secrets: [] }
    assert.deepEqual(plain.answer('checkPayload', { tenantId: 'acme', rules, payload: { a: 1 } }), { answer: [] })
    assert.equal(plain.answer('checkPayload', { tenantId: 'acme', rules, payload: {} }), null)
    assert.equal(plain.answer('plainText', { tenantId: 'acme', html: '<p>a</p>', channel: 'email' }), null)
  })

  it('is little, however large the payload that a plain template is filled with', () => {
    const fields = (count: number): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`Key${i}`, i]))
    const nested = (depth: number): Record<string, unknown> =>
      depth === 0 ? {} : { a: nested(depth - 1), aa: nested(depth - 1) }
    for (const [name, body, context] of [
      ['many fields of other spelling', '{{ nobody }}', fields(10_000)],
      ['ways to run names together', '{{ a.a.a.a.a.a.a.a.a.b }}'.repeat(50), nested(10)],
      ['a long text', '{{ a }}', { a: 'x'.repeat(100_000) }],
      ['a long list', '{{ a }}', { a: Array.from({ length: 10_000 }, () => 'x') }],
      ['a large object', '{{ a }}', { a: fields(10_000) }],
      ['lists within lists', '{{ a }}', { a: Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => 1)) }],
      ['many dates', '{{ a }}', { a: Array.from({ length: 1_000 }, () => '2026-03-15T09:30:00Z') }],
    ] as const)
      assert.equal(
        plain.answer('render', job({ body }, context, { options: { ...options, dateFields: null } })),
        null,
        name,
      )
  })
})

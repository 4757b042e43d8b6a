import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FieldError } from '../model/errors.ts'
import { normalised, readMembers } from './people.ts'

describe('an address that somebody wrote', () => {
  const read = (given: { phone?: string | null; email?: string | null }, region: string | null = 'IN') => {
    const problems: FieldError[] = []
    return { ...normalised(given, { region, at: '', problems }), problems }
  }

  it('is kept in E.164 form and folded', () => {
    assert.deepEqual(read({ phone: '098765-43210', email: ' A@EXAMPLE.com' }), {
      phone: '+919876543210',
      email: 'A@example.com',
      problems: [],
    })
  })

  it('leaves alone what is not there, and what is to be removed', () => {
    assert.deepEqual(read({}), { problems: [] })
    assert.deepEqual(read({ phone: null, email: null }), { phone: null, email: null, problems: [] })
  })

  it('is named where it cannot be read, with what would do', () => {
    assert.deepEqual(
      read({ phone: '12', email: 'x' }).problems.map(({ path }) => path),
      ['/phone', '/email'],
    )
    assert.match(read({ phone: '12' }).problems[0]?.message ?? '', /of IN, or one with its country code/)
    assert.match(read({ phone: '98765 43210' }, null).problems[0]?.message ?? '', /the tenant has no region/)
  })
})

describe('the members of a list', () => {
  it('are each on it once, told by email and telephone number', () => {
    const { members, problems } = readMembers(
      [
        { name: 'First', email: 'A@example.com' },
        { name: 'Second', email: 'a@EXAMPLE.com' },
        { email: 'a@example.com', phone: '+919876543210' },
        { phone: '98765 43210' },
        { phone: '+919876543210', email: null },
      ],
      'IN',
    )

    assert.deepEqual(problems, [])
    assert.deepEqual(members, [
      { name: 'First', email: 'A@example.com', phone: null },
      { name: null, email: 'a@example.com', phone: '+919876543210' },
      { name: null, email: null, phone: '+919876543210' },
    ])
  })

  it('are named by their index where they cannot be', () => {
    const { problems } = readMembers([{ email: 'a@example.com' }, {}, { email: 'b', phone: 'c' }], null)

    assert.deepEqual(
      problems.map(({ path }) => path),
      ['/members/1', '/members/2/phone', '/members/2/email'],
    )
  })
})

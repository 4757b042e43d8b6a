import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ERRORS, type ErrorCode, isPillarboxError, PillarboxError } from './errors.ts'

describe('the error catalogue', () => {
  it('gives every code an HTTP error status and a title of its own', () => {
    const titles = Object.values(ERRORS).map(({ title }) => title)

    for (const [code, { status, title }] of Object.entries(ERRORS)) {
      assert.match(code, /^[a-z]+(_[a-z]+)*$/)
      assert.ok(Number.isInteger(status) && status >= 400 && status <= 599, code)
      assert.notEqual(title, '')
    }
    assert.equal(new Set(titles).size, titles.length)
  })

  const STATUSES: Partial<Record<ErrorCode, number>> = {
    unauthorized: 401,
    forbidden: 403,
    not_found: 404,
    duplicate_notification: 409,
    not_parked: 409,
    not_waiting: 409,
    body_too_large: 413,
    invalid_body: 422,
    unknown_event_type: 422,
    rate_limited: 429,
    internal: 500,
    store_unavailable: 503,
    overloaded: 503,
  }
  for (const [code, status] of Object.entries(STATUSES))
    it(`answers ${code} with ${status}`, () => {
      assert.equal(ERRORS[code as ErrorCode].status, status)
    })
})

describe('PillarboxError', () => {
  it('carries its code, its text and its details', () => {
    const error = new PillarboxError('duplicate_notification', 'it is there', { notificationId: 'n-1' })

    assert.equal(error.code, 'duplicate_notification')
    assert.equal(error.message, 'it is there')
    assert.equal(error.name, 'PillarboxError')
    assert.deepEqual(error.details, { notificationId: 'n-1' })
    assert.ok(error instanceof Error)
  })

  it('keeps its cause where it has one, and has none otherwise', () => {
    const cause = new Error('socket closed')

    assert.equal(new PillarboxError('store_unavailable', 'x', { cause }).cause, cause)
    assert.equal('cause' in new PillarboxError('store_unavailable', 'x'), false)
  })

  it('is recognised, with or without asking for its code', () => {
    const error: unknown = new PillarboxError('not_found', 'x')

    assert.ok(isPillarboxError(error))
    assert.ok(isPillarboxError(error, 'not_found'))
    assert.equal(isPillarboxError(error, 'internal'), false)
    for (const other of [new Error('x'), { code: 'not_found' }, null, undefined, 'not_found'])
      assert.equal(isPillarboxError(other), false)
  })
})

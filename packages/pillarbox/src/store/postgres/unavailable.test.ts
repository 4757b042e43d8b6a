import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isUnavailable } from './unavailable.ts'

const system = (code: string): Error => Object.assign(new Error(`read ${code}`), { code, syscall: 'read' })
const fromServer = (code: string): Error => Object.assign(new Error('no'), { code, severity: 'ERROR' })

describe('the database cannot be reached', () => {
  for (const code of [
    'ECONNRESET',
    'ENETDOWN',
    'EHOSTDOWN',
    'ENOENT',
    'EAI_AGAIN',
    'ERR_SSL_BAD_RECORD',
    'ERR_STREAM_DESTROYED',
  ])
    it(`when the connection ends with ${code}`, () => assert.equal(isUnavailable(system(code)), true))
  for (const state of ['08006', '53300', '57P01', '57014', '55P03', '25006', '58030'])
    it(`when the server says ${state}`, () => assert.equal(isUnavailable(fromServer(state)), true))
})

describe('the database has refused', () => {
  for (const state of ['23505', '22P02', '42601', '40001'])
    it(`when the server says ${state}`, () => assert.equal(isUnavailable(fromServer(state)), false))
  it('when the driver cannot send what it was given', () => {
    assert.equal(isUnavailable(new TypeError('Converting circular structure to JSON')), false)
    assert.equal(isUnavailable(Object.assign(new TypeError('no'), { code: 'ERR_INVALID_ARG_TYPE' })), false)
  })
})

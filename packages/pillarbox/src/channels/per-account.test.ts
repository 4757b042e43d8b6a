import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { account } from '../../../../test/support/providers.ts'
import { perAccount } from './per-account.ts'

describe('perAccount', () => {
  it('makes a thing once for an account as it was read, whatever it comes to', () => {
    let made = 0
    const nothing = perAccount(() => {
      made++
      return null
    })
    const sender = account('email', 'smtp')

    assert.deepEqual([nothing(sender), nothing(sender), made], [null, null, 1])
  })

  it('makes it anew for an account that was read again', () => {
    const secretOf = perAccount(({ secrets }) => secrets['password'])
    const sender = account('email', 'smtp', { secrets: { password: 'old' } })

    const before = secretOf(sender)
    const after = secretOf({ ...sender, secrets: { password: 'new' } })

    assert.deepEqual([before, after], ['old', 'new'])
  })
})

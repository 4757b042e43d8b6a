import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closedOutbound } from '../../../../test/support/providers.ts'
import { systemClock } from '../runtime/system.ts'
import { accountWarnings } from './account-check.ts'
import { metaProvider } from './whatsapp/meta.ts'

describe('the warnings of an account', () => {
  const meta = metaProvider({ outbound: closedOutbound().outbound, clock: systemClock })
  const warningsWith = (...secretNames: string[]) =>
    accountWarnings(meta, { settings: { phoneNumberId: '1234567890' }, secretNames })

  it('say of a Meta account without its app secret that no callback can be verified', () => {
    const [warning, ...more] = warningsWith('accessToken', 'verifyToken')

    assert.deepEqual([warning?.code, warning?.key, more], ['missing_secret', 'appSecret', []])
    assert.match(warning?.message ?? '', /^The account has no secret "appSecret"\. .*callbacks cannot be verified/)
  })

  it('say of one without a verify token that Meta cannot set the webhook up', () => {
    assert.deepEqual(
      warningsWith('accessToken', 'appSecret').map(({ code, key }) => [code, key]),
      [['missing_secret', 'verifyToken']],
    )
  })

  it('are none where both are set', () => {
    assert.deepEqual(warningsWith('accessToken', 'appSecret', 'verifyToken'), [])
  })
})

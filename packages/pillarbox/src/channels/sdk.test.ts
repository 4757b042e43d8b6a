import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { optionalSdk } from './sdk.ts'

describe('a vendor’s package', () => {
  it('is loaded when it is first needed, and once for all', async () => {
    let loads = 0
    const sdk = optionalSdk('vendor-sdk', async () => {
      loads += 1
      return { Client: 'client' }
    })
    assert.equal(loads, 0)

    const [first, second] = await Promise.all([sdk(), sdk()])

    assert.deepEqual([first, second, loads], [{ kind: 'sdk', module: { Client: 'client' } }, first, 1])
  })

  it('stops the account with what to install where it is missing, and is found once it is there', async () => {
    const missing: string = 'pillarbox-has-no-such-package'
    let isInstalled = false
    const sdk = optionalSdk('vendor-sdk', async () => (isInstalled ? 'module' : ((await import(missing)) as string)))

    assert.deepEqual(await sdk(), {
      kind: 'unauthorized',
      code: 'sdk_missing',
      error: 'vendor-sdk is not installed: install it with npm install vendor-sdk',
    })
    isInstalled = true
    assert.deepEqual(await sdk(), { kind: 'sdk', module: 'module' })
  })

  it('says what is wrong with one that cannot be loaded', async () => {
    const sdk = optionalSdk('vendor-sdk', () => Promise.reject(new Error('broken by half an update')))

    const loaded = await sdk()

    assert.match('error' in loaded ? loaded.error : '', /^vendor-sdk cannot be loaded .*broken by half an update/)
  })
})

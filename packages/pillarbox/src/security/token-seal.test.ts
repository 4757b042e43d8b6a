import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { silent } from '../../../../test/support/samples.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createKeyring, keyIdOf } from './keyring.ts'
import { createTokenSeal, isSealedToken, loadTokenKey, resealTokenKey } from './token-seal.ts'

const KEY = Buffer.alloc(32, 1)
const TOKEN = 'fcm-registration-token:APA91b'

describe('a device token', () => {
  const tokens = createTokenSeal(KEY)

  it('is sealed to the same text each time, and opens', () => {
    for (const token of [TOKEN, 'x', 'https://db5.notify.windows.com/?token=ÄÖ€😀', 'a'.repeat(4_096)]) {
      const sealed = tokens.seal('acme', token)

      assert.match(sealed, /^t1\.[\w-]+$/)
      assert.equal(sealed, tokens.seal('acme', token))
      assert.equal(tokens.open('acme', sealed), token)
    }
  })

  it('has another text in another tenant, where it does not open, and under another key', () => {
    const sealed = tokens.seal('acme', TOKEN)

    assert.notEqual(tokens.seal('other', TOKEN), sealed)
    assert.equal(tokens.open('other', sealed), null)
    assert.equal(createTokenSeal(Buffer.alloc(32, 2)).open('acme', sealed), null)
  })

  it('does not open once its text was changed', () => {
    const sealed = tokens.seal('acme', TOKEN)
    const changed = `${sealed.slice(0, -2)}${sealed.endsWith('AA') ? 'BB' : 'AA'}`

    assert.deepEqual(
      [tokens.open('acme', changed), tokens.open('acme', 't1.'), tokens.open('acme', 't1.AAAA')],
      [null, null, null],
    )
  })

  it('that was written in clear is answered as it is', () => {
    assert.equal(tokens.open('acme', TOKEN), TOKEN)
  })

  it('is refused while there is no key', () => {
    assert.throws(() => createTokenSeal().seal('acme', TOKEN), /before the key for them was read/)
  })

  it('in a payload is an object with that text alone', () => {
    assert.deepEqual(
      [{ $token: 't1.x' }, { $token: 1 }, { $token: 't1.x', more: 1 }, [], null, 't1.x'].map(isSealedToken),
      [true, false, false, false, false, false],
    )
  })
})

describe('the key for device tokens', () => {
  async function setup(t: TestContext) {
    const store = await openSqlite({ path: ':memory:', clock: createManualClock(), logger: silent })
    t.after(() => store.close())
    await store.migrate()
    return store
  }

  it('is made once for all processes, and kept sealed', async (t) => {
    const store = await setup(t)
    const ring = createKeyring(KEY)

    const keys = await Promise.all([1, 2].map(() => loadTokenKey(store, ring, randomBytes)))

    assert.equal(keys[0]?.length, 32)
    assert.deepEqual(keys[0], keys[1])
    const kept = await store.instance.read('token_key')
    assert.ok(kept?.startsWith(`s1.${keyIdOf(KEY)}.`))
  })

  it('stays the same when the master key is changed, and needs the new one alone', async (t) => {
    const store = await setup(t)
    const [before, next] = [createKeyring(KEY), Buffer.alloc(32, 9)]
    const key = await loadTokenKey(store, before, randomBytes)

    await resealTokenKey(store, createKeyring(next, [KEY]))

    assert.deepEqual(await loadTokenKey(store, createKeyring(next), randomBytes), key)
    await assert.rejects(loadTokenKey(store, before, randomBytes), /which this process does not have/)
  })
})

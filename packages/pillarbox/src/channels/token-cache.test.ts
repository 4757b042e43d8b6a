import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { startVendorServer, type VendorReply } from '@pillarbox/vendors'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { testOutbound } from '../../../../test/support/providers.ts'
import { createTokenCache, type TokenRequest } from './token-cache.ts'

async function setup(t: TestContext, reply: (given: number) => VendorReply = (given) => tokenReply(given)) {
  let given = 0
  const server = await startVendorServer({
    answers: {},
    accept: () => {
      given += 1
      return reply(given)
    },
  })
  t.after(server.close)
  const clock = createManualClock()
  const tokens = createTokenCache({ outbound: testOutbound(t).outbound, clock })
  const request: TokenRequest = {
    of: ['account', 'secret'],
    url: `${server.url}/token`,
    form: () => ({ grant_type: 'client_credentials', client_secret: 'a&b' }),
    signal: new AbortController().signal,
  }
  return { server, clock, tokens, request, given: () => given }
}

function tokenReply(given: number, expiresIn: number | string = 3_600): VendorReply {
  return { status: 200, body: { access_token: `token-${given}`, expires_in: expiresIn } }
}

const token = (name: string) => ({ kind: 'token', token: name })

describe('access tokens', () => {
  it('are asked for once by all who need one at the same time, as a form', async (t) => {
    const { server, tokens, request } = await setup(t)

    const got = await Promise.all([tokens.get(request), tokens.get(request), tokens.get(request)])

    assert.deepEqual(got, [token('token-1'), token('token-1'), token('token-1')])
    assert.deepEqual(
      server.requests.map(({ body, headers }) => [body, headers['content-type']]),
      [['grant_type=client_credentials&client_secret=a%26b', 'application/x-www-form-urlencoded']],
    )
  })

  it('that cannot even be asked for are an outcome, and asked for again by the next message', async (t) => {
    const { tokens, request } = await setup(t)
    const unsigned = {
      ...request,
      form: () => {
        throw new Error('the key cannot sign')
      },
    }

    const [first, second] = await Promise.all([tokens.get(unsigned), tokens.get(unsigned)])

    assert.deepEqual(first, second)
    assert.deepEqual(first, {
      kind: 'unauthorized',
      code: 'token_request',
      error: 'no token can be asked for: the key cannot sign',
    })
    assert.deepEqual(await tokens.get(request), token('token-1'))
  })

  it('are kept until shortly before they expire', async (t) => {
    const { clock, tokens, request } = await setup(t)
    await tokens.get(request)

    await clock.advance(3_539_000)
    const kept = await tokens.get(request)
    await clock.advance(2_000)
    const renewed = await tokens.get(request)

    assert.deepEqual([kept, renewed], [token('token-1'), token('token-2')])
  })

  it('are not asked for with every message where they live for seconds only, or for nobody knows how long', async (t) => {
    for (const life of [5, 'soon']) {
      const { tokens, request, given } = await setup(t, (count) => tokenReply(count, life))

      await tokens.get(request)
      await tokens.get(request)

      assert.equal(given(), 1, String(life))
    }
  })

  it('depend on the secret that they are made from', async (t) => {
    const { tokens, request } = await setup(t)

    const first = await tokens.get(request)
    const other = await tokens.get({ ...request, of: ['account', 'new secret'] })

    assert.deepEqual([first, other], [token('token-1'), token('token-2')])
  })

  it('are asked for anew once the vendor no longer takes them', async (t) => {
    const { tokens, request } = await setup(t)
    await tokens.get(request)

    tokens.forget(request.of)

    assert.deepEqual(await tokens.get(request), token('token-2'))
  })

  it('that are refused stop the account in the vendor’s words, and are asked for again next time', async (t) => {
    const refused = { status: 401, body: { error: 'invalid_client', error_description: 'The secret has expired.' } }
    const { tokens, request } = await setup(t, (given) => (given === 1 ? refused : tokenReply(given)))

    assert.deepEqual(await tokens.get(request), {
      kind: 'unauthorized',
      code: 'token_401',
      error: 'the token endpoint says: The secret has expired.',
    })
    assert.deepEqual(await tokens.get(request), token('token-2'))
  })

  it('that do not come leave no doubt about the message', async (t) => {
    const { server, tokens, request } = await setup(t)
    server.answerWith('reset', { status: 503 }, { status: 429 }, 'garbage')

    for (let i = 0; i < 4; i++) assert.equal((await tokens.get(request)).kind, 'transient')
    await server.close()
    assert.equal((await tokens.get(request)).kind, 'transient')
  })

  it('are no tokens without one, whatever the status says', async (t) => {
    const { tokens, request } = await setup(t, () => ({ status: 200, body: { token_type: 'bearer' } }))

    assert.equal((await tokens.get(request)).kind, 'unauthorized')
  })
})

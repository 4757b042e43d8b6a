import assert from 'node:assert/strict'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { startVendorServer } from '@pillarbox/vendors'
import type { OutboundAnswer, OutboundFailure, OutboundRequest } from '../channels/outbound.ts'
import { systemClock } from '../runtime/system.ts'
import { createOutbound, type OutboundDeps } from './outbound.ts'

function setup(t: TestContext, changes: Partial<OutboundDeps> = {}) {
  const outbound = createOutbound({ clock: systemClock, allowPrivate: true, ...changes })
  t.after(outbound.close)
  return {
    get: (url: string, more: Partial<OutboundRequest> = {}) => outbound.request({ method: 'GET', url, ...more }),
    post: (url: string, body: string, more: Partial<OutboundRequest> = {}) =>
      outbound.request({ method: 'POST', url, body, ...more }),
  }
}

async function listening(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const http = async (t: TestContext, listener: RequestListener): Promise<string> => {
  const server = createHttpServer(listener)
  t.after(() => server.closeAllConnections())
  return `http://${await listening(t, server)}`
}

async function countingServer(t: TestContext): Promise<{ url: string; connections(): number }> {
  const ports = new Set<number | undefined>()
  const url = await http(t, (request, response) => {
    ports.add(request.socket.remotePort)
    response.end('ok')
  })
  return { url, connections: () => ports.size }
}

function answerOf(result: OutboundAnswer | OutboundFailure): OutboundAnswer {
  if (result.kind !== 'answer') assert.fail(`${result.code}: ${result.error}`)
  return result
}

function failureOf(result: OutboundAnswer | OutboundFailure): OutboundFailure {
  if (result.kind !== 'failure') assert.fail(`answered ${result.status}`)
  return result
}

describe('outbound requests', () => {
  it('answer with status, headers and body', async (t) => {
    const url = await http(t, (request, response) => {
      response.writeHead(201, { 'x-seen': `${request.method} ${request.url} ${request.headers['content-length']}` })
      request.pipe(response)
    })
    const { post } = setup(t)

    const { status, headers, body } = answerOf(await post(`${url}/path?q=1`, 'hello'))

    assert.deepEqual([status, headers['x-seen'], body.toString()], [201, 'POST /path?q=1 5', 'hello'])
  })

  it('do not follow redirects', async (t) => {
    const url = await http(t, (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end())
    const { get } = setup(t)

    assert.equal(answerOf(await get(url)).status, 302)
  })

  it('are refused when an address is not public, however it is written', async (t) => {
    const { get } = setup(t, { allowPrivate: false })

    for (const url of [
      'http://127.0.0.1:1/',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://[::1]/',
      'http://localhost:1/',
      'http://[::ffff:10.0.0.1]/',
    ]) {
      const failure = failureOf(await get(url))
      assert.deepEqual([failure.code, failure.hasLeft], ['address_refused', false], url)
    }
  })

  it('are refused when any address of a name is not public', async (t) => {
    const { get } = setup(t, {
      allowPrivate: false,
      lookup: async () => [
        { address: '93.184.216.34', family: 4 },
        { address: '10.0.0.7', family: 4 },
      ],
    })

    const failure = failureOf(await get('http://rebinding.example/'))

    assert.equal(failure.code, 'address_refused')
    assert.match(failure.error, /rebinding\.example is not a public address/)
  })

  it('ask for the address once, so that it cannot change between check and connection', async (t) => {
    const answers = ['127.0.0.1', '10.255.255.1']
    let asked = 0
    const url = await http(t, (_, response) => response.end('ok'))
    const { get } = setup(t, { lookup: async () => [{ address: answers[asked++] ?? '10.255.255.1', family: 4 }] })

    const answer = answerOf(await get(url.replace('127.0.0.1', 'changing.example')))

    assert.deepEqual([answer.body.toString(), asked], ['ok', 1])
  })

  it('have not left when nobody listens, the name is unknown or the certificate is wrong', async (t) => {
    const vendor = await startVendorServer({ answers: {}, accept: () => ({ status: 200 }) }, { tls: true })
    t.after(vendor.close)
    const { get } = setup(t, {
      lookup: async (name) => {
        if (name === 'nowhere.example') throw Object.assign(new Error('no'), { code: 'ENOTFOUND' })
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })

    const codes = []
    for (const url of ['http://127.0.0.1:1/', 'http://nowhere.example/', vendor.url]) {
      const { code, hasLeft } = failureOf(await get(url))
      codes.push([code, hasLeft])
    }

    assert.deepEqual(codes, [
      ['connect_failed', false],
      ['dns_failed', false],
      ['tls_failed', false],
    ])
  })

  it('may have arrived when the connection breaks after it stood', async (t) => {
    const address = await listening(
      t,
      createTcpServer((socket) => socket.once('data', () => socket.destroy())),
    )
    const { post } = setup(t)

    const { code, hasLeft } = failureOf(await post(`http://${address}/`, 'x'))

    assert.deepEqual([code, hasLeft], ['connection_lost', true])
  })

  it('may have arrived when the connection breaks in the middle of the answer', async (t) => {
    const cut = await http(t, (_, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('half', () => response.destroy())
    })
    const { post } = setup(t)

    const { code, hasLeft } = failureOf(await post(cut, 'x'))

    assert.deepEqual([code, hasLeft], ['connection_lost', true])
  })

  it('end when the first byte, or the last, is late, and may then have arrived', async (t) => {
    const silent = await http(t, () => {})
    const slow = await http(t, (_, response) => {
      response.write('a')
    })
    const { get } = setup(t, { limits: { firstByteMs: 50, totalMs: 100 } })

    for (const [url, words] of [
      [silent, /no answer .* within 50 ms/],
      [slow, /no whole answer .* within 100 ms/],
    ] as const) {
      const { code, hasLeft, error } = failureOf(await get(url))
      assert.deepEqual([code, hasLeft], ['timeout', true])
      assert.match(error, words)
    }
  })

  it('end when no connection comes to stand, and have then not left', async (t) => {
    const { get } = setup(t, { limits: { connectMs: 50 }, lookup: () => new Promise(() => {}) })

    const { code, hasLeft } = failureOf(await get('http://slow-names.example/'))

    assert.deepEqual([code, hasLeft], ['timeout', false])
  })

  it('end when the caller gives up, before as well as during the call', async (t) => {
    const during = new AbortController()
    const url = await http(t, () => during.abort())
    const { get } = setup(t)

    const early = failureOf(await get(url, { signal: AbortSignal.abort() }))
    const late = failureOf(await get(url, { signal: during.signal }))

    assert.deepEqual([early.code, early.hasLeft], ['aborted', false])
    assert.deepEqual([late.code, late.hasLeft], ['aborted', true])
  })

  it('cut off an answer that is too long', async (t) => {
    const url = await http(t, (_, response) => response.end('x'.repeat(5_000)))
    const { get } = setup(t, { limits: { answerBytes: 1_000 } })

    assert.equal(failureOf(await get(url)).code, 'answer_too_large')
  })

  it('call an answer that is not HTTP by its name', async (t) => {
    const address = await listening(
      t,
      createTcpServer((socket) => socket.once('data', () => socket.end('what?\r\n\r\n'))),
    )
    const { get } = setup(t)

    const { code, hasLeft } = failureOf(await get(`http://${address}/`))

    assert.deepEqual([code, hasLeft], ['malformed_answer', true])
  })

  it('tell nothing that looks like a secret', async (t) => {
    const { get } = setup(t, {
      lookup: async () => {
        throw Object.assign(new Error('no'), { code: 'password=hunter2-hunter2' })
      },
    })

    const { error } = failureOf(await get('http://names.example/?token=hunter2-hunter2'))

    assert.match(error, /^the name names\.example cannot be resolved/)
    assert.ok(!error.includes('hunter2'))
  })

  it('refuse what is no request', async (t) => {
    const { get } = setup(t)

    for (const url of ['', 'ftp://example.com/', 'http://user:pass@example.com/', 'file:///etc/passwd'])
      assert.equal(failureOf(await get(url)).code, 'invalid_request', url)
    const header = failureOf(await get('http://127.0.0.1:1/', { headers: { 'x-bad': 'a\r\nb: c' } }))
    assert.equal(header.code, 'invalid_request')
  })

  it('use a connection again', async (t) => {
    const { url, connections } = await countingServer(t)
    const { get } = setup(t)

    for (let i = 0; i < 5; i++) answerOf(await get(url))

    assert.equal(connections(), 1)
  })

  it('use all connections again that were needed at once', async (t) => {
    const { url, connections } = await countingServer(t)
    const { get } = setup(t)
    const batch = (): Promise<unknown> => Promise.all(Array.from({ length: 100 }, async () => answerOf(await get(url))))

    await batch()
    const needed = connections()
    await batch()

    assert.deepEqual([needed > 50, connections()], [true, needed])
  })
})

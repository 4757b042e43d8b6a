import assert from 'node:assert/strict'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '../runtime/system.ts'
import { createDial } from './dial.ts'

async function listener(t: TestContext): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}).end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

const { signal } = new AbortController()

describe('dialling', () => {
  it('answers a socket that is connected', async (t) => {
    const port = await listener(t)
    const dial = createDial({ clock: systemClock, allowPrivate: true })

    const socket = await dial({ host: 'localhost', port, timeoutMs: 1_000, signal })

    assert.ok(socket instanceof Socket)
    assert.equal(socket.remotePort, port)
    socket.destroy()
  })

  it('refuses an address that is not public, whether it is a name or not', async (t) => {
    const port = await listener(t)
    const dial = createDial({ clock: systemClock, allowPrivate: false })

    for (const host of ['127.0.0.1', 'localhost']) {
      const answer = await dial({ host, port, timeoutMs: 1_000, signal })
      assert.ok(!(answer instanceof Socket))
      assert.deepEqual([answer.code, answer.hasLeft], ['address_refused', false])
    }
  })

  it('says that nobody listens, and that nothing came in time', async () => {
    const dial = createDial({ clock: systemClock, allowPrivate: true, lookup: () => new Promise(() => {}) })

    const refused = await dial({ host: '127.0.0.1', port: 1, timeoutMs: 1_000, signal })
    const late = await dial({ host: 'slow.example', port: 25, timeoutMs: 20, signal })

    assert.equal('code' in refused && refused.code, 'connect_failed')
    assert.equal('code' in late && late.code, 'timeout')
  })

  it('ends when its caller gives up', async () => {
    const dial = createDial({ clock: systemClock, allowPrivate: true, lookup: () => new Promise(() => {}) })
    const giveUp = new AbortController()

    const dialling = dial({ host: 'slow.example', port: 25, timeoutMs: 60_000, signal: giveUp.signal })
    giveUp.abort()
    const answer = await dialling

    assert.ok(!(answer instanceof Socket))
    assert.deepEqual([answer.code, answer.hasLeft], ['aborted', false])
  })
})

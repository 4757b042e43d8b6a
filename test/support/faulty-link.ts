import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What becomes of one request: nothing of it arrives; it arrives and the answer is lost; it arrives twice; or all is well. */
export type LinkFault = 'dark' | 'lose the answer' | 'twice' | 'none'

/** The way from a site to the server, which the test can break. */
export interface FaultyLink extends AsyncDisposable {
  readonly url: string
  /** Where the server is now. */
  target: string
  /** What becomes of the next request. */
  fault: (count: number) => LinkFault
  /** Everything that was posted, for whoever sends it once more. */
  readonly posted: { path: string; body: string; authorization: string }[]
  /** Sends once more, and in another order, what was posted before. */
  replay(): Promise<number[]>
}

const PASSED_ON = ['content-type', 'authorization'] as const

export async function openLink(): Promise<FaultyLink> {
  let count = 0
  const posted: FaultyLink['posted'] = []
  const server = createServer((request, response) => {
    void (async () => {
      const body = Buffer.concat(await request.toArray()).toString('utf8')
      const headers: Record<string, string> = {}
      for (const name of PASSED_ON) if (request.headers[name] !== undefined) headers[name] = request.headers[name]
      const path = request.url ?? '/'
      const isPost = request.method === 'POST'
      if (isPost) posted.push({ path, body, authorization: headers['authorization'] ?? '' })
      const fault = isPost ? link.fault(count++) : 'none'
      const pass = () =>
        fetch(link.target + path, { method: request.method ?? 'GET', headers, ...(isPost && { body }) })
      try {
        if (fault === 'dark') throw new Error('dark')
        const [answer] = await Promise.all(fault === 'twice' ? [pass(), pass()] : [pass()])
        const text = await answer.text()
        if (fault === 'lose the answer') throw new Error('lost')
        const type = answer.headers.get('content-type') ?? 'application/json'
        response.writeHead(answer.status, { 'content-type': type }).end(text)
      } catch {
        request.socket.destroy()
      }
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const link: FaultyLink = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: '',
    fault: () => 'none',
    posted,
    async replay() {
      const statuses: number[] = []
      for (const { path, body, authorization } of posted.toReversed()) {
        const headers = { 'content-type': 'application/json', authorization }
        const answer = await fetch(link.target + path, { method: 'POST', headers, body })
        statuses.push(answer.status)
        await answer.arrayBuffer()
      }
      return statuses
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return link
}

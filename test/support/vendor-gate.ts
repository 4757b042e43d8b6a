import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Stands before a vendor: hands requests on at once, and answers back only once it is opened. */
export interface Gate {
  readonly url: string
  open(): void
  close(): Promise<void>
}

export async function startGate(vendorUrl: string): Promise<Gate> {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    const pass = async (): Promise<void> => {
      const chunks: Buffer[] = []
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
      const headers = new Headers()
      for (const [name, value] of Object.entries(request.headers))
        if (!['host', 'connection', 'content-length', 'expect'].includes(name)) headers.set(name, String(value))
      const method = request.method ?? 'GET'
      const answer = await fetch(`${vendorUrl}${request.url ?? '/'}`, { method, headers, body: Buffer.concat(chunks) })
      const body = Buffer.from(await answer.arrayBuffer())
      await opened
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body)
    }
    pass().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

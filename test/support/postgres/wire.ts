import { once } from 'node:events'
import type { Server } from 'node:net'

/** What a proxy has to know of PostgreSQL's wire protocol. */

export const SYNC = 'S'
export const QUERY = 'Q'
export const READY = 'Z'
/** A session outside of any transaction, as `READY` says it. */
export const IDLE = 'I'

export interface Message {
  /** One letter; empty for the first message of a client, which has none. */
  type: string
  bytes: Buffer
}

/** Cuts a stream into messages. `hasStartup`: the first one is a client's, which has no type. */
export function splitMessages(hasStartup: boolean, onMessage: (message: Message) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let isStartup = hasStartup
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const header = isStartup ? 0 : 1
      if (rest.length < header + 4) return
      const length = header + rest.readInt32BE(header)
      if (rest.length < length) return
      const bytes = rest.subarray(0, length)
      rest = rest.subarray(length)
      onMessage({ type: isStartup ? '' : String.fromCharCode(bytes[0] ?? 0), bytes })
      isStartup = false
    }
  }
}

/** Answers the target's URL with the server in its place. */
export async function listenFor(server: Server, target: URL): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port')
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(address.port)
  return url.href
}

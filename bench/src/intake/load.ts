/** A process that sends HTTP requests over a number of connections, each again as soon as it is answered, and reports. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { now } from '../clock.ts'
import { type Quantiles, quantiles, range } from '../statistics.ts'

export interface Load {
  port: number
  connections: number
  /** Requests that each connection has under way at once. */
  pipelined: number
  seconds: number
  method: 'GET' | 'POST'
  path: string
  headers: Readonly<Record<string, string>>
  /** Null: none. `#` in it becomes a number that no other request has. */
  body: string | null
}

export interface LoadReport {
  /** Answered, by status. */
  statuses: Record<string, number>
  ms: number
  /** Of answers with a status below 300. */
  latency: Quantiles
}

if (process.argv[2] !== undefined) {
  const report = await run(JSON.parse(process.argv[2]) as Load)
  process.send?.(report)
  process.disconnect?.()
}

async function run(load: Load): Promise<LoadReport> {
  const statuses: Record<string, number> = {}
  const latencies: number[] = []
  const from = now()
  const until = from + load.seconds * 1_000
  const salt = `${process.pid}-${Math.round(from)}`
  let count = 0
  const request = requestOf(load)
  const isOver = (): boolean => now() >= until
  await Promise.all(
    range(0, load.connections).map(async () => {
      const socket = connect(load.port, '127.0.0.1').setNoDelay()
      await once(socket, 'connect')
      await exchange(
        socket,
        load.pipelined,
        () => (isOver() ? null : request(`${salt}-${count++}`)),
        (status, ms) => {
          statuses[status] = (statuses[status] ?? 0) + 1
          if (status < 300) latencies.push(ms)
        },
      )
    }),
  )
  return { statuses, ms: now() - from, latency: quantiles(latencies) }
}

function requestOf({ method, path, headers, body, port }: Load): (unique: string) => string {
  const head = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`]
  for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`)
  if (body === null) {
    const whole = `${head.join('\r\n')}\r\n\r\n`
    return () => whole
  }
  return (unique) => {
    const text = body.replaceAll('#', unique)
    return `${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  }
}

/** Resolves once `next` has no more requests and all are answered, or the connection is closed. */
function exchange(
  socket: Socket,
  pipelined: number,
  next: () => string | null,
  answered: (status: number, ms: number) => void,
): Promise<void> {
  const sentAt: number[] = []
  let rest = Buffer.alloc(0)
  const send = (): void => {
    const text = next()
    if (text === null) return
    sentAt.push(now())
    socket.write(text)
  }
  return new Promise((resolve) => {
    socket.on('data', (chunk: Buffer<ArrayBuffer>) => {
      rest = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      for (;;) {
        const end = rest.indexOf('\r\n\r\n')
        if (end < 0) break
        const head = rest.toString('latin1', 0, end)
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (rest.length < end + 4 + length) break
        rest = rest.subarray(end + 4 + length)
        answered(Number(head.slice(9, 12)), now() - (sentAt.shift() ?? Number.NaN))
        send()
      }
      if (sentAt.length === 0) socket.end()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve())
    for (let k = 0; k < pipelined; k++) send()
  })
}

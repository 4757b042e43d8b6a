import { connect, createServer, type Socket } from 'node:net'
import { IDLE, listenFor, QUERY, READY, SYNC, splitMessages } from './wire.ts'

export interface PoolingProxy {
  /** The given URL with this proxy in place of the server. */
  readonly url: string
  [Symbol.asyncDispose](): Promise<void>
}

/** What a server is to be told: the messages up to one that it answers with `READY`. */
type Group = Buffer[]

/** One of the pool's sessions. `ask` hands every part of the answer on and resolves to whether a transaction is open then. */
interface PooledSession {
  ask(group: Group, onAnswer: (bytes: Buffer) => void): Promise<boolean>
  end(): void
}

/**
 * A pooler in transaction mode, as PgBouncer is one: a client gets a session of the server for a transaction and then
 * another one, so that nothing of a session can be relied on. Less forgiving than PgBouncer: the next session is always
 * the one that has been idle for longest.
 */
export async function startPoolingProxy(databaseUrl: string, size = 20): Promise<PoolingProxy> {
  const target = new URL(databaseUrl)
  const idle: PooledSession[] = []
  const waiting: ((session: PooledSession) => void)[] = []
  const sessions = await Promise.all(Array.from({ length: size }, () => openPooled(target)))
  const open = new Set<Socket>()
  const giveBack = (session: PooledSession): void => {
    const next = waiting.shift()
    if (next) next(session)
    else idle.push(session)
  }
  const take = (): Promise<PooledSession> => {
    const session = idle.shift()
    return session ? Promise.resolve(session) : new Promise((resolve) => waiting.push(resolve))
  }
  sessions.forEach(giveBack)

  const server = createServer((client) => {
    open.add(client)
    client.setNoDelay(true)
    client.on('error', () => {})
    client.on('close', () => open.delete(client))
    serve(client, take, giveBack)
  })
  return {
    url: await listenFor(server, target),
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of open) socket.destroy()
      for (const session of sessions) session.end()
    },
  }
}

function serve(client: Socket, take: () => Promise<PooledSession>, giveBack: (session: PooledSession) => void): void {
  let group: Group = []
  let mine: PooledSession | null = null
  /** Groups are answered one after the other, however many are sent at once. */
  let turn = Promise.resolve()

  const pass = async (sent: Group): Promise<void> => {
    mine ??= await take()
    const isOpen = await mine.ask(sent, (bytes) => void client.write(bytes))
    if (isOpen) return
    giveBack(mine)
    mine = null
  }
  const leave = async (): Promise<void> => {
    if (!mine) return
    await mine.ask([message(QUERY, 'rollback\0')], () => {})
    giveBack(mine)
    mine = null
  }
  client.on(
    'data',
    splitMessages(true, ({ type, bytes }) => {
      if (type === '') return void client.write(GREETING)
      if (type === 'X') return void client.end()
      group.push(bytes)
      if (type !== SYNC && type !== QUERY) return
      const sent = group
      group = []
      turn = turn.then(() => pass(sent))
    }),
  )
  client.on('close', () => {
    turn = turn.then(leave)
  })
}

function message(type: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body)
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(bytes.length + 4, 1)
  return Buffer.concat([head, bytes])
}

/** Everybody is let in, by a process that is none of the server's. */
const GREETING = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('S', 'server_version\x0018.0\0'),
  message('S', 'client_encoding\0UTF8\0'),
  message('K', Buffer.alloc(8, 1)),
  message(READY, IDLE),
])

function startupMessage({ username, pathname }: URL): Buffer {
  const fields = ['user', username, 'database', decodeURIComponent(pathname.slice(1)), 'client_encoding', 'UTF8', '']
  const body = Buffer.from(`${fields.join('\0')}\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(body.length + 8)
  head.writeInt32BE(196_608, 4)
  return Buffer.concat([head, body])
}

async function openPooled(target: URL): Promise<PooledSession> {
  const socket = connect(Number(target.port), target.hostname)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  let onMessage: (type: string, bytes: Buffer) => void = () => {}
  socket.on(
    'data',
    splitMessages(false, ({ type, bytes }) => onMessage(type, bytes)),
  )
  const untilReady = (onAnswer: (bytes: Buffer) => void): Promise<boolean> =>
    new Promise((resolve) => {
      onMessage = (type, bytes) => {
        onAnswer(bytes)
        if (type === READY) resolve(String.fromCharCode(bytes[5] ?? 0) !== IDLE)
      }
    })
  const greeted = untilReady(() => {})
  socket.write(startupMessage(target))
  await greeted
  return {
    ask(group, onAnswer) {
      const answered = untilReady(onAnswer)
      socket.write(Buffer.concat(group))
      return answered
    },
    end: () => socket.destroy(),
  }
}

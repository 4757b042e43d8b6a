import { connect, createServer, type Socket } from 'node:net'
import { IDLE, listenFor, type Message, QUERY, READY, SYNC, splitMessages } from '../support/postgres/wire.ts'

/**
 * Where a connection is cut, seen from the statement that commits:
 *
 *   before   the server never hears of it: nothing is committed
 *   during   the server has it, and the client is gone before it can answer: committed, perhaps a little later
 *   after    the server has committed and said so, and the client never hears it
 *
 * The client sees the same each time: a connection that broke.
 */
export const SIDES = ['before', 'during', 'after'] as const
export type Side = (typeof SIDES)[number]

export interface CommitProxy {
  /** The given URL with this proxy in place of the server. */
  readonly url: string
  /** Asked for every statement that commits; null lets it pass. `role` is what the product calls its connection. */
  decide: (role: string) => Side | null
  /** From now on nothing passes in either direction, and no connection ends: what a lost network looks like. */
  freeze(): void
  /** Lets pass what has been held back. */
  thaw(): void
  /** How often each role was cut on each side: `claim before`. */
  readonly cuts: Map<string, number>
  [Symbol.asyncDispose](): Promise<void>
}

/** A proxy for PostgreSQL that knows enough of the wire protocol to cut connections on either side of a commit. */
export async function startCommitProxy(databaseUrl: string): Promise<CommitProxy> {
  const target = new URL(databaseUrl)
  const open = new Set<Socket>()
  const cuts = new Map<string, number>()
  let isFrozen = false
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => open.delete(socket))
    }
    relay(client, upstream, (role) => {
      const side = proxy.decide(role)
      if (side !== null) cuts.set(`${role} ${side}`, (cuts.get(`${role} ${side}`) ?? 0) + 1)
      return side
    })
    if (isFrozen) for (const socket of [client, upstream]) socket.pause()
  })
  const proxy: CommitProxy = {
    url: await listenFor(server, target),
    decide: () => null,
    freeze() {
      isFrozen = true
      for (const socket of open) socket.pause()
    },
    thaw() {
      isFrozen = false
      for (const socket of open) socket.resume()
    },
    cuts,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
  return proxy
}

const BIND = 'B'

/**
 * The client's messages gather until one that makes the server answer (Sync, or a simple Query) and go on together. Such
 * a group commits when no transaction is open, being its own, or when it says `commit`. Reads commit nothing, but from
 * here they look the same; cutting them is harmless and part of the test. Only the planner's probes, which outnumber its
 * commits by far, are told apart by name.
 *
 * A group may be sent before the one in front of it is answered. Whether a transaction is then open is not known, so it
 * is let pass, unless it says `commit`.
 */
function relay(client: Socket, upstream: Socket, decide: (role: string) => Side | null): void {
  let role: string | null = null
  let status = ''
  let group: Message[] = []
  /** Groups that the server has not answered yet, oldest first; true: cut once it is answered. */
  const awaited: boolean[] = []
  const answer: Buffer[] = []

  const cut = (): void => {
    client.resetAndDestroy()
    upstream.end()
  }
  const fromClient = splitMessages(true, (message) => {
    if (role === null) {
      role = roleOf(message.bytes)
      upstream.write(message.bytes)
      return
    }
    group.push(message)
    if (message.type !== SYNC && message.type !== QUERY) {
      // Terminate, password and the like have no answer to wait for.
      if (message.type === 'X' || message.type === 'p') flush()
      return
    }
    const side = mayCommit(group, awaited.length === 0 ? status : '') ? decide(role) : null
    if (side === 'before') return cut()
    awaited.push(side === 'after')
    flush()
    if (side === 'during') cut()
  })
  const flush = (): void => {
    upstream.write(Buffer.concat(group.map(({ bytes }) => bytes)))
    group = []
  }
  const fromServer = splitMessages(false, (message) => {
    answer.push(message.bytes)
    // While logging in there is no group, and each message is waited for.
    if (message.type !== READY && awaited.length > 0) return
    if (message.type === READY) {
      status = String.fromCharCode(message.bytes[5] ?? 0)
      if (awaited.shift() === true) return cut()
    }
    client.write(Buffer.concat(answer.splice(0)))
  })

  client.on('data', fromClient)
  upstream.on('data', fromServer)
  client.on('close', () => upstream.end())
  upstream.on('close', () => client.destroy())
}

/** `claim` of `application_name=pillarbox claim` in the startup message. */
function roleOf(startup: Buffer): string {
  const fields = startup.subarray(8).toString('utf8').split('\0')
  const name = fields[fields.indexOf('application_name') + 1] ?? ''
  return name.replace(/^pillarbox /, '')
}

function mayCommit(group: readonly Message[], status: string): boolean {
  const [first] = group
  const text =
    first?.type === QUERY
      ? first.bytes
          .toString('utf8', 5, first.bytes.length - 1)
          .trim()
          .toLowerCase()
      : ''
  if (text.startsWith('begin') || text.startsWith('set ')) return false
  return text === 'commit' || (status === IDLE && !group.some(isProbe))
}

/** Bind: portal and statement, each ended by a zero. */
function isProbe({ type, bytes }: Message): boolean {
  return type === BIND && bytes.toString('utf8', 5, 60).split('\0')[1]?.startsWith('probe_') === true
}

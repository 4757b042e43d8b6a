import type { WakeListener, WakeStore, WakeTopic } from '../../runtime/wake-store.ts'
import { discard, isSessionOurs, newClient, type SessionOptions } from './session.ts'

const CHANNEL = 'pillarbox'
const TOPICS: readonly WakeTopic[] = ['events', 'dispatch', 'receipts', 'inbox']
/** NOTIFY takes a lock at commit that all notifying sessions share, so we use it sparingly. */
const QUIET_MS = 5
/** A hint has room for some 200 ids; whoever is told of that many looks for itself as quickly. */
const MOST_LANES = 20
const LANE_ID = /^[0-9a-f-]{36}$/
/** A socket whose other end vanished says nothing: ask now and then. */
const SELF_CHECK_MS = 15_000
const FIRST_BACK_OFF_MS = 100
const MAX_BACK_OFF_MS = 5_000

type Client = ReturnType<typeof newClient>

export interface PostgresWake extends WakeStore {
  /** Whether there was a hint, from here or elsewhere, since this was last asked. */
  wasHinted(topic: WakeTopic): boolean
  close(): Promise<void>
}

/**
 * Hints over one connection of our own, which both listens and notifies: a hint that comes back from that very
 * connection is ours and is dropped. It is made on first use and made again whenever it breaks; since hints may have
 * been missed meanwhile, every listener is then called for every topic.
 */
export function openWake(options: SessionOptions): PostgresWake {
  const { clock, logger } = options
  const listeners = new Set<WakeListener>()
  const closing = new AbortController()
  /** Topics to tell of once there is a connection. */
  const unsent = new Set<WakeTopic>()
  const hinted = new Set<WakeTopic>()
  let client: Client | null = null
  let keeping: Promise<void> | null = null
  /** No hints can be had: whoever would get them polls. */
  let isOff = options.prepare === false
  /** The protocol answers one statement at a time. */
  let turn: Promise<unknown> = Promise.resolve()

  const call = (topic: WakeTopic, lanes: readonly string[] = []): void => {
    hinted.add(topic)
    for (const listener of listeners) listener(topic, lanes)
  }
  const send = (text: string, values: string[] = []): Promise<void> => {
    const sent = turn.then(async () => {
      await client?.query(text, values)
    })
    turn = sent.catch(() => {})
    return sent
  }

  /** Resolves when the connection is lost or found dead, or on close. Rejects when it could not be made. */
  const keepOne = async (onConnected: () => void): Promise<void> => {
    const lost = new AbortController()
    const over = AbortSignal.any([lost.signal, closing.signal])
    const fresh = newClient(options, () => lost.abort())
    try {
      await fresh.connect()
      // A pooler in transaction mode hands the session to somebody else: nothing would ever arrive.
      if (!(await isSessionOurs(options, fresh))) {
        isOff = true
        return
      }
      fresh.on('notification', ({ processId, payload }) => {
        const hint = hintOf(payload ?? '')
        if (hint && processId !== processIdOf(fresh)) call(hint.topic, hint.lanes)
      })
      await fresh.query(`listen ${CHANNEL}`)
      client = fresh
      onConnected()
      while (!over.aborted) {
        await clock.sleep(SELF_CHECK_MS, over)
        if (!over.aborted) await send('select 1')
      }
    } finally {
      client = null
      discard(fresh)
    }
  }

  const keep = async (): Promise<void> => {
    let backOffMs = FIRST_BACK_OFF_MS
    let isFirst = true
    while (!closing.signal.aborted && !isOff) {
      try {
        await keepOne(() => {
          backOffMs = FIRST_BACK_OFF_MS
          if (!isFirst) for (const topic of TOPICS) call(topic)
          isFirst = false
          for (const topic of unsent) notifyOnce(topic)
          unsent.clear()
        })
      } catch (error) {
        logger.debug({ error: String(error) }, 'The wake-up connection failed; polling goes on without it')
        isFirst = false
      }
      if (!isOff) await clock.sleep(backOffMs, closing.signal)
      backOffMs = Math.min(MAX_BACK_OFF_MS, backOffMs * 2)
    }
  }
  const start = (): void => {
    if (!closing.signal.aborted && !isOff) keeping ??= keep()
  }

  const notifyOnce = (topic: WakeTopic, lanes: readonly string[] = []): void => {
    if (client === null) unsent.add(topic)
    // A hint that fails is dropped: the process that would have got it polls anyway.
    else send('select pg_notify($1, $2)', [CHANNEL, [topic, ...lanes].join(' ')]).catch(() => {})
  }
  const notify = rateLimited(notifyOnce, (ms) => clock.sleep(ms, closing.signal))

  return {
    wasHinted: (topic) => hinted.delete(topic),
    notify: (topic, lanes = []) => {
      hinted.add(topic)
      if (isOff || closing.signal.aborted) return
      start()
      notify(topic, lanes)
    },
    subscribe: (listener) => {
      start()
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    close: async () => {
      closing.abort()
      await keeping
    },
  }
}

/** `topic lane lane …`. Anybody who may use the database can send one: what is no hint of ours is left alone. */
function hintOf(payload: string): { topic: WakeTopic; lanes: string[] } | null {
  const [named, ...lanes] = payload.split(' ')
  const topic = TOPICS.find((each) => each === named)
  return topic === undefined ? null : { topic, lanes: lanes.slice(0, MOST_LANES).filter((lane) => LANE_ID.test(lane)) }
}

type Notify = (topic: WakeTopic, lanes: readonly string[]) => void

/**
 * Calls at once, and then at most once per `QUIET_MS` and topic, at the end of the quiet time if asked meanwhile. Names the
 * lanes of all who asked, unless one of them does not know its own, or they are many.
 */
function rateLimited(notify: Notify, sleep: (ms: number) => Promise<void>): Notify {
  /** Who asked again in the quiet time of a topic. */
  const quiet = new Map<WakeTopic, (readonly string[])[]>()
  const begin = (topic: WakeTopic, asked: readonly (readonly string[])[]): void => {
    const lanes = new Set(asked.flat())
    notify(topic, asked.every((named) => named.length > 0) && lanes.size <= MOST_LANES ? [...lanes] : [])
    const again: (readonly string[])[] = []
    quiet.set(topic, again)
    void sleep(QUIET_MS).then(() => {
      quiet.delete(topic)
      if (again.length > 0) begin(topic, again)
    })
  }
  return (topic, lanes) => {
    const again = quiet.get(topic)
    if (again === undefined) begin(topic, [lanes])
    else again.push(lanes)
  }
}

/** The driver knows its backend's process id but does not declare it. */
function processIdOf(client: Client): number | null {
  return (client as Client & { processID: number | null }).processID
}

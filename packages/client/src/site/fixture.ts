import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { SiteOutbox, type SiteOutboxOptions } from './site-outbox.ts'

/** One request as the pretend server got it. */
export interface HandedOffRequest {
  incarnation: string
  backlog: number
  at: string
  items: { notificationId: string; sequence: number; sentAt: string; subject?: string; expiresAt?: string }[]
}

export interface PretendAck {
  notificationId: string
  accepted: boolean
  error?: string
  permanent?: boolean
}

/** A server in this process that keeps what it is handed off once, by its id, and can be made to misbehave. */
export interface PretendCentral {
  /** In the order in which they came first. */
  ledger: Map<string, HandedOffRequest['items'][number]>
  requests: HandedOffRequest[]
  isAway: boolean
  /** Takes what it is given so many times, and then its answer is lost. */
  losesAnswers: number
  /** Answers in place of the server, before it takes anything. */
  instead: ((request: HandedOffRequest) => Response | null) | null
  /** Changes what it acknowledges. */
  ack: (ack: PretendAck) => unknown
  rewinds: boolean
  statuses: Map<string, string>
  fetch: typeof fetch
}

function pretendCentral(): PretendCentral {
  const central: PretendCentral = {
    ledger: new Map(),
    requests: [],
    isAway: false,
    losesAnswers: 0,
    instead: null,
    ack: (ack) => ack,
    rewinds: false,
    statuses: new Map(),
    fetch: async (input, init) => {
      if (central.isAway) throw new TypeError('fetch failed')
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (init?.method === 'GET') return statusOf(pathname.split('/').at(-2) ?? '')
      const request = JSON.parse(init?.body as string) as HandedOffRequest
      central.requests.push(request)
      const instead = central.instead?.(request)
      if (instead) return instead
      for (const item of request.items)
        if (!central.ledger.has(item.notificationId)) central.ledger.set(item.notificationId, item)
      if (central.losesAnswers > 0) {
        central.losesAnswers -= 1
        throw new TypeError('terminated')
      }
      const acks = request.items.map(({ notificationId }) => central.ack({ notificationId, accepted: true }))
      return json(200, { acks, rewound: central.rewinds })
    },
  }
  const statusOf = (id: string): Response => {
    const status = central.statuses.get(id)
    if (status === undefined) return problem(404, 'not_found')
    return json(200, {
      notificationId: id,
      status,
      retryCount: 1,
      lastError: null,
      nextAttemptAt: null,
      deliveredAt: null,
    })
  }
  return central
}

export function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
}

export function problem(status: number, code: string): Response {
  return new Response(JSON.stringify({ code, detail: `It is ${code}.` }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  })
}

/** An outbox whose pauses take no time, over a pretend server. */
export async function openOutbox(t: TestContext, options: Partial<SiteOutboxOptions> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'pillarbox-site-'))
  const central = pretendCentral()
  const file = path.join(folder, 'buffer.db')
  const troubles: string[] = []
  const pauses: number[] = []
  const time = { now: Date.UTC(2026, 0, 15, 12), monotonic: 0 }
  const opened: SiteOutbox[] = []
  const open = (changes: Partial<SiteOutboxOptions> = {}): SiteOutbox => {
    const outbox = new SiteOutbox({
      path: file,
      central: 'http://central.test',
      key: 'pbx_key',
      site: 'plant-1',
      fetch: central.fetch,
      onTrouble: (message) => void troubles.push(message),
      sources: {
        now: () => time.now,
        monotonic: () => time.monotonic,
        random: () => 0.5,
        // A pause is over in the next turn, and the time it would have taken has passed.
        rest: (ms, signal) =>
          new Promise((resolve) => {
            pauses.push(ms)
            setImmediate(() => {
              if (!signal.aborted) {
                time.now += ms
                time.monotonic += ms
              }
              resolve()
            })
          }),
      },
      ...options,
      ...changes,
    })
    opened.push(outbox)
    return outbox
  }
  t.after(async () => {
    await Promise.all(opened.map((outbox) => outbox.close()))
    await rm(folder, { recursive: true, force: true })
  })
  return { central, file, open, troubles, pauses, time }
}

export const alarm = (subject: string, changes: object = {}) => ({ list: 'operators', subject, body: 'x', ...changes })

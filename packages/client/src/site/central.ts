import { timeoutSignal } from '../host-process.ts'
import { answerText } from '../http/answer-text.ts'
import { httpError, PillarboxConnectionError, PillarboxHttpError } from '../http/problem.ts'
import { baseUrl } from '../http/transport.ts'
import type { BufferedItem } from './buffer.ts'

/** The server, as far as a site speaks with it. Whatever it answers is bounded in size and time, and read with suspicion. */
export interface Central {
  /** Rejects with `PillarboxHttpError` or `PillarboxConnectionError`. */
  handOff(given: HandOffRequest, signal: AbortSignal): Promise<HandOffReply>
  /** Null: the server does not know it. */
  status(id: string, signal: AbortSignal): Promise<Record<string, unknown> | null>
}

export interface HandOffRequest {
  incarnation: string
  /** What waits beside the items. */
  backlog: number
  now: number
  items: readonly BufferedItem[]
}

export interface HandOffReply {
  acknowledged: string[]
  /** For good. */
  refused: { id: string; error: string }[]
  /** To be kept: with the server's words, or without where it did not say anything of them. */
  kept: { id: string; error: string }[]
  /** The server has seen a number of this buffer before. */
  isRewound: boolean
}

const MAX_ANSWER_BYTES = 4 * 1_048_576
const MAX_ERROR_CHARACTERS = 1_000
const NOT_FOUND = 404

export function openCentral(options: {
  central: string
  key: string
  site: string
  timeoutMs: number
  now: () => number
  fetch?: typeof fetch
}): Central {
  const { site, key, timeoutMs } = options
  const base = new URL(`api/sites/${encodeURIComponent(site)}/`, baseUrl(options.central))

  async function call(path: string, body: string | null, signal: AbortSignal): Promise<unknown> {
    const about = `${body === null ? 'GET' : 'POST'} /api/sites/${site}/${path}`
    const timeout = timeoutSignal(timeoutMs)
    const send = options.fetch ?? fetch
    try {
      const response = await send(new URL(path, base), {
        method: body === null ? 'GET' : 'POST',
        headers: {
          accept: 'application/json, application/problem+json',
          authorization: `Bearer ${key}`,
          ...(body !== null && { 'content-type': 'application/json' }),
        },
        // A redirect would take the key elsewhere.
        redirect: 'manual',
        signal: AbortSignal.any([signal, timeout]),
        ...(body !== null && { body }),
      })
      const text = await answerText(response, about, MAX_ANSWER_BYTES)
      if (!response.ok) throw httpError(response.status, text, response.headers, options.now())
      return parsed(text, about)
    } catch (error) {
      if (error instanceof PillarboxHttpError || error instanceof PillarboxConnectionError) throw error
      throw timeout.aborted
        ? new PillarboxConnectionError('timeout', `${about}: no answer within ${timeoutMs} ms`, error)
        : new PillarboxConnectionError('unreachable', `${about}: the server could not be reached`, error)
    }
  }

  return {
    async handOff({ incarnation, backlog, now, items }, signal) {
      const given = items.map(({ id, sequence, sentAt, text }) => ({
        ...(JSON.parse(text) as object),
        notificationId: id,
        sequence,
        sentAt: new Date(sentAt).toISOString(),
      }))
      const body = JSON.stringify({ incarnation, backlog, at: new Date(now).toISOString(), items: given })
      const answer = await call('notifications', body, signal)
      return readAnswer(
        items.map(({ id }) => id),
        answer,
      )
    },
    async status(id, signal) {
      try {
        const found = await call(`notifications/${encodeURIComponent(id)}/status`, null, signal)
        if (isObject(found) && typeof found['status'] === 'string') return found
        throw new PillarboxConnectionError('unreadable', 'the server’s answer is no status', null)
      } catch (error) {
        // Where something else answers in its place, nobody knows.
        if (error instanceof PillarboxHttpError && error.status === NOT_FOUND && error.code === 'not_found') return null
        throw error
      }
    },
  }
}

/**
 * What an answer says of what was handed off. Only what it says clearly counts: an acknowledgement of something else is nothing,
 * and so are two answers for one item that do not say the same.
 */
function readAnswer(ids: readonly string[], answer: unknown): HandOffReply {
  const acks = isObject(answer) ? answer['acks'] : undefined
  if (!Array.isArray(acks)) throw new PillarboxConnectionError('unreadable', 'the server’s answer has no acks', null)
  const said = new Map<string, { accepted: boolean; isPermanent: boolean; error: string } | 'unclear'>()
  for (const ack of acks as unknown[]) {
    if (!isObject(ack) || typeof ack['notificationId'] !== 'string' || typeof ack['accepted'] !== 'boolean') continue
    const id = ack['notificationId'].toLowerCase()
    const read = { accepted: ack['accepted'], isPermanent: ack['permanent'] === true, error: errorOf(ack['error']) }
    const before = said.get(id)
    const isSame = before !== 'unclear' && before?.accepted === read.accepted && before.isPermanent === read.isPermanent
    said.set(id, before === undefined || isSame ? read : 'unclear')
  }
  const reply: HandOffReply = { acknowledged: [], refused: [], kept: [], isRewound: false }
  for (const id of ids) {
    const one = said.get(id)
    if (one === undefined) reply.kept.push({ id, error: 'the server did not say anything of it' })
    else if (one === 'unclear') reply.kept.push({ id, error: 'the server said two different things of it' })
    else if (one.accepted) reply.acknowledged.push(id)
    else if (one.isPermanent) reply.refused.push({ id, error: one.error })
    else reply.kept.push({ id, error: one.error })
  }
  reply.isRewound = isObject(answer) && answer['rewound'] === true
  return reply
}

function parsed(text: string, about: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PillarboxConnectionError('unreadable', `${about}: the answer is not JSON`, error)
  }
}

function errorOf(value: unknown): string {
  const text = typeof value === 'string' ? value.replaceAll(/\p{Cc}/gu, ' ').trim() : ''
  return text === '' ? 'the server did not say why' : text.slice(0, MAX_ERROR_CHARACTERS)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

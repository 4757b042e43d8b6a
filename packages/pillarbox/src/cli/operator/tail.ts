import { type CommandCall, stopOnSignal } from '../call.ts'
import type { CommandEntry } from '../command.ts'
import { cut, jsonLine, widthOf } from '../words.ts'
import { serverCommand } from './acts.ts'
import { describeRefusal } from './refusal.ts'
import type { ServerSession } from './server.ts'
import { addressText, colourOf, entityText, painted, type ServerRow, type Shown, shownTo, textOf } from './table.ts'

const LOOK_EVERY_MS = 1_000
/** A busy server is asked for this much less often: looking takes at most a fifth of the time. */
const REST = 4
const LONGEST_PAUSE_MS = 30_000
/** How far behind the newest entry each look goes back. */
const OVERLAP_MS = 15_000
const PAGE = '200'
const MOST_REMEMBERED = 5_000

interface FollowedEntry extends ServerRow {
  id: string
  at: string
}

interface FollowedPage {
  items: FollowedEntry[]
  nextCursor: string | null
}

/**
 * The entries of the audit as they come. Many write at once, so one with an earlier time may be there only after one with a
 * later was seen: each look goes back a while behind the newest, and knows by its id what was there before. An entry
 * that comes later than OVERLAP_MS after the time it bears is not seen; no transaction that writes one takes as long.
 */
function createFollower(server: ServerSession) {
  const seen = new Map<string, number>()
  let newest = Number.NEGATIVE_INFINITY

  /** What was not there at the last look, oldest first. The first look finds nothing: all that is there is old. */
  return async function look(): Promise<FollowedEntry[]> {
    const isFirst = newest === Number.NEGATIVE_INFINITY
    const found: FollowedEntry[] = []
    let cursor: string | undefined
    let since: number | null = isFirst ? null : newest - OVERLAP_MS
    for (;;) {
      const page: FollowedPage = await server.getOwnOrAll('/api/audit', '/ops/audit', { limit: PAGE, cursor })
      const [first] = page.items
      since ??= first === undefined ? 0 : Date.parse(first.at) - OVERLAP_MS
      const from = since
      found.push(...page.items.filter(({ id, at }) => Date.parse(at) >= from && !seen.has(id)))
      const last = page.items.at(-1)
      if (page.nextCursor === null || (last !== undefined && Date.parse(last.at) < from)) break
      cursor = page.nextCursor
    }
    // Only a look that came to its end counts: after one that failed the next finds the same again.
    for (const { id, at } of found) seen.set(id, Date.parse(at))
    newest = found.reduce((latest, { at }) => Math.max(latest, Date.parse(at)), isFirst ? since : newest)
    for (const [id, at] of seen) if (at < newest - 2 * OVERLAP_MS) seen.delete(id)
    return isFirst ? [] : found.reverse()
  }
}

/** What is shown of a notification beside what happened to it. */
type FollowedNotification = Pick<ServerRow, 'channel' | 'eventType' | 'entity' | 'to'>

/** What is known of a notification, asked for once; null where it is gone. */
function createLookUp(server: ServerSession): (id: string) => Promise<FollowedNotification | null> {
  const known = new Map<string, FollowedNotification | null>()
  return async (id) => {
    const before = known.get(id)
    if (before !== undefined) return before
    // Of the list, which masks addresses and reads no content.
    const { items } = await server.get<{ items: ServerRow[] }>('/api/notifications', { q: id, limit: '1' })
    const [found = null] = items
    const [oldest] = known.keys()
    if (known.size >= MOST_REMEMBERED && oldest !== undefined) known.delete(oldest)
    const kept = found && {
      channel: found['channel'],
      eventType: found['eventType'],
      entity: found['entity'],
      to: found['to'],
    }
    known.set(id, kept)
    return kept
  }
}

async function follow(call: CommandCall, server: ServerSession): Promise<number> {
  const { stdout, stderr, clock, options } = call
  const show = shownTo(call)
  const statuses =
    typeof options['status'] === 'string' ? options['status'].split(',').map((each) => each.trim()) : null
  const look = createFollower(server)
  const lookUp = createLookUp(server)
  const stopping = stopOnSignal(call)
  const { signal } = stopping

  // What was seen and not told yet: a look-up may fail, and is made again.
  const untold: FollowedEntry[] = []

  async function tell(): Promise<void> {
    for (let [entry] = untold; entry && !signal.aborted && !stdout.isClosed; [entry] = untold) {
      const isWanted = isOutcome(entry) && (!statuses || statuses.includes(String(entry['to'])))
      const about = isWanted ? await lookUp(String(entry['notificationId'])) : null
      untold.shift()
      if (!isWanted || (options['channel'] !== undefined && about?.['channel'] !== options['channel'])) continue
      const { to: _, ...rest } = about ?? {}
      stdout.write(show.isJson ? jsonLine({ ...entry, ...rest }) : lineOf(entry, about, show))
    }
  }

  try {
    // A server that is not there at all ends it; one that goes away later is waited for.
    await look()
    stderr.write(`following outcomes, about ${LOOK_EVERY_MS / 1_000} s behind; Ctrl-C ends it\n`)
    let pauseMs = LOOK_EVERY_MS
    while (!signal.aborted && !stdout.isClosed) {
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) break
      const begunAt = clock.monotonic()
      try {
        untold.push(...(await look()))
        await tell()
        pauseMs = Math.max(LOOK_EVERY_MS, REST * (clock.monotonic() - begunAt))
      } catch (error) {
        const said = isForGood(error) ? null : await describeRefusal(error, server.url)
        if (said === null) throw error
        pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)
        stderr.write(`${said}           it is asked again in ${Math.ceil(pauseMs / 1_000)} s\n`)
      }
    }
    return 0
  } finally {
    stopping.forget()
  }
}

/** A key that was refused stays refused. */
function isForGood(error: unknown): boolean {
  const { status } = error as { status?: number }
  return status !== undefined && status >= 400 && status < 500 && status !== 429
}

/** That a notification came to another status; the call of an attempt is told by what came of it. */
function isOutcome(entry: FollowedEntry): boolean {
  const { notificationId, from, to, action } = entry as ServerRow
  return typeof notificationId === 'string' && typeof to === 'string' && to !== from && action !== 'attempt'
}

const STATUS_WIDTH = 10
const CHANNEL_WIDTH = 9
const TO_WIDTH = 24

function lineOf(entry: FollowedEntry, about: FollowedNotification | null, show: Shown): string {
  const status = textOf(entry['to'])
  const why = entry['reason'] === null ? [] : [`(${textOf(entry['reason'])})`]
  const what = about === null ? [] : [about['eventType'] === null ? '' : textOf(about['eventType']), entityText(about)]
  const who = entry['actor'] === 'system' ? [] : [`by ${textOf(entry['actor'])}`]
  const parts = [
    show.time(entry.at),
    painted(status.padEnd(STATUS_WIDTH), colourOf(status), show),
    fill(textOf(about?.['channel']), CHANNEL_WIDTH),
    fill(about === null ? '–' : addressText(about), TO_WIDTH),
    textOf(entry['tenantId']),
    textOf(entry['notificationId']),
    ...what.filter((text) => text !== '' && text !== '–'),
    ...why,
    ...who,
  ]
  return `${parts.join('  ')}\n`
}

function fill(text: string, width: number): string {
  const kept = cut(text, width)
  return kept + ' '.repeat(Math.max(0, width - widthOf(kept)))
}

export const TAIL_COMMANDS: readonly CommandEntry[] = [
  serverCommand({
    name: 'tail',
    description: 'Follow outcomes live: each notification that comes to another status, as it does.',
    options: [
      { flags: '--status <list>', description: 'only those that come to one of these, such as parked,failed' },
      { flags: '--channel <name>', description: 'only those on this channel' },
    ],
    about:
      'Of the key’s tenant; with an ops key of all tenants, or of --tenant. It asks for the audit once a second, less often where that\ntakes long, and shows each entry once. Where the server goes away it asks again, after up to 30 s. Ctrl-C ends it, exit code 0.',
    examples: ['tail', 'tail --status parked,failed --channel sms', 'tail --tenant acme --json | jq .notificationId'],
    work: follow,
  }),
]

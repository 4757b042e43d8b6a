import type { InboxStore } from '../channels/in_app/inbox-store.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { createBell } from '../runtime/bell.ts'
import type { WakeStore } from '../runtime/wake-store.ts'

/** Whose inbox it is. */
export interface InboxOwner {
  tenantId: string
  userId: string
}

/**
 * Tells streams when there is something new in their inbox. One loop asks the store for all inboxes that are watched, in one
 * statement: at once for those this process changed itself, on hints from other processes, and otherwise now and then,
 * which alone is correct. Nobody watching, nothing is asked.
 */
export interface InboxFeed {
  /** This process has committed a change. A hint, never waited for. */
  changed(inbox: InboxOwner): void
  watch(inbox: InboxOwner): Watch
  /** Resolves when nothing is asked any more. */
  close(): Promise<void>
}

export interface Watch {
  /** Resolves when the inbox is known to be past this revision, after `ms`, or when `stop` aborts. */
  past(revision: number, ms: number, stop: AbortSignal): Promise<void>
  close(): void
}

export interface FeedDeps {
  inbox: Pick<InboxStore, 'revisions'>
  wake: WakeStore
  clock: Clock
  logger: Logger
  /** How often to look without a hint. Default: 1 s. */
  pollMs?: number
}

/** However many hints arrive, all inboxes are looked at no more often than this. */
const QUIET_MS = 20
/** Inboxes asked for in one statement. */
const CHUNK = 1_000

interface Watched extends InboxOwner {
  revision: number
  watchers: number
  /** Those who wait for it to change. */
  waiting: Set<() => void>
}

export function createInboxFeed({ inbox: store, wake, clock, logger, pollMs = 1_000 }: FeedDeps): InboxFeed {
  const watched = new Map<string, Watched>()
  const named = new Set<string>()
  const bell = createBell(clock)
  const closing = new AbortController()
  let isAnyHinted = false
  let running: Promise<void> | null = null

  async function look(inboxes: readonly Watched[]): Promise<void> {
    for (let from = 0; from < inboxes.length; from += CHUNK) {
      const chunk = inboxes.slice(from, from + CHUNK)
      const revisions = await store.revisions(chunk)
      for (const [i, inbox] of chunk.entries()) {
        const revision = revisions[i] ?? 0
        if (revision <= inbox.revision) continue
        inbox.revision = revision
        for (const wakeUp of inbox.waiting) wakeUp()
      }
    }
  }

  async function run(): Promise<void> {
    const unsubscribe = wake.subscribe((topic) => {
      if (topic !== 'inbox') return
      isAnyHinted = true
      bell.ring()
    })
    let lookedAt = clock.monotonic()
    while (watched.size > 0 && !closing.signal.aborted) {
      await bell.wait(Math.max(0, lookedAt + pollMs - clock.monotonic()), closing.signal)
      const isForAll = isAnyHinted || clock.monotonic() - lookedAt >= pollMs
      const keys = isForAll ? [...watched.keys()] : [...named]
      named.clear()
      if (isForAll) {
        isAnyHinted = false
        lookedAt = clock.monotonic()
      }
      try {
        await look(keys.flatMap((key) => watched.get(key) ?? []))
        if (isForAll) await clock.sleep(QUIET_MS, closing.signal)
      } catch (error) {
        logger.warn({ error: String(error) }, 'inboxes could not be looked at; trying again')
        isAnyHinted = true
        bell.ring()
        await clock.sleep(pollMs, closing.signal)
      }
    }
    unsubscribe()
    running = null
  }

  return {
    changed(inbox) {
      wake.notify('inbox')
      const key = keyOf(inbox)
      if (!watched.has(key)) return
      named.add(key)
      bell.ring()
    },

    watch({ tenantId, userId }) {
      const key = keyOf({ tenantId, userId })
      const inbox = watched.get(key) ?? { tenantId, userId, revision: 0, watchers: 0, waiting: new Set() }
      inbox.watchers += 1
      watched.set(key, inbox)
      running ??= run()
      let isOpen = true
      return {
        async past(revision, ms, stop) {
          if (inbox.revision > revision || stop.aborted) return
          const over = new AbortController()
          const end = (): void => over.abort()
          inbox.waiting.add(end)
          stop.addEventListener('abort', end, { once: true })
          await clock.sleep(ms, over.signal)
          stop.removeEventListener('abort', end)
          inbox.waiting.delete(end)
        },
        close() {
          if (!isOpen) return
          isOpen = false
          inbox.watchers -= 1
          if (inbox.watchers > 0) return
          watched.delete(key)
          // The last one out ends the loop.
          if (watched.size === 0) bell.ring()
        },
      }
    },

    async close() {
      closing.abort()
      await running
    },
  }
}

/** A tenant's id has no space, so no two inboxes give one key. */
function keyOf({ tenantId, userId }: InboxOwner): string {
  return `${tenantId} ${userId}`
}

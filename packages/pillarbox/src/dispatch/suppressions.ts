import { addressIdentity } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock, IdSource, Logger } from '../model/ports.ts'
import { addressOf } from '../model/recipient.ts'
import type { Suppression } from '../model/suppression.ts'
import type { Claim } from './dispatch-store.ts'
import type { SuppressionStore } from './suppression-store.ts'
import { whenStoreAnswers } from './when-store-answers.ts'

/** Whom a notification goes to, where it goes to a list; or that it goes to nobody. */
export type Sifted = { targets: string[] | null } | { reason: 'suppressed'; error: string }

/**
 * Which addresses are not to be used, as dispatch needs to know it. A tenant's first suppression on a channel is felt
 * everywhere within `maxAgeMs`; from then on every call is preceded by a look, so a ban and its lifting act at once.
 */
export interface SuppressionBook {
  /** Whether it is known, and was a moment ago, that the tenant has no suppression on the channel: `sift` would leave out nobody. */
  hasNone(tenantId: string, channel: Channel): boolean
  /**
   * Leaves out whoever is suppressed. `targets` are the members of the list it is addressed to, null where it has an
   * address of its own. What is asked in one turn, as by rows claimed together, is one question to the store, and none
   * where the tenant has no suppression on the channel. Rejects only when the store does.
   */
  sift(claim: Pick<Claim, 'tenantId' | 'channel' | 'to'>, targets: readonly string[] | null): Promise<Sifted>
  /**
   * Remembers that the notification's address is dead. While the store is away it is waited for, since the attempt's
   * result could not be written either.
   */
  remember(claim: Pick<Claim, 'tenantId' | 'channel' | 'to' | 'notificationId'>, error: string): Promise<void>
}

/** What is known of one channel of a tenant. */
interface ChannelBans {
  tenantId: string
  channel: Channel
  hasAny: boolean
  readAt: number
  reading: Promise<void> | null
  /** How often a suppression was added here: a reading that began before one must not deny it. */
  added: number
  /** What this turn asks about, and the answer it will get. */
  question: { addresses: Set<string>; answer: Promise<Map<string, Suppression>> } | null
}

export function createSuppressionBook(deps: {
  suppressions: Pick<SuppressionStore, 'insert' | 'any' | 'among'>
  clock: Clock
  ids: IdSource
  logger: Logger
  maxAgeMs: number
}): SuppressionBook {
  const { suppressions, clock, ids, logger, maxAgeMs } = deps
  const pages = new Map<string, ChannelBans>()

  function pageOf(tenantId: string, channel: Channel): ChannelBans {
    const key = `${channel} ${tenantId}`
    const known = pages.get(key)
    if (known) return known
    const fresh = {
      tenantId,
      channel,
      hasAny: false,
      readAt: Number.NEGATIVE_INFINITY,
      reading: null,
      added: 0,
      question: null,
    }
    pages.set(key, fresh)
    return fresh
  }

  async function read(page: ChannelBans): Promise<void> {
    const { readAt, added } = page
    const startedAt = clock.monotonic()
    try {
      const hasAny = await suppressions.any(page.tenantId, page.channel)
      page.hasAny = hasAny || page.added > added
      page.readAt = startedAt
    } catch (error) {
      // What was true a moment ago is good enough until the store is back.
      if (readAt === Number.NEGATIVE_INFINITY) throw error
    } finally {
      page.reading = null
    }
  }

  /** Those of `addresses` that are suppressed, by their identity. */
  async function among(
    tenantId: string,
    channel: Channel,
    addresses: readonly string[],
  ): Promise<ReadonlyMap<string, Suppression>> {
    const page = pageOf(tenantId, channel)
    if (clock.monotonic() - page.readAt >= maxAgeMs) {
      page.reading ??= read(page)
      await page.reading
    }
    if (!page.hasAny) return new Map()
    page.question ??= ask(page)
    for (const address of addresses) page.question.addresses.add(address)
    return page.question.answer
  }

  function ask(page: ChannelBans): NonNullable<ChannelBans['question']> {
    const addresses = new Set<string>()
    const put = async (): Promise<Map<string, Suppression>> => {
      // Whoever asks in the same turn still gets in.
      await Promise.resolve()
      page.question = null
      const found = await suppressions.among(page.tenantId, page.channel, [...addresses])
      return new Map(found.map((suppression) => [suppression.address, suppression]))
    }
    return { addresses, answer: put() }
  }

  return {
    hasNone(tenantId, channel) {
      const { hasAny, readAt } = pageOf(tenantId, channel)
      return !hasAny && clock.monotonic() - readAt < maxAgeMs
    },
    async sift({ tenantId, channel, to }, targets) {
      const address = addressOf(channel, to)
      const asked = targets ?? (address === null ? [] : [address])
      if (asked.length === 0) return { targets: null }
      const banned = await among(tenantId, channel, asked)
      if (banned.size === 0) return { targets: targets && [...targets] }
      const banOf = (each: string) => banned.get(addressIdentity(channel, each))
      const left = asked.filter((each) => !banOf(each))
      if (left.length > 0) return { targets: targets && left }
      const ban = address === null ? undefined : banOf(address)
      return { reason: 'suppressed', error: ban ? notUsed(ban) : nobodyLeft(asked.length) }
    },
    async remember({ tenantId, channel, to, notificationId }, error) {
      const address = addressOf(channel, to)
      if (address === null) return
      const suppression = { tenantId, channel, address, cause: 'dead_address', error, notificationId } as const
      try {
        await whenStoreAnswers(clock, () => suppressions.insert({ id: ids(), ...suppression, createdBy: 'system' }))
      } catch (failure) {
        logger.error({ notificationId, error: String(failure) }, 'a dead address could not be remembered')
        return
      }
      const page = pageOf(tenantId, channel)
      page.added += 1
      page.hasAny = true
    },
  }
}

/** Without the address: whoever may read this may not be one to see it whole. */
function notUsed({ id, cause, createdAt }: Suppression): string {
  const since = new Date(createdAt).toISOString()
  return `the address is suppressed (${cause}, since ${since}): lift suppression ${id} with DELETE /api/suppressions/${id}, then retry`
}

function nobodyLeft(count: number): string {
  return `every address of the recipient list (${count}) is suppressed: see GET /api/suppressions, lift or replace them, then retry`
}

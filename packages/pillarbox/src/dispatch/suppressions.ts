import { addressIdentity } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock, IdSource, Logger } from '../model/ports.ts'
import { addressOf } from '../model/recipient.ts'
import type { Suppression } from '../model/suppression.ts'
import { createTimedCache } from '../runtime/timed-cache.ts'
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
  remember(
    claim: Pick<Claim, 'tenantId' | 'channel' | 'to' | 'notificationId' | 'correlationId'>,
    error: string,
  ): Promise<void>
}

/** What is asked in this turn about one channel of a tenant, and the answer it will get: suppressions by address. */
interface BanQuestion {
  addresses: Set<string>
  answer: Promise<ReadonlyMap<string, Suppression>>
}

export function createSuppressionBook(deps: {
  suppressions: Pick<SuppressionStore, 'insert' | 'any' | 'among'>
  clock: Clock
  ids: IdSource
  logger: Logger
  maxAgeMs: number
}): SuppressionBook {
  const { suppressions, clock, ids, logger, maxAgeMs } = deps
  /** Whether the tenant has any suppression on the channel. */
  const hasAny = createTimedCache({ clock, maxAgeMs, read: (key) => suppressions.any(...placeOf(key)) })
  const questions = new Map<string, BanQuestion>()

  /** Those of `addresses` that are suppressed, by their identity. */
  async function among(key: string, addresses: readonly string[]): Promise<ReadonlyMap<string, Suppression>> {
    const isAny = await hasAny.get(key).catch((error: unknown) => {
      // What was true a moment ago is good enough until the store is back.
      const last = hasAny.last(key)
      if (last === undefined) throw error
      return last
    })
    // A first suppression may have been remembered while the look was under way.
    if (!isAny && !hasAny.last(key)) return new Map()
    const question = questions.get(key) ?? ask(key)
    for (const address of addresses) question.addresses.add(address)
    return question.answer
  }

  function ask(key: string): BanQuestion {
    const addresses = new Set<string>()
    const put = async (): Promise<ReadonlyMap<string, Suppression>> => {
      // Whoever asks in the same turn still gets in.
      await Promise.resolve()
      questions.delete(key)
      const found = await suppressions.among(...placeOf(key), [...addresses])
      return new Map(found.map((suppression) => [suppression.address, suppression]))
    }
    const question = { addresses, answer: put() }
    questions.set(key, question)
    return question
  }

  return {
    hasNone: (tenantId, channel) => hasAny.peek(keyOf(tenantId, channel)) === false,
    async sift({ tenantId, channel, to }, targets) {
      const address = addressOf(channel, to)
      const asked = targets ?? (address === null ? [] : [address])
      if (asked.length === 0) return { targets: null }
      const banned = await among(keyOf(tenantId, channel), asked)
      if (banned.size === 0) return { targets: targets && [...targets] }
      const banOf = (each: string) => banned.get(addressIdentity(channel, each))
      const left = asked.filter((each) => !banOf(each))
      if (left.length > 0) return { targets: targets && left }
      const ban = address === null ? undefined : banOf(address)
      return { reason: 'suppressed', error: ban ? notUsed(ban) : nobodyLeft(asked.length) }
    },
    async remember({ tenantId, channel, to, notificationId, correlationId }, error) {
      const address = addressOf(channel, to)
      if (address === null) return
      const suppression = { tenantId, channel, address, cause: 'dead_address', error, notificationId } as const
      try {
        await whenStoreAnswers(clock, () => suppressions.insert({ id: ids(), ...suppression, createdBy: 'system' }))
      } catch (failure) {
        const fields = { notificationId, correlationId, error: String(failure) }
        logger.error(fields, 'a dead address could not be remembered')
        return
      }
      // A look that began before must not deny it.
      hasAny.outdate(keyOf(tenantId, channel))
      hasAny.set(keyOf(tenantId, channel), true)
    },
  }
}

function keyOf(tenantId: string, channel: Channel): string {
  return `${channel} ${tenantId}`
}

function placeOf(key: string): [tenantId: string, channel: Channel] {
  const [channel, ...tenantId] = key.split(' ')
  return [tenantId.join(' '), channel as Channel]
}

/** Without the address: whoever may read this may not be one to see it whole. */
function notUsed({ id, cause, createdAt }: Suppression): string {
  const since = new Date(createdAt).toISOString()
  return `the address is suppressed (${cause}, since ${since}): lift suppression ${id} with DELETE /api/suppressions/${id}, then retry`
}

function nobodyLeft(count: number): string {
  return `every address of the recipient list (${count}) is suppressed: see GET /api/suppressions, lift or replace them, then retry`
}

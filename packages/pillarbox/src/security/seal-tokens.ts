import type { MessageFilter, SandboxMessage, SandboxVendor } from '../channels/sandbox/vendor.ts'
import { addressIdentity } from '../model/address.ts'
import type { EndedChain, NewNotification, Takeover } from '../model/notification.ts'
import type { Address } from '../model/recipient.ts'
import type { Suppression } from '../model/suppression.ts'
import type { Candidate } from '../operate/operation-store.ts'
import type { NotificationFilter } from '../plan/notification-store.ts'
import type { TakenBatch } from '../plan/plan-store.ts'
import type { Store } from '../store/store.ts'
import { hashedAddress, type TokenSeal } from './token-seal.ts'

interface Addressed {
  tenantId: string
  to: Address
}

/** Addresses on their way into and out of what is written to a disk. Everything else is left as it is. */
function tokenDoor(tokens: TokenSeal) {
  const replaced = <T extends Addressed>(noun: T, change: (tenantId: string, token: string) => string): T => {
    const { deviceToken } = noun.to
    return deviceToken === undefined
      ? noun
      : { ...noun, to: { ...noun.to, deviceToken: change(noun.tenantId, deviceToken) } }
  }
  // One that cannot be opened was tampered with: it is shown as it stands, and no vendor will know it.
  const openText = (tenantId: string, text: string): string => tokens.open(tenantId, text) ?? text
  return {
    openText,
    seal: <T extends Addressed>(noun: T): T => replaced(noun, tokens.seal),
    open: <T extends Addressed>(noun: T): T => replaced(noun, openText),
  }
}

/** What holds nothing in which a token could stand. */
type Plain = string | number | bigint | boolean | symbol | null | undefined | Buffer | Date
type Less = [never, 0, 1, 2, 3, 4, 5, 6]

/** Whether somewhere in it, also in what it takes or answers, there is something to send to. */
type HoldsToken<T, Depth extends number = 7> = [Depth] extends [never]
  ? false
  : T extends Plain
    ? false
    : T extends (...given: infer Given) => infer Answer
      ? HoldsToken<Given[number] | Awaited<Answer>, Less[Depth]>
      : T extends readonly (infer Item)[]
        ? HoldsToken<Item, Less[Depth]>
        : string extends keyof T
          ? HoldsToken<T[keyof T], Less[Depth]>
          : 'deviceToken' extends keyof T
            ? true
            : 'address' extends keyof T
              ? true
              : // What somebody looks for may be one.
                'sealedToken' extends keyof T
                ? true
                : { [Name in keyof T]-?: HoldsToken<T[Name], Less[Depth]> }[keyof T]

type TokenMethods<Part> = {
  [Method in keyof Part]: true extends HoldsToken<Part[Method]> ? Method : never
}[keyof Part]

/**
 * The methods through which a device token comes or goes, by their parts of the store. Each has a line in `withSealedTokens`:
 * where a new one is forgotten, this file does not compile.
 */
export type TokenDoors<Whole> = {
  [Part in keyof Whole as Whole[Part] extends string | ((...given: never[]) => unknown)
    ? never
    : [TokenMethods<Whole[Part]>] extends [never]
      ? never
      : Part]: Pick<Whole[Part], TokenMethods<Whole[Part]>>
}

/**
 * An event's own recipients have no device token, and those in its payload are sealed by the intake; a catalogue has paths
 * to them. `clearTokens` is about those that were not sealed. A person is looked for by the sealed ones.
 */
type Elsewhere = 'events' | 'catalogue' | 'clearTokens' | 'personal'

/** The store, in which device tokens are sealed, as those see it who send to them. */
export function withSealedTokens(store: Store, tokens: TokenSeal): Store {
  const { open, seal, openText } = tokenDoor(tokens)
  const { plan, notifications, dispatch, workers, receipts, suppressions, operations, sites } = store
  const sealFilter = <Filter extends NotificationFilter>(filter: Filter): Filter => {
    const { q, tenantId } = filter
    const isToken = q !== undefined && tenantId !== undefined
    return isToken ? { ...filter, sealedToken: tokens.seal(tenantId, q) } : filter
  }
  const openCandidates = (tenantId: string, found: readonly Candidate[]): Candidate[] =>
    found.map((each) =>
      each.channel === 'push' && each.address !== null ? { ...each, address: openText(tenantId, each.address) } : each,
    )
  const sealNext = <T extends { next: Takeover | null } & Partial<EndedChain>>(noun: T): T => {
    if (!noun.next) return noun.skipped ? { ...noun, skipped: noun.skipped.map(seal) } : noun
    const { passedOver } = noun.next
    return { ...noun, next: { ...seal(noun.next), ...(passedOver && { passedOver: passedOver.map(seal) }) } }
  }
  const sealPlan = <Plan extends { kind: string }>(given: Plan): Plan =>
    'notifications' in given
      ? { ...given, notifications: (given.notifications as readonly NewNotification[]).map(seal) }
      : given
  const sealBatch = <Row, Plan extends { kind: string }>(batch: TakenBatch<Row, Plan>): TakenBatch<Row, Plan> => ({
    ...batch,
    write: (plans) => batch.write(plans.map(sealPlan)),
  })
  const addressAt = ({ tenantId, channel, address }: Pick<Suppression, 'tenantId' | 'channel' | 'address'>): string =>
    channel === 'push' ? tokens.seal(tenantId, address) : address
  const openBan = (ban: Suppression): Suppression =>
    ban.channel === 'push' ? { ...ban, address: openText(ban.tenantId, ban.address) } : ban
  const hashedAt = ({ tenantId, channel, address }: Pick<Suppression, 'tenantId' | 'channel' | 'address'>): string =>
    hashedAddress(tokens, tenantId, addressIdentity(channel, address))
  const doors: TokenDoors<Omit<Store, Elsewhere>> = {
    plan: {
      takeEvents: async (limit, turns) => sealBatch(await plan.takeEvents(limit, turns)),
      takeSchedules: async (limit, turns) => sealBatch(await plan.takeSchedules(limit, turns)),
    },
    notifications: {
      insert: (given) => notifications.insert(given.map(seal)),
      insertByHand: (given, act) => notifications.insertByHand(given.map(seal), act),
      async find(tenantId, id) {
        const found = await notifications.find(tenantId, id)
        return found && open(found)
      },
      async list(filter, page) {
        const found = await notifications.list(sealFilter(filter), page)
        return { ...found, items: found.items.map(open) }
      },
      act({ replacement, correction, ...request }) {
        const { tenantId } = request
        return notifications.act({
          ...request,
          ...(replacement && { replacement: seal({ ...replacement, tenantId }) }),
          ...(correction && { correction: seal(correction) }),
        })
      },
    },
    sites: {
      handOff: (contact, items) =>
        sites.handOff(
          contact,
          items.map((item) => ({ ...item, notification: seal(item.notification) })),
        ),
    },
    operations: {
      causes: (filter, limits) => operations.causes(sealFilter(filter), limits),
      async candidates(filter, page) {
        const found = await operations.candidates(sealFilter(filter), page)
        return { ...found, items: openCandidates(filter.tenantId, found.items) }
      },
      candidatesById: async (tenantId, ids) => openCandidates(tenantId, await operations.candidatesById(tenantId, ids)),
    },
    dispatch: {
      async claim(workerId, lanes) {
        const answer = await dispatch.claim(workerId, lanes)
        return answer.fenced ? answer : { ...answer, claims: answer.claims.map(open) }
      },
      complete: (workerId, completions) => dispatch.complete(workerId, completions.map(sealNext)),
      orphans: async (workerId, held) => (await dispatch.orphans(workerId, held)).map(open),
    },
    workers: {
      takeOver: async (workerId, ttlMs, limit) => (await workers.takeOver(workerId, ttlMs, limit)).map(open),
    },
    receipts: {
      async locate(report) {
        const found = await receipts.locate(report)
        return found && open(found)
      },
      merge: (receipt) => receipts.merge(sealNext(receipt)),
    },
    suppressions: {
      insert: (given) => suppressions.insert({ ...given, address: addressAt(given) }),
      async among(tenantId, channel, addresses) {
        const asked = addresses.map((address) => addressAt({ tenantId, channel, address }))
        const hashed = new Map(addresses.map((address) => [hashedAt({ tenantId, channel, address }), address]))
        const found = await suppressions.among(tenantId, channel, [...asked, ...hashed.keys()])
        return found.map((ban) => {
          const erased = hashed.get(ban.address)
          return erased === undefined ? openBan(ban) : { ...ban, address: addressIdentity(channel, erased) }
        })
      },
      async find(tenantId, id) {
        const found = await suppressions.find(tenantId, id)
        return found && openBan(found)
      },
      async list(tenantId, filter, page) {
        const { address } = filter
        const sealedToken = address === undefined ? {} : { sealedToken: tokens.seal(tenantId, address) }
        const found = await suppressions.list(tenantId, { ...filter, ...sealedToken }, page)
        return { ...found, items: found.items.map(openBan) }
      },
    },
  }
  const parts = Object.entries(doors).map(([name, methods]) => {
    return [name, { ...store[name as keyof typeof doors], ...methods }] as const
  })
  return { ...store, ...Object.fromEntries(parts) }
}

/** The pretend vendor's file is kept as the store is. */
export function sandboxWithSealedTokens(vendor: SandboxVendor, tokens: TokenSeal): SandboxVendor {
  const { open, seal } = tokenDoor(tokens)
  const filterOf = <T extends MessageFilter>(filter: T): T =>
    filter.to === undefined || filter.tenantId === null || (filter.channel ?? 'push') !== 'push'
      ? filter
      : { ...filter, sealedToken: tokens.seal(filter.tenantId, filter.to) }
  const doors: Pick<SandboxVendor, TokenMethods<SandboxVendor>> = {
    accept: (submission, terms) => vendor.accept(seal(submission), terms),
    list: (filter) => vendor.list(filterOf(filter)).map((message): SandboxMessage => open(message)),
    count: (filter) => vendor.count(filterOf(filter)),
    get(tenantId, id) {
      const found = vendor.get(tenantId, id)
      return found && open(found)
    },
    // Whoever looks for a person's messages looks for sealed tokens.
    walk: vendor.walk,
    replace: vendor.replace,
  }
  return { ...vendor, ...doors }
}

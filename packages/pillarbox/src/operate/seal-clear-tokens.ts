import { isDeepStrictEqual } from 'node:util'
import type { EventType } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'
import { escapedKeyPart } from '../model/idempotency.ts'
import { everyRow } from '../model/page.ts'
import { type Address, addressOf } from '../model/recipient.ts'
import { deviceKey } from '../plan/recipients.ts'
import { type ChoreDeps, runChore } from '../runtime/chore.ts'
import type { PayloadSeal } from '../security/payload-seal.ts'
import { SEALED_TOKEN_PREFIX, type TokenSeal } from '../security/token-seal.ts'
import type { Store } from '../store/store.ts'
import {
  CLEAR_TOKEN_TABLES,
  type ClearTokenChange,
  type ClearTokenHints,
  type ClearTokenRow,
  type ClearTokenTable,
} from './clear-token-store.ts'

export interface ClearTokenDeps extends ChoreDeps {
  store: Pick<Store, 'instance' | 'clearTokens' | 'catalogue' | 'tenants'>
  tokens: Pick<TokenSeal, 'seal'>
  payloadSeal: Pick<PayloadSeal, 'sealTokens'>
}

/** Where the pass stands, under this name in the store, so that another process goes on where one was stopped. */
const PROGRESS = 'clear_tokens'
const OVER = 'over'

interface SealingPass {
  table: ClearTokenTable
  after: string | null
  sealed: number
  /** Rows that somebody was changing; another pass comes back to them. */
  left: number
}

const BEGINNING: SealingPass = { table: CLEAR_TOKEN_TABLES[0], after: null, sealed: 0, left: 0 }
/** A payload may be a mebibyte: that many of events are in memory at a time. */
const ROWS: Record<ClearTokenTable, number> = { suppressions: 500, notifications: 500, events: 50 }

/**
 * Seals device tokens that were written before they were sealed: goes once through the tables, a stretch at a time, and
 * remembers after each how far it is. Any number of workers may do it at once. When it is over, nothing is looked at again.
 */
export function runClearTokenSealer(deps: ClearTokenDeps, stop: AbortSignal): Promise<void> {
  let isOver = false
  let paths: Promise<TokenPaths> | null = null
  const pathsOnce = (): Promise<TokenPaths> => (paths ??= tokenPaths(deps.store))
  const work = async (): Promise<boolean> => {
    if (isOver) return false
    const { more, over } = await sealStretch(deps, pathsOnce)
    isOver = over
    return more
  }
  return runChore(deps, { work, trouble: 'device tokens in clear could not be sealed' }, stop)
}

async function sealStretch(
  deps: ClearTokenDeps,
  pathsOnce: () => Promise<TokenPaths>,
): Promise<{ more: boolean; over: boolean }> {
  const { store, logger } = deps
  const stored = await store.instance.settle(PROGRESS, JSON.stringify(BEGINNING))
  if (stored === OVER) return { more: false, over: true }
  const progress = JSON.parse(stored) as SealingPass
  const { table, after } = progress
  const paths: TokenPaths = table === 'events' ? await pathsOnce() : new Map()
  const hints: ClearTokenHints = { sealed: SEALED_TOKEN_PREFIX, types: [...paths.keys()].map(typeOf) }
  const stretch = await store.clearTokens.look(table, after, ROWS[table], hints)
  const changes = stretch.rows.flatMap((row) => changeOf(deps, table, row, paths) ?? [])
  const replaced = changes.length === 0 ? 0 : await store.clearTokens.replace(table, changes)
  const sealed = progress.sealed + replaced
  const left = progress.left + changes.length - replaced
  const next = nextOf({ table, after: stretch.next, sealed, left })
  // Where another worker was quicker, it has written as much.
  await store.instance.change(PROGRESS, stored, next === null ? OVER : JSON.stringify(next))
  if (next !== null) return { more: next.after !== null || next.table !== BEGINNING.table, over: false }
  if (sealed > 0) logger.info({ sealed }, 'device tokens that were kept in clear are sealed')
  return { more: false, over: true }
}

/** Null: it is over. A pass that had to leave rows alone is followed by another, after a pause. */
function nextOf({ table, after, sealed, left }: SealingPass): SealingPass | null {
  if (after !== null) return { table, after, sealed, left }
  const following = CLEAR_TOKEN_TABLES[CLEAR_TOKEN_TABLES.indexOf(table) + 1]
  if (following !== undefined) return { table: following, after: null, sealed, left }
  return left === 0 ? null : { ...BEGINNING, sealed }
}

/** By tenant and type. */
type TokenPaths = ReadonlyMap<string, string[]>

const nameOf = (tenantId: string, type: string): string => JSON.stringify([tenantId, type])

function typeOf(name: string): { tenantId: string; type: string } {
  const [tenantId = '', type = ''] = JSON.parse(name) as string[]
  return { tenantId, type }
}

/** Where the payloads of each type hold device tokens, by what may be published: event types and domain events. */
async function tokenPaths({ tenants, catalogue }: ClearTokenDeps['store']): Promise<TokenPaths> {
  const found = new Map<string, string[]>()
  for await (const { id: tenantId } of everyRow((page) => tenants.list(page))) {
    const types = new Map((await catalogue.eventTypes(tenantId)).map((type) => [type.name, pathsIn(type)]))
    const domainEvents = Object.entries(await catalogue.domainEvents(tenantId))
    const named = domainEvents.map(
      ([name, becomes]) => [name, becomes.flatMap((type) => types.get(type) ?? [])] as const,
    )
    for (const [type, paths] of [...types, ...named]) if (paths.length > 0) found.set(nameOf(tenantId, type), paths)
  }
  return found
}

function pathsIn({ recipients }: EventType): string[] {
  return recipients.flatMap(({ deviceToken }) => deviceToken ?? [])
}

/** What a row becomes; null where it holds no token in clear. */
function changeOf(
  { tokens, payloadSeal }: Pick<ClearTokenDeps, 'tokens' | 'payloadSeal'>,
  table: ClearTokenTable,
  { tenantId, id, text, name, channel }: ClearTokenRow,
  paths: TokenPaths,
): ClearTokenChange | null {
  if (table === 'suppressions') return { tenantId, id, before: text, after: tokens.seal(tenantId, text) }
  if (table === 'events') {
    const payload = JSON.parse(text) as Record<string, unknown>
    const sealed = payloadSeal.sealTokens({ tenantId, id, payload }, paths.get(nameOf(tenantId, name)) ?? [])
    return isDeepStrictEqual(payload, sealed) ? null : { tenantId, id, before: text, after: JSON.stringify(sealed) }
  }
  const to = JSON.parse(text) as Address
  if (to.deviceToken === undefined) return null
  const deviceToken = tokens.seal(tenantId, to.deviceToken)
  const sealed = { ...to, deviceToken }
  // Such a key ended with the token, where it now ends with its hash.
  const part = `:${escapedKeyPart(to.deviceToken)}`
  const before = name.endsWith(part) ? name.slice(0, -part.length) : null
  return {
    tenantId,
    id,
    before: text,
    after: JSON.stringify(sealed),
    address: addressOf(channel as Channel, sealed),
    key: before === null ? name : `${before}:${deviceKey(to.deviceToken)}`,
    spareKey: before === null ? name : `${before}:${deviceToken}`,
  }
}

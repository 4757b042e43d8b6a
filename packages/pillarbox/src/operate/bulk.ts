import { addressIdentity } from '../model/address.ts'
import type { Channel } from '../model/channel.ts'
import { found, invalidBody, PillarboxError } from '../model/errors.ts'
import { type BulkAction, type BulkOptions, movableBy, type Operation, sends } from '../model/operation.ts'
import type { PageOf } from '../model/page.ts'
import type { IdSource } from '../model/ports.ts'
import type { NotificationFilter } from '../plan/notification-store.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'
import type { Candidate, ChosenItem, SteerAction, SteerRequest } from './operation-store.ts'
import type { Operator } from './operator.ts'

/** Choosing very many notifications, and starting and steering what is done to them. `run-operations.ts` does it. */
export interface BulkDeps {
  store: Pick<Store, 'operations' | 'suppressions'>
  snapshots: Pick<TenantSnapshots, 'get'>
  ids: IdSource
}

/** So many are chosen at once; whoever has more takes them in parts. */
export const MOST_CHOSEN = 250_000
/** So many previews of a tenant wait at a time for somebody to start them, and for so long. */
const MOST_PREVIEWS = 20
const PREVIEW_LIFE_MS = 15 * 60_000
/** How many go first where something is sent and nobody says otherwise. */
export const DEFAULT_CANARY = 5
const PAGE_ROWS = 2_000
/** Of each kind; a tenant has few accounts, but errors come from strangers. */
const MOST_GROUPS = 200
const MOST_COUNTED = 10_000

export interface PreviewRequest extends Operator {
  action: BulkAction
  options: BulkOptions
  /** One of the two. */
  filter?: NotificationFilter
  ids?: readonly string[]
}

export interface BulkPreview {
  token: string
  expiresAt: number
  /** How many would be moved, and how many of them may have arrived before. */
  count: number
  possibleDuplicates: number
  /** Those that were selected and cannot be moved. */
  skipped: { why: string; count: number }[]
  by: Record<'channel' | 'accountId' | 'fingerprint', Record<string, number>>
  /** How long sending them takes at their accounts' pace. */
  estimatedSeconds: number
}

/**
 * Chooses notifications, and writes down which and where each of them stands, a page at a time. What moves afterwards is
 * left alone when the operation comes to it.
 */
export async function previewBulk(deps: BulkDeps, request: PreviewRequest): Promise<BulkPreview> {
  const { operations } = deps.store
  const { tenantId, action, ids } = request
  const token = deps.ids()
  const { expiresAt } = await begin(deps, token, request)
  const tally = newTally()
  for await (const page of candidates(deps, request)) {
    const suppressed = action === 'retry' ? await suppressedAmong(deps.store, tenantId, page) : NOBODY
    const chosen = page.flatMap((candidate) => choose(tally, candidate, unmovable(action, candidate, suppressed)))
    if (tally.count > MOST_CHOSEN) {
      await operations.endPreview(token, null)
      throw tooMany()
    }
    await operations.addItems(token, chosen)
  }
  const unknown = ids ? new Set(ids).size - tally.seen : 0
  if (unknown > 0) tally.skipped.set('there is no such notification', unknown)
  await operations.endPreview(token, tally.count)
  const { channel, accountId, fingerprint } = tally
  return {
    token,
    expiresAt,
    count: tally.count,
    possibleDuplicates: tally.possibleDuplicates,
    skipped: [...tally.skipped].map(([why, count]) => ({ why, count })),
    by: { channel: shown(channel), accountId: shown(accountId), fingerprint: shown(fingerprint) },
    estimatedSeconds: sends(action) ? await secondsToSend(deps, tenantId, accountId) : 0,
  }
}

async function begin(
  { store }: BulkDeps,
  id: string,
  { tenantId, actor, action, options }: PreviewRequest,
): Promise<{ expiresAt: number }> {
  const canary = sends(action) ? DEFAULT_CANARY : 0
  const limits = { most: MOST_PREVIEWS, lifeMs: PREVIEW_LIFE_MS }
  const begun = await store.operations.beginPreview({ id, tenantId, action, options, actor, canary }, limits)
  if (begun) return begun
  const detail = `There are ${MOST_PREVIEWS} previews that nobody has started. Start one, or wait until they expire.`
  throw new PillarboxError('rate_limited', detail, { retryAfterSeconds: PREVIEW_LIFE_MS / 1_000 })
}

function tooMany(): PillarboxError {
  const message = `selects more than ${MOST_CHOSEN} notifications: narrow it, for example by from and to, or by fingerprint`
  return invalidBody([{ path: '/filter', message }])
}

async function* candidates(
  { store }: BulkDeps,
  { tenantId, filter, ids }: PreviewRequest,
): AsyncGenerator<readonly Candidate[]> {
  if (ids) {
    yield await store.operations.candidatesById(tenantId, [...new Set(ids)])
    return
  }
  let cursor: string | null = null
  do {
    const page: PageOf<Candidate> = await store.operations.candidates(
      { ...filter, tenantId },
      { limit: PAGE_ROWS, ...(cursor !== null && { cursor }) },
    )
    yield page.items
    cursor = page.nextCursor
  } while (cursor !== null)
}

/** Addresses that are suppressed, as `bannedKey` spells them. */
const NOBODY: ReadonlySet<string> = new Set()

async function suppressedAmong(
  { suppressions }: Pick<Store, 'suppressions'>,
  tenantId: string,
  page: readonly Candidate[],
): Promise<ReadonlySet<string>> {
  const banned = new Set<string>()
  for (const [channel, of] of Map.groupBy(page, (candidate) => candidate.channel)) {
    if (!(await suppressions.any(tenantId, channel))) continue
    const addresses = new Set(of.flatMap(({ address }) => address ?? []))
    for (const { address } of await suppressions.among(tenantId, channel, [...addresses]))
      banned.add(bannedKey(channel, address))
  }
  return banned
}

function bannedKey(channel: Channel, address: string): string {
  return `${channel} ${addressIdentity(channel, address)}`
}

/** Why an action would not move it, as things stand; null: it would. */
function unmovable(
  action: BulkAction,
  { status, isScrubbed, channel, address }: Candidate,
  suppressed: ReadonlySet<string>,
): string | null {
  if (!movableBy(action).includes(status)) return `it is ${status}`
  if (action !== 'retry') return null
  if (isScrubbed) return 'its content held secrets and was removed'
  return address !== null && suppressed.has(bannedKey(channel, address)) ? 'its address is suppressed' : null
}

interface Tally {
  seen: number
  count: number
  possibleDuplicates: number
  skipped: Map<string, number>
  channel: Map<string, number>
  accountId: Map<string, number>
  fingerprint: Map<string, number>
}

function newTally(): Tally {
  const maps = { skipped: new Map(), channel: new Map(), accountId: new Map(), fingerprint: new Map() }
  return { seen: 0, count: 0, possibleDuplicates: 0, ...maps }
}

/** Counts a candidate, and answers it as an item where nothing stands in the way. */
function choose(tally: Tally, candidate: Candidate, why: string | null): ChosenItem[] {
  tally.seen += 1
  if (why !== null) {
    addTo(tally.skipped, why)
    return []
  }
  const { id: notificationId, status, attempt, settledAt, channel, accountId, fingerprint } = candidate
  tally.count += 1
  // The call in doubt of an uncertain one may have arrived.
  if (candidate.possibleDuplicate || status === 'uncertain') tally.possibleDuplicates += 1
  addTo(tally.channel, channel)
  addTo(tally.accountId, accountId ?? 'none')
  if (fingerprint !== null) addTo(tally.fingerprint, fingerprint)
  return [{ place: tally.count, notificationId, status, attempt, settledAt }]
}

const OTHERS = 'others'

/** Of very many different ones the later ones are counted together. */
function addTo(counts: Map<string, number>, key: string): void {
  const counted = counts.has(key) || counts.size < MOST_COUNTED ? key : OTHERS
  counts.set(counted, (counts.get(counted) ?? 0) + 1)
}

/** The commonest by name, and the others together. */
function shown(counts: ReadonlyMap<string, number>): Record<string, number> {
  const { [OTHERS]: others = 0, ...named } = Object.fromEntries(counts)
  const sorted = Object.entries(named).toSorted(([, a], [, b]) => b - a)
  const rest = sorted.slice(MOST_GROUPS).reduce((sum, [, each]) => sum + each, others)
  return { ...Object.fromEntries(sorted.slice(0, MOST_GROUPS)), ...(rest > 0 && { [OTHERS]: rest }) }
}

/** Accounts send side by side: the one that takes longest decides. */
async function secondsToSend(
  { snapshots }: BulkDeps,
  tenantId: string,
  counts: ReadonlyMap<string, number>,
): Promise<number> {
  const { accounts } = await snapshots.get(tenantId)
  const seconds = accounts.map(({ id, pace }) => (pace ? (counts.get(id) ?? 0) / pace.perSecond : 0))
  return Math.ceil(Math.max(0, ...seconds))
}

export interface StartBulk extends Operator {
  token: string
  note?: string
  /** At most so many a second; absent: as fast as it goes. Sending keeps to the accounts' pace anyway. */
  perSecond?: number
  /** Absent: `DEFAULT_CANARY` where something is sent. */
  canary?: number
  graceMs: number
}

/** Starts what a preview chose. The same token again answers the same operation. */
export async function startBulk({ store }: Pick<BulkDeps, 'store'>, request: StartBulk): Promise<Operation> {
  const { tenantId, token: id, actor, note = null, perSecond = null, canary = null, graceMs } = request
  const started = found(await store.operations.start({ tenantId, id, actor, note, perSecond, canary, graceMs }))
  if ('operation' in started) return started.operation
  throw new PillarboxError(
    'preview_expired',
    'The preview is older than 15 minutes, and what it chose may have moved: preview again.',
  )
}

/** Pauses, resumes, cancels or undoes an operation. Once it is answered nothing moves that should not. */
export async function steerOperation({ store }: Pick<BulkDeps, 'store'>, request: SteerRequest): Promise<Operation> {
  const { moved, operation } = found(await store.operations.steer(request))
  if (moved) return operation
  throw new PillarboxError('operation_over', refusalOf(request.action, operation))
}

function refusalOf(action: SteerAction, { status, done }: Operation): string {
  const where = `The operation is ${status}`
  if (action === 'resume') return `${where}; only a paused one can be resumed.`
  if (action !== 'undo') return `${where}; it cannot be ${action === 'pause' ? 'paused' : 'cancelled'} any more.`
  return `${where} and has begun (${done} done): what is sent cannot be taken back. Cancel it to stop the rest; what was discarded can be restored, what was parked retried, each by an operation of its own.`
}

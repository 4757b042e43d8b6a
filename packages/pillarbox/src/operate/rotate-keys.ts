import { SetupError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import { MASTER_KEY, missingKey, readKeyState, turnedTo, writeKeyState } from '../security/key-state.ts'
import type { Keyring } from '../security/keyring.ts'
import { resealTokenKey } from '../security/token-seal.ts'
import type { Store } from '../store/store.ts'
import { type OnProgress, type ResealCounts, resealAll, sumOf } from './reseal.ts'
import type { KeyHolder } from './sealed-store.ts'

export interface RotationDeps {
  store: Pick<Store, 'instance' | 'sealed'>
  /** Has the key to turn to, and all that secrets may be sealed under. */
  ring: Keyring
  clock: Clock
  /** This process, which takes part like every other. */
  self: Omit<KeyHolder, 'keyIds' | 'sealsUnder'>
  timing: RotationTiming
  /** Rows in one batch. */
  rows: number
  onWait(waiting: readonly KeyHolder[]): void
  onProgress: OnProgress
  /** Once everybody seals under the new key, and before anything is re-sealed. */
  onTurned(): Promise<void>
}

export interface RotationTiming {
  /** A process silent for so long is gone. */
  silentMs: number
  /** A process that announces itself this long after the key was named has read that name. */
  patienceMs: number
  /** What was sealed before a process turned has been written so long after. */
  settleMs: number
  pollMs: number
}

export const ROTATION_TIMING: RotationTiming = { silentMs: 30_000, patienceMs: 3_000, settleMs: 5_000, pollMs: 200 }

/** How often somebody else may be quicker with some row before a pass that brings nothing forward is the last. */
const MOST_IDLE_PASSES = 20

/**
 * Brings every secret under master key `to`, while other processes go on sealing and opening.
 *
 *   1. Every running process has the key.                          else it is refused, and nothing has changed
 *   2. The database names it: whatever is sealed from now on is sealed under it. One value, changed at once for all.
 *   3. Every running process has followed.
 *   4. All that is sealed under any other is sealed anew, until a pass finds nothing.
 *   5. The database no longer names the others.
 *
 * It can be killed anywhere and run again: what it finds done stays done. Until step 5 nobody starts without the former
 * keys. Answers what was done in all passes together.
 */
export async function rotateKeys(deps: RotationDeps, to: string): Promise<ResealCounts> {
  const { store, ring, self } = deps
  const announce = (): Promise<void> => store.sealed.announce({ ...self, keyIds: ring.ids(), sealsUnder: to })
  await announce()
  try {
    await untilAll(deps, ({ keyIds }) => keyIds.includes(to), lacking(to))
    const turned = await turn(deps, to)
    ring.use(to)
    await deps.onTurned()
    const others = await untilAll(deps, ({ sealsUnder }) => sealsUnder === to, lagging(to))
    const done = await sweep(deps, others > 0 ? deps.timing.settleMs : 0, announce)
    await resealTokenKey(store, ring)
    await finish(store, turned, to)
    return done
  } finally {
    // Where the store is away, silence will do.
    await store.sealed.leave(self.id).catch(() => {})
  }
}

/** Waits until every process that runs, other than this one, is as it should be; answers how many there are. */
async function untilAll(
  { store, clock, self, timing, onWait }: RotationDeps,
  isReady: (holder: KeyHolder) => boolean,
  refusal: (holders: readonly KeyHolder[]) => SetupError,
): Promise<number> {
  const begunAt = clock.monotonic()
  for (let isFirst = true; ; isFirst = false) {
    const running = (await store.sealed.holders()).filter(
      ({ id, silentForMs }) => id !== self.id && silentForMs <= timing.silentMs,
    )
    const waiting = running.filter((holder) => !isReady(holder))
    if (waiting.length === 0) return running.length
    const elapsedMs = clock.monotonic() - begunAt
    const settled = waiting.filter(({ silentForMs }) => elapsedMs - silentForMs > timing.patienceMs)
    if (settled.length > 0) throw refusal(settled)
    if (isFirst) onWait(waiting)
    await clock.sleep(timing.pollMs)
  }
}

function lacking(to: string): (holders: readonly KeyHolder[]) => SetupError {
  return (holders) =>
    new SetupError(
      `Master key ${to} is not known to ${named(holders)}.`,
      'start it again with the new key in PILLARBOX_MASTER_KEY and the old one in PILLARBOX_FORMER_MASTER_KEYS (with key files: copy the next-….key to its data folder), or stop it; then run "pillarbox keys rotate" again',
    )
}

function lagging(to: string): (holders: readonly KeyHolder[]) => SetupError {
  return (holders) =>
    new SetupError(
      `${named(holders)} does not seal under master key ${to}, though the database says so.`,
      'stop it, or start it again with both keys; then run "pillarbox keys rotate" again to go on',
    )
}

function named(holders: readonly KeyHolder[]): string {
  return holders.map(({ part, host, pid }) => `${part} on ${host} (process ${pid})`).join(', ')
}

/** The database names the new key. Answers the state as it is from now on. */
async function turn({ store: { instance }, ring }: RotationDeps, to: string): Promise<string> {
  for (;;) {
    const known = await instance.settle(MASTER_KEY, to)
    const state = readKeyState(known)
    // Another may have turned to a key that was not here yet when ours were read.
    const refusal = missingKey(state, ring.ids())
    if (refusal) throw refusal
    if (state.current === to) return known
    const turned = writeKeyState(turnedTo(state, to))
    if (await instance.change(MASTER_KEY, known, turned)) return turned
  }
}

/** It no longer names the others, provided that it has been as we left it all the while. */
async function finish({ instance }: Pick<Store, 'instance'>, turned: string, to: string): Promise<void> {
  const finished = writeKeyState({ current: to, former: [] })
  if (await instance.change(MASTER_KEY, turned, finished)) return
  const now = await instance.read(MASTER_KEY)
  if (now === finished) return
  throw new SetupError(
    `Meanwhile another rotation has begun: secrets are to be sealed under ${now}.`,
    'let that one finish, or run "pillarbox keys rotate" again with its keys',
  )
}

/** Pass after pass, until one finds nothing to do; one of them begins no earlier than `settleMs` from now. */
async function sweep(deps: RotationDeps, settleMs: number, announce: () => Promise<void>): Promise<ResealCounts> {
  const { ring, rows, clock, timing, onProgress } = deps
  const sealed = announcing(deps, announce)
  const settledAt = clock.monotonic() + settleMs
  const done = { looked: 0, resealed: 0, byHosts: 0 }
  for (let idle = 0; ; ) {
    const isSettled = clock.monotonic() >= settledAt
    const pass = sumOf(await resealAll({ sealed, ring, rows, isDryRun: false, onProgress }))
    done.looked = Math.max(done.looked, pass.looked)
    done.resealed += pass.resealed
    done.byHosts += pass.byHosts
    if (pass.resealed === 0 && pass.passedOver === 0 && isSettled) return { ...pass, ...done }
    idle = pass.resealed > 0 ? 0 : idle + 1
    if (pass.passedOver > 0 && idle > MOST_IDLE_PASSES)
      throw new SetupError(
        `${pass.passedOver} rows could not be sealed anew, because somebody else holds them.`,
        'look for a transaction that stays open, then run "pillarbox keys rotate" again to go on',
      )
    if (pass.passedOver > 0) await clock.sleep(timing.pollMs)
    else if (pass.resealed === 0) await clock.sleep(Math.max(0, settledAt - clock.monotonic()))
  }
}

/** The store, told now and then on the way that this process still runs. */
function announcing({ store, clock, timing }: RotationDeps, announce: () => Promise<void>): Store['sealed'] {
  let announcedAt = clock.monotonic()
  return {
    ...store.sealed,
    async look(...args) {
      if (clock.monotonic() - announcedAt > timing.silentMs / 3) {
        await announce()
        announcedAt = clock.monotonic()
      }
      return await store.sealed.look(...args)
    },
  }
}

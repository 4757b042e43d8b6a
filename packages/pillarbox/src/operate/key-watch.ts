import { errorText } from '../model/errors.ts'
import type { Clock, Logger } from '../model/ports.ts'
import { type KeyState, MASTER_KEY, readKeyState } from '../security/key-state.ts'
import type { Keyring } from '../security/keyring.ts'
import type { Store } from '../store/store.ts'
import type { KeyHolder } from './sealed-store.ts'

export interface KeyWatchDeps {
  store: Pick<Store, 'instance' | 'sealed'>
  ring: Keyring
  /** Keys that may have turned up since the process began. */
  readKeys(): Promise<readonly Buffer[]>
  clock: Clock
  logger: Logger
  self: Omit<KeyHolder, 'keyIds' | 'sealsUnder'>
  /** How often to look which key is sealed under. */
  lookEveryMs: number
  /** How often to say so, even where nothing has changed. */
  announceEveryMs: number
}

/**
 * A process's part in a rotation of the master key: it says which keys it has and which it seals under, and follows when
 * the database names another. It must have said so once before it reads which one that is (`checkMasterKey`), and seal
 * nothing until then: whoever turns the key waits for everybody who has spoken.
 */
export interface KeyWatch {
  announce(): Promise<void>
  /** Looks until `stop` aborts. Trouble is logged and tried again. */
  run(stop: AbortSignal): Promise<void>
  leave(): Promise<void>
}

export function createKeyWatch(deps: KeyWatchDeps): KeyWatch {
  const { store, ring, clock, logger, self } = deps
  let sealsUnder: string | null = null
  let announcedAt = Number.NEGATIVE_INFINITY
  let announced = ''
  let troubled = ''

  async function announce(): Promise<void> {
    const holder = { ...self, keyIds: ring.ids(), sealsUnder }
    await store.sealed.announce(holder)
    announced = JSON.stringify([holder.keyIds, sealsUnder])
    announcedAt = clock.monotonic()
  }

  async function look(): Promise<void> {
    ring.add(await deps.readKeys())
    const known = await store.instance.read(MASTER_KEY)
    if (known !== null) follow(readKeyState(known))
    const isNews = JSON.stringify([ring.ids(), sealsUnder]) !== announced
    if (isNews || clock.monotonic() - announcedAt >= deps.announceEveryMs) await announce()
  }

  function follow({ current }: KeyState): void {
    if (!ring.use(current)) {
      once(
        `this process does not have master key ${current}, under which secrets are sealed now: give it that key and start it again`,
      )
      return
    }
    if (sealsUnder !== null && sealsUnder !== current)
      logger.info({ from: sealsUnder, to: current }, 'secrets are sealed under another master key from now on')
    sealsUnder = current
    troubled = ''
  }

  function once(trouble: string): void {
    if (trouble !== troubled) logger.error({}, trouble)
    troubled = trouble
  }

  return {
    announce,
    async run(stop) {
      while (!stop.aborted) {
        await look().catch((error: unknown) =>
          once(`which master key to seal under could not be looked up; trying again: ${errorText(error)}`),
        )
        await clock.sleep(deps.lookEveryMs, stop)
      }
    },
    leave: () => store.sealed.leave(self.id),
  }
}

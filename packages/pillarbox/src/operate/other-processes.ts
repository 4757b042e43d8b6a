import type { Logger } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { KeyHolder } from './sealed-store.ts'

export interface OtherProcessesDeps {
  store: Pick<Store, 'engine' | 'sealed'>
  self: Pick<KeyHolder, 'id' | 'host'>
  /** Whether this machine has a process of that number. */
  isRunning(pid: number): boolean
  /** Whoever says nothing for so long does not run any more. */
  silentAfterMs: number
  logger: Logger
}

/**
 * Says so where another Pillarbox has the same SQLite file open. It is no error: an API and a worker may well be two
 * processes, and claims are exclusive between them. But each waits for the other at every write, and mostly it is a second
 * start by mistake. Nothing is locked for it, so one that was killed keeps nobody from starting.
 */
export async function warnOfOtherProcesses(deps: OtherProcessesDeps): Promise<void> {
  const { store, self, logger } = deps
  if (store.engine !== 'sqlite') return
  for (const { id, host, pid, part, silentForMs } of await store.sealed.holders()) {
    if (id === self.id || silentForMs > deps.silentAfterMs || (host === self.host && !deps.isRunning(pid))) continue
    logger.warn(
      { host, pid, part },
      'another process uses this SQLite file: both work, and wait for each other at every write; stop one, or use PostgreSQL',
    )
  }
}

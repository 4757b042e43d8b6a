import type { EngineName } from '../support/engines.ts'
import { openWorld, type World, type WorldOptions } from '../support/world.ts'

/** Short, so that a rescue takes seconds; a call and its flush still fit in twice. */
export const WORKER_TTL_MS = 2_000

/** A world whose processes give each other up within seconds. Nothing runs in it yet. */
export function chaosWorld(engine: EngineName, options: WorldOptions = {}): Promise<World> {
  return openWorld(engine, {
    ...options,
    settings: {
      PILLARBOX_WORKER_TTL: `PT${WORKER_TTL_MS / 1_000}S`,
      PILLARBOX_PROVIDER_TIMEOUT: 'PT0.5S',
      PILLARBOX_SHUTDOWN_GRACE: 'PT5S',
      PILLARBOX_POLL_MAX: 'PT0.2S',
      PILLARBOX_LOG_LEVEL: 'info',
      ...options.settings,
    },
  })
}

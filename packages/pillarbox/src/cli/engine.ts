import type * as engine from '../pillarbox.ts'

export type { Parts, Pillarbox, Started } from '../pillarbox.ts'

/** What the commands need of the composition root. */
export type EngineModule = Pick<typeof engine, 'createPillarbox' | 'openStore'>

/** Loads it when a command runs, so that --help stays quick. */
export async function loadEngine(): Promise<EngineModule> {
  return await import('../pillarbox.ts')
}

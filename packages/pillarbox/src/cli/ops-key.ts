import { join } from 'node:path'
import { writePrivateFile } from '../config/private-file.ts'
import { CLI } from '../model/audit.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { type CommandCall, withStore } from './call.ts'
import type { Started } from './engine.ts'

/**
 * Puts a new ops key where nobody else reads it, and answers where that is. What is printed where nobody looks ends in a log,
 * and logs are read by many.
 */
export function keepOpsKey(dataDir: string, { id, key }: NonNullable<Started['newOpsKey']>): string {
  const path = join(dataDir, `ops-${id}.key`)
  writePrivateFile(path, `${key}\n`)
  return path
}

/** `keys ops`: one more ops key. Those that are there stay valid. */
export function makeOpsKey(call: CommandCall): Promise<number> {
  const { stdout } = call
  return withStore(call, async (store, { config }) => {
    const { issueKey } = await import('../operate/api-keys.ts')
    const ids = createIdSource(call.clock, systemRandom())
    const issued = await issueKey({ store, ids }, { tenantId: null, name: 'pillarbox keys ops', role: 'ops' }, CLI)
    stdout.write(`${stdout.isTerminal ? issued.key : keepOpsKey(config.dataDir, issued)}\n`)
    return 0
  })
}

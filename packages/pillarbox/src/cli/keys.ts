import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { createKeyFiles } from '../config/key-files.ts'
import { masterKeyPath, readMasterKey } from '../config/master-key.ts'
import { SetupError } from '../model/errors.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'
import { type CommandCall, withStore } from './call.ts'
import { retire, rotate } from './rotate.ts'

/**
 * Prints the public key that hosts seal secrets with. Makes no master key: one made here, in the wrong folder, would
 * give a sealing key that no server can open.
 */
export async function printSealingKey(call: CommandCall): Promise<number> {
  const { config } = await call.settle()
  const path = masterKeyPath(config.dataDir)
  const masterKey = config.masterKey ?? (await readMasterKey(path))
  if (!masterKey)
    throw new SetupError(
      `there is no master key: ${path} does not exist`,
      'use the server’s --data-dir or PILLARBOX_MASTER_KEY; the first "pillarbox start" makes one',
    )
  call.stdout.write(`${createPayloadSeal(masterKey).sealingKey}\n`)
  return 0
}

/** `keys rotate` and `keys retire`, on this machine's store and key files. */
export function changeKeys(call: CommandCall, what: 'rotate' | 'retire'): Promise<number> {
  const { clock, options, stdout } = call
  const ids = createIdSource(clock, systemRandom())
  const self = { id: ids(), host: hostname(), pid: process.pid }
  return withStore(call, (store, { config }) => {
    const files = createKeyFiles(config.dataDir, { randomBytes, newId: ids })
    const deps = { config, store, files, clock, randomBytes, self, write: stdout.write }
    return (what === 'rotate' ? rotate : retire)(deps, { isDryRun: options['dryRun'] === true })
  })
}

import type { Config } from '../config/config.ts'
import { masterKeyPath, readMasterKey } from '../config/master-key.ts'
import { createPayloadSeal } from '../security/payload-seal.ts'

export interface KeysDeps {
  config: Pick<Config, 'masterKey' | 'dataDir'>
  write(text: string): void
  complain(text: string): void
}

/**
 * Prints the public key that hosts seal secrets with. Makes no master key: one made here, in the wrong folder, would
 * give a sealing key that no server can open.
 */
export async function printSealingKey({ config, write, complain }: KeysDeps): Promise<number> {
  const path = masterKeyPath(config.dataDir)
  const masterKey = config.masterKey ?? (await readMasterKey(path))
  if (!masterKey) {
    complain(
      `pillarbox: there is no master key: ${path} does not exist\n           → use the server’s --data-dir or PILLARBOX_MASTER_KEY; the first "pillarbox start" makes one\n`,
    )
    return 1
  }
  write(`${createPayloadSeal(masterKey).sealingKey}\n`)
  return 0
}

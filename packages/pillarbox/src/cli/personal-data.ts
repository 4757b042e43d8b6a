import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { masterKeyPath, readMasterKey } from '../config/master-key.ts'
import { checkMasterKey, loadKeyring } from '../config/setup.ts'
import { CLI } from '../model/audit.ts'
import { SetupError } from '../model/errors.ts'
import { erasePerson, exportPerson, type PersonalDeps, type Subject } from '../operate/personal-data.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { createTokenSeal, loadTokenKey, type TokenSeal } from '../security/token-seal.ts'
import type { Store } from '../store/store.ts'
import { type CommandCall, openSandbox, refuseUnknownTenant, stopOnSignal, withStore } from './call.ts'

/** `personal-data export`: one JSON object a line, each a row that is the person's or what of a row names them. */
export function exportPersonalData(call: CommandCall): Promise<number> {
  return withPerson(call, async (deps, tenantId, subject, stop) => {
    let cursor: string | undefined
    do {
      const page = await exportPerson(deps, { tenantId, actor: CLI }, subject, { cursor, mostItems: ITEMS, stop })
      for (const item of page.items) call.stdout.write(`${JSON.stringify(item)}\n`)
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined && !stop.aborted)
    return cursor === undefined ? 0 : stopped(call)
  })
}

const ITEMS = 500

/** `personal-data erase`: also writes a SQLite file anew, however large it is. */
export function erasePersonalData(call: CommandCall): Promise<number> {
  const note = String(call.options['note'])
  return withPerson(call, async (deps, tenantId, subject, stop) => {
    const operator = { tenantId, actor: CLI }
    const options = { note, stop, mostCompactedBytes: Number.POSITIVE_INFINITY }
    const { erased, remains, nextCursor } = await erasePerson(deps, operator, subject, options)
    for (const [table, count] of Object.entries(erased)) call.stdout.write(`  ${table.padEnd(24)}${count} erased\n`)
    if (Object.keys(erased).length === 0) call.stdout.write('nothing was found\n')
    if (nextCursor !== null) return stopped(call)
    for (const { what, why, count } of remains)
      call.stdout.write(`  remains: ${count === undefined ? '' : `${count} `}${what}: ${why}\n`)
    return 0
  })
}

function stopped({ stderr }: CommandCall): number {
  stderr.write('pillarbox: it was stopped before everything was looked at; run it again\n')
  return 1
}

function withPerson(
  call: CommandCall,
  work: (deps: PersonalDeps, tenantId: string, subject: Subject, stop: AbortSignal) => Promise<number>,
): Promise<number> {
  const { options, clock } = call
  const tenantId = String(options['tenant'])
  const { contact, address } = options
  if ((contact === undefined) === (address === undefined)) call.refuse('name the person by --contact or by --address')
  const subject = contact === undefined ? { address: String(address) } : { contactId: String(contact) }
  return withStore(call, async (store, { config }) => {
    await refuseUnknownTenant(store, tenantId)
    const tokens = await tokensOf(store, config, call)
    const sandbox = await openSandbox(config, clock)
    const stopping = stopOnSignal(call)
    try {
      return await work({ store, tokens, clock, ...(sandbox && { sandbox }) }, tenantId, subject, stopping.signal)
    } finally {
      stopping.forget()
      sandbox?.close()
    }
  })
}

/** Marks are made, and device tokens found, with the installation's own key. Makes no master key. */
async function tokensOf(store: Store, config: Config, { clock }: CommandCall): Promise<TokenSeal> {
  const path = masterKeyPath(config.dataDir)
  if (!config.masterKey && !(await readMasterKey(path)))
    throw new SetupError(
      `there is no master key: ${path} does not exist`,
      'use the server’s --data-dir, or its PILLARBOX_MASTER_KEY',
    )
  const ring = await loadKeyring(config, { randomBytes, newId: createIdSource(clock, systemRandom()) })
  await checkMasterKey(store, ring)
  return createTokenSeal(await loadTokenKey(store, ring, randomBytes))
}

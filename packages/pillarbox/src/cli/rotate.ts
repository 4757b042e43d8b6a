import type { Config } from '../config/config.ts'
import { type KeyFiles, readOtherKeys } from '../config/key-files.ts'
import { masterKeyPath } from '../config/master-key.ts'
import { CLI } from '../model/audit.ts'
import { SetupError } from '../model/errors.ts'
import type { Clock } from '../model/ports.ts'
import { type OnProgress, type ResealCounts, resealAll, sumOf } from '../operate/reseal.ts'
import { ROTATION_TIMING, type RotationDeps, type RotationTiming, rotateKeys } from '../operate/rotate-keys.ts'
import type { KeyHolder } from '../operate/sealed-store.ts'
import { type KeyState, MASTER_KEY, missingKey, readKeyState } from '../security/key-state.ts'
import { createKeyring, type Keyring, keyIdOf } from '../security/keyring.ts'
import type { Store } from '../store/store.ts'

export interface RotateDeps {
  config: Pick<Config, 'masterKey' | 'formerMasterKeys' | 'dataDir'>
  store: Pick<Store, 'instance' | 'sealed' | 'audit'>
  files: KeyFiles
  clock: Clock
  randomBytes(count: number): Buffer
  self: Omit<KeyHolder, 'keyIds' | 'sealsUnder' | 'part'>
  write(text: string): void
  timing?: RotationTiming
  /** Rows in one batch. Default: 200. */
  rows?: number
}

const ROWS = 200
/** How often a table that takes long shows how far it is. */
const REPORT_EVERY_MS = 2_000

/** `keys rotate`: brings every secret under the new master key. Answers the exit code. */
export async function rotate(deps: RotateDeps, { isDryRun }: { isDryRun: boolean }): Promise<number> {
  const keys = await readKeys(deps)
  if (isDryRun) return await count(deps, keys, knownTarget(deps.config, keys))
  const target = await targetOf(deps, keys)
  const { ring, masterId, state } = keys
  deps.write(
    state.current === target && state.former.length === 0
      ? `everything new is sealed under master key ${target} already; looking for what is not\n`
      : `from master key ${[state.current, ...state.former].filter((id) => id !== target).join(', ')} to ${target}\n`,
  )
  await recordKeys(deps, 'rotate', { before: [state.current, ...state.former], after: [target] })
  const done = await rotateKeys(
    {
      ...rotationDeps(deps, ring, 'keys rotate'),
      async onTurned() {
        if (deps.config.masterKey !== null || target === masterId) return
        await deps.files.keepMaster()
        await deps.files.promote(target)
      },
    },
    target,
  )
  deps.write(`done: everything is sealed under master key ${target}\n${describeUnreadable(done)}`)
  deps.write(
    'next: give applications that seal secrets themselves the new sealing key ("pillarbox keys sealing"). When all of them\nhave it, and no earlier than a day from now, run "pillarbox keys retire"; until then keep the former key.\n',
  )
  return 0
}

/** `keys retire`: makes sure that nothing needs the former keys any more, and then lets them go. */
export async function retire(deps: RotateDeps, { isDryRun }: { isDryRun: boolean }): Promise<number> {
  const keys = await readKeys(deps)
  const { ring, masterId, state, waiting } = keys
  if (state.current !== masterId || state.former.length > 0)
    throw new SetupError(
      `Not everything is sealed under master key ${masterId} yet.`,
      'run "pillarbox keys rotate" first, until it says that it is done',
    )
  const former = ring.ids().filter((id) => id !== masterId && !waiting.includes(id))
  if (former.length === 0) {
    deps.write(`there are no former keys: everything is sealed under master key ${masterId}\n`)
    return 0
  }
  if (isDryRun) return await count(deps, keys, masterId)
  const { byHosts, ...done } = await rotateKeys(rotationDeps(deps, ring, 'keys retire'), masterId)
  if (byHosts > 0)
    throw new SetupError(
      `${numbered(byHosts, 'value was', 'values were')} sealed by applications with a former sealing key since the last time. They are sealed anew, and the former keys stay.`,
      'give every application the new sealing key ("pillarbox keys sealing"), then run "pillarbox keys retire" again',
    )
  await recordKeys(deps, 'retire', { before: [masterId, ...former], after: [masterId] })
  for (const path of await deps.files.removeFormer(former)) deps.write(`removed ${path}\n`)
  const configured = deps.config.formerMasterKeys.map(keyIdOf)
  if (configured.length > 0)
    deps.write(`nothing is sealed under ${configured.join(', ')}: clear PILLARBOX_FORMER_MASTER_KEYS\n`)
  deps.write(
    `done: only master key ${masterId} is needed; servers that run forget the others when they are started again\n${describeUnreadable({ ...done, byHosts })}`,
  )
  return 0
}

/** Puts on record which master keys are in use by their ids, which tell nothing of the keys. */
function recordKeys(
  { store }: RotateDeps,
  action: 'rotate' | 'retire',
  { before, after }: { before: string[]; after: string[] },
): Promise<void> {
  const subject = `master-key:${after.join(',')}`
  return store.audit.record({
    tenantId: null,
    actor: CLI,
    action,
    subject,
    before: { masterKeys: before },
    after: { masterKeys: after },
  })
}

interface Keys {
  ring: Keyring
  /** Of the one that is configured, or in master.key. */
  masterId: string
  state: KeyState
  /** Of those that wait in the data folder to become the master key. */
  waiting: string[]
}

async function readKeys({ config, store, files }: RotateDeps): Promise<Keys> {
  const master = config.masterKey ?? (await files.master())
  if (!master)
    throw new SetupError(
      `there is no master key: ${masterKeyPath(config.dataDir)} does not exist`,
      'use the server’s --data-dir, or its PILLARBOX_MASTER_KEY',
    )
  const ring = createKeyring(master, await readOtherKeys(config))
  const masterId = keyIdOf(master)
  const state = readKeyState((await store.instance.read(MASTER_KEY)) ?? masterId)
  const refusal = missingKey(state, ring.ids())
  if (refusal) throw refusal
  const waiting = (await files.others()).filter(({ role }) => role === 'next').map(({ id }) => id)
  return { ring, masterId, state, waiting }
}

/** The key to turn to. Where key files are used and all is done, one is made for the purpose. */
async function targetOf({ config, files }: RotateDeps, keys: Keys): Promise<string> {
  const known = knownTarget(config, keys)
  if (known !== null) return known
  const proposed = await files.propose()
  keys.ring.add([proposed])
  return keyIdOf(proposed)
}

/** Null: one has to be made. */
function knownTarget({ masterKey }: RotateDeps['config'], { ring, masterId, state, waiting }: Keys): string | null {
  const isUnderWay = state.current !== masterId || state.former.length > 0
  // It was turned to, and whoever did so had no time left to put it in its place.
  if (isUnderWay) return masterKey === null && waiting.includes(state.current) ? state.current : masterId
  if (masterKey === null) return null
  if (ring.ids().length > 1) return masterId
  throw new SetupError(
    `Everything is sealed under master key ${masterId}, and no other is given.`,
    'make a new one (openssl rand -base64 32): give it in PILLARBOX_MASTER_KEY and the present one in PILLARBOX_FORMER_MASTER_KEYS, to every process and to this command',
  )
}

/** Goes through everything and changes nothing. `to`: null where a key would have to be made. */
async function count(deps: RotateDeps, { ring }: Keys, to: string | null): Promise<number> {
  const { store, write, timing = ROTATION_TIMING } = deps
  const stand = deps.randomBytes(32)
  const target = to ?? keyIdOf(stand)
  if (to === null) ring.add([stand])
  ring.use(target)
  write(`to ${to === null ? 'a new master key' : `master key ${to}`}; nothing is changed\n`)
  const onProgress = reporter(deps, 'would be sealed anew')
  const found = sumOf(
    await resealAll({ sealed: store.sealed, ring, rows: deps.rows ?? ROWS, isDryRun: true, onProgress }),
  )
  const running = (await store.sealed.holders()).filter(({ silentForMs }) => silentForMs <= timing.silentMs)
  for (const { part, host, pid, keyIds } of running)
    if (to !== null && !keyIds.includes(to)) write(`${part} on ${host} (process ${pid}) does not have that key\n`)
  write(`${numbered(found.resealed, 'row', 'rows')} would be sealed anew\n${describeUnreadable(found)}`)
  return 0
}

function rotationDeps(deps: RotateDeps, ring: Keyring, part: string): RotationDeps {
  const { store, clock, self, write, timing = ROTATION_TIMING } = deps
  return {
    store,
    ring,
    clock,
    self: { ...self, part },
    timing,
    rows: deps.rows ?? ROWS,
    onWait: (waiting) =>
      write(`waiting for ${waiting.map((one) => `${one.part} on ${one.host} (process ${one.pid})`).join(', ')}\n`),
    onProgress: reporter(deps, 'sealed anew'),
    onTurned: async () => {},
  }
}

/** A line per table, and now and then one while it takes long; later passes only speak of what they found. */
function reporter({ clock, write }: RotateDeps, what: string): OnProgress {
  const ended = new Set<string>()
  let reportedAt = clock.monotonic()
  return (table, { looked, resealed }, isEnd) => {
    const isLong = clock.monotonic() - reportedAt >= REPORT_EVERY_MS
    const isNews = isEnd ? !ended.has(table) || resealed > 0 : isLong
    if (isEnd) ended.add(table)
    if (!isNews) return
    reportedAt = clock.monotonic()
    const line = `${looked} looked at, ${resealed} ${what}`
    write(`  ${table.replace('_', ' ').padEnd(16)}${line}${isEnd ? '' : ' so far'}\n`)
  }
}

const MOST_SHOWN = 10

function describeUnreadable({ unreadable }: ResealCounts): string {
  if (unreadable.length === 0) return ''
  const shown = unreadable.slice(0, MOST_SHOWN).map(({ table, tenantId, id, problem }) => {
    return `  ${table} ${id} of tenant ${tenantId}: ${problem}\n`
  })
  const rest = unreadable.length > MOST_SHOWN ? `  and ${unreadable.length - MOST_SHOWN} more\n` : ''
  return `could not be opened with these keys, and left alone: ${numbered(unreadable.length, 'row', 'rows')}\n${shown.join('')}${rest}`
}

function numbered(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
}

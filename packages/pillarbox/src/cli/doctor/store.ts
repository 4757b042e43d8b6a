import type { Config } from '../../config/config.ts'
import { readOtherKeys } from '../../config/key-files.ts'
import { masterKeyPath, readMasterKey } from '../../config/master-key.ts'
import { ROTATION_TIMING } from '../../operate/rotate-keys.ts'
import { MASTER_KEY, readKeyState } from '../../security/key-state.ts'
import { keyIdOf } from '../../security/keyring.ts'
import type { Store } from '../../store/store.ts'
import { describeSchema } from '../call.ts'
import { type CheckResult, type DoctorDeps, errorWords, fail, ok, warn } from './finding.ts'
import { checkWork } from './work.ts'

/** What is in the store: its schema, what its secrets are sealed under, and how the work goes. */
export async function checkStore({ config, logger, openStore }: DoctorDeps): Promise<CheckResult[]> {
  const store = await openStore(config, logger)
  try {
    const { found, wanted } = await store.schema()
    const state = found === wanted ? 'ok' : found < wanted ? 'warn' : 'fail'
    const schema: CheckResult = { state, subject: 'schema', found: describeSchema(found, wanted) }
    if (found !== wanted) return [schema]
    const sealed = await checkSealedUnder(config, store)
    const work = await checkWork(store, config).catch((error: unknown) => [
      { subject: 'work', ...fail(`cannot be looked at: ${errorWords(error)}`) },
    ])
    return [schema, ...sealed.map((verdict) => ({ subject: 'sealed', ...verdict })), ...work]
  } finally {
    await store.close()
  }
}

/** Whether the keys here are those that the secrets in the database are sealed under, and where a rotation stands. */
async function checkSealedUnder(config: Config, store: Pick<Store, 'instance' | 'sealed'>): Promise<CheckResult[]> {
  const known = await store.instance.read(MASTER_KEY)
  if (known === null) return []
  const { current, former } = readKeyState(known)
  const key = config.masterKey ?? (await readMasterKey(masterKeyPath(config.dataDir)))
  const restore = 'set PILLARBOX_MASTER_KEY to that key, or restore master.key from your backup'
  if (key === null) return [fail(`under master key ${current}, and there is none here`, restore)]
  const masterId = keyIdOf(key)
  const others = (await readOtherKeys(config)).map(keyIdOf).filter((id) => id !== masterId)
  const ids = [masterId, ...others]
  if (!ids.includes(current))
    return [fail(`under master key ${current}, and the one here is ${ids.join(', ')}`, restore)]
  const missing = former.filter((id) => !ids.includes(id))
  if (missing.length > 0)
    return [
      fail(
        `some still under master key ${missing.join(', ')}, which is not here: a rotation to ${current} is under way`,
        'keep it in PILLARBOX_FORMER_MASTER_KEYS, or its file in the data folder, until the rotation is done',
      ),
    ]
  if (former.length > 0) {
    const found = `a rotation from master key ${former.join(', ')} to ${current} is under way`
    return [warn(found, 'run "pillarbox keys rotate" to finish it'), ...(await checkHolders(store, current))]
  }
  if (current !== masterId) {
    const found = `under master key ${current}, and the one here, ${masterId}, is to replace it`
    const advice = 'run "pillarbox keys rotate" once every process has both keys'
    return [warn(found, advice), ...(await checkHolders(store, masterId))]
  }
  const kept = others.length > 0 ? `; also here: ${others.join(', ')}, until "pillarbox keys retire"` : ''
  return [ok(`under master key ${current}${kept}`)]
}

/** Running processes that would hold a rotation up. */
async function checkHolders(store: Pick<Store, 'sealed'>, keyId: string): Promise<CheckResult[]> {
  const running = (await store.sealed.holders()).filter(({ silentForMs }) => silentForMs <= ROTATION_TIMING.silentMs)
  return running
    .filter(({ keyIds }) => !keyIds.includes(keyId))
    .map(({ part, host, pid }) => {
      const found = `${part} on ${host} (process ${pid}) does not have master key ${keyId}`
      return { subject: 'process', ...warn(found, 'start it again with both keys') }
    })
}

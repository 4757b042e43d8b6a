import { checkSandboxSettings, type Fault, readSandboxSettings } from '../channels/sandbox/settings.ts'
import type { StoredAccount } from '../model/account.ts'
import { type FieldError, found, invalidBody, PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'
import type { Operator } from './operator.ts'

/** How the sandbox accounts of a tenant are told to misbehave, as an operator sees it: one list over all of them. */
export interface ActiveFault {
  account: Pick<StoredAccount, 'id' | 'name' | 'channel'>
  /** Its place among the faults of the account, from 0: they are tried in order. */
  index: number
  fault: Fault
}

interface FaultDeps {
  store: Pick<Store, 'accounts'>
  snapshots: Pick<TenantSnapshots, 'outdate'>
}

export async function listFaults({ accounts }: Pick<Store, 'accounts'>, tenantId: string): Promise<ActiveFault[]> {
  return (await sandboxesOf(accounts, tenantId)).flatMap(({ id, name, channel, settings }) =>
    faultsIn(settings).map((fault, index) => ({ account: { id, name, channel }, index, fault })),
  )
}

/** Adds a fault behind those that the account has. Throws `invalid_body` where the sandbox does not know such a fault. */
export async function addFault(
  deps: FaultDeps,
  { tenantId, actor }: Operator,
  { accountId, fault }: { accountId: string; fault: Record<string, unknown> },
): Promise<void> {
  const account = found(await deps.store.accounts.find(tenantId, accountId))
  if (account.provider !== 'sandbox')
    throw new PillarboxError(
      'in_use',
      `The account "${account.name}" reaches real people: only sandbox accounts have faults.`,
    )
  const before = faultsIn(account.settings)
  const settings = { ...account.settings, faults: [...before, fault] }
  const problems = checkSandboxSettings(settings).map((problem) => placedInFault(problem, before.length))
  if (problems.length > 0) throw invalidBody(problems)
  await save(deps, { tenantId, actor }, account, settings)
}

/** Takes away all faults, or those of one account; answers how many. */
export async function stopFaults(deps: FaultDeps, operator: Operator, accountId?: string): Promise<number> {
  let stopped = 0
  for (const account of await sandboxesOf(deps.store.accounts, operator.tenantId)) {
    const count = faultsIn(account.settings).length
    if (count === 0 || (accountId !== undefined && account.id !== accountId)) continue
    const { faults: _, ...settings } = account.settings
    await save(deps, operator, account, settings)
    stopped += count
  }
  return stopped
}

async function save(
  { store, snapshots }: FaultDeps,
  { tenantId, actor }: Operator,
  { id, status }: StoredAccount,
  settings: Record<string, unknown>,
): Promise<void> {
  found(await store.accounts.update(tenantId, id, { settings }, { actor }))
  // It was paused because its vendor refused its credentials, which may have been a fault.
  if (status === 'paused') await store.accounts.setStatus(id, 'active', null, actor, ['paused'])
  snapshots.outdate(tenantId)
}

async function sandboxesOf(accounts: Store['accounts'], tenantId: string): Promise<StoredAccount[]> {
  return (await accounts.list(tenantId)).filter(({ provider }) => provider === 'sandbox')
}

function faultsIn(settings: Record<string, unknown>): Fault[] {
  const read = readSandboxSettings(settings)
  return 'settings' in read ? read.settings.faults : []
}

/** By the fields of the body in which the fault came. */
function placedInFault({ path, message }: FieldError, index: number): FieldError {
  return { path: path.replace(`/faults/${index}`, '/fault'), message }
}

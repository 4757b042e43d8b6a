import type { StoredAccount } from '../model/account.ts'
import type { Seal, SealedPlace } from './seal.ts'

/** The secrets of an account as its row keeps them. */
export type SealedSecrets = Pick<StoredAccount, 'sealedSecrets' | 'secretNames'>

type AccountRef = Pick<StoredAccount, 'id' | 'tenantId'>

/** Seals them for this one row: they open nowhere else. */
export function sealAccountSecrets(seal: Seal, account: AccountRef, secrets: Record<string, string>): SealedSecrets {
  const secretNames = Object.keys(secrets).sort()
  const sealedSecrets = secretNames.length ? seal.seal(JSON.stringify(secrets), placeOf(account)) : null
  return { secretNames, sealedSecrets }
}

/** Throws when the master key is not the one they were sealed with. */
export function openAccountSecrets(
  seal: Seal,
  account: AccountRef & Pick<StoredAccount, 'sealedSecrets'>,
): Record<string, string> {
  if (account.sealedSecrets === null) return {}
  return JSON.parse(seal.open(account.sealedSecrets, placeOf(account))) as Record<string, string>
}

function placeOf({ tenantId, id }: AccountRef): SealedPlace {
  return { tenantId, table: 'accounts', rowId: id }
}

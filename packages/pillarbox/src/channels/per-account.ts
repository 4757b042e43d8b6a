import type { Account } from '../model/account.ts'

/**
 * What takes some work to make of an account, made once for each time it was read: dispatch hands the same object to
 * every call until it reads the account again, and nobody changes it meanwhile.
 */
export function perAccount<T>(make: (account: Account) => T): (account: Account) => T {
  const made = new WeakMap<Account, { value: T }>()
  return (account) => {
    const known = made.get(account)
    if (known) return known.value
    const value = make(account)
    made.set(account, { value })
    return value
  }
}

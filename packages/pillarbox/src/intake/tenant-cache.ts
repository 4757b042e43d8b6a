import type { Clock } from '../model/ports.ts'

/** Something about a tenant, read at most once per `maxAgeMs`: a change made elsewhere is felt within that time. */
export interface TenantCache<T> {
  get(tenantId: string): Promise<T>
  /** After a change made here, so that the next request already sees it. */
  forget(tenantId: string): void
}

const MAX_TENANTS = 10_000

/** Requests that arrive together share one read; a failed read is not remembered. */
export function createTenantCache<T>(
  clock: Clock,
  maxAgeMs: number,
  read: (tenantId: string) => Promise<T>,
): TenantCache<T> {
  const known = new Map<string, { value: Promise<T>; readAt: number }>()
  return {
    get(tenantId) {
      const entry = known.get(tenantId)
      if (entry && clock.monotonic() - entry.readAt < maxAgeMs) return entry.value
      const value = read(tenantId)
      known.delete(tenantId)
      known.set(tenantId, { value, readAt: clock.monotonic() })
      value.catch(() => void (known.get(tenantId)?.value === value && known.delete(tenantId)))
      for (const oldest of known.keys()) {
        if (known.size <= MAX_TENANTS) break
        known.delete(oldest)
      }
      return value
    },
    forget: (tenantId) => void known.delete(tenantId),
  }
}

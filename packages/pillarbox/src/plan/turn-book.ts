import type { RowRef, TakeTurns } from './plan-store.ts'

/** Whose turn it is in planning: who was served last, and whose rows are planned apart because they take long. */
export interface TurnBook {
  next(kind: RowRef['kind']): TakeTurns
  /** These tenants had rows in a batch, in this order; only those whose first row was decided were served. */
  served(kind: RowRef['kind'], rows: readonly { tenantId: string; isDecided: boolean }[]): void
  setApart(tenantId: string): void
  rejoin(tenantId: string): void
  /** Who is planned apart. */
  apart(): string[]
}

export function createTurnBook(): TurnBook {
  const after: Record<RowRef['kind'], string> = { event: '', schedule: '' }
  const apart = new Set<string>()
  return {
    next: (kind) => ({ after: after[kind], without: [...apart] }),
    served(kind, rows) {
      const seen = new Set<string>()
      for (const { tenantId, isDecided } of rows) {
        if (seen.has(tenantId)) break
        seen.add(tenantId)
        if (!isDecided && seen.size > 1) break
        after[kind] = tenantId
      }
    },
    setApart: (tenantId) => void apart.add(tenantId),
    rejoin: (tenantId) => void apart.delete(tenantId),
    apart: () => [...apart],
  }
}

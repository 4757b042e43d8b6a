export const ROLES = ['publisher', 'viewer', 'operator', 'admin', 'ops'] as const

export type Role = (typeof ROLES)[number]

export interface ApiKey {
  id: string
  /** Null for `ops`, which spans tenants. */
  tenantId: string | null
  name: string
  role: Role
  site: string | null
  ratePerSecond: number | null
  expiresAt: number | null
  revokedAt: number | null
  createdAt: number
  /** To the hour; null: never, or only before this was noted. */
  lastUsedAt: number | null
}

export interface Tenant {
  id: string
  name: string
  defaultLocale: string
  timeZone: string
  settings: Record<string, unknown>
  createdAt: number
}

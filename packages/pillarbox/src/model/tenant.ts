export interface Tenant {
  id: string
  name: string
  defaultLocale: string
  timeZone: string
  settings: Record<string, unknown>
  createdAt: number
}

/** The country that telephone numbers without a country code are taken to be of; null where the tenant names none. */
export function regionOf(tenant: Tenant | null): string | null {
  const region = tenant?.settings['region']
  return typeof region === 'string' ? region : null
}

export interface Tenant {
  id: string
  name: string
  defaultLocale: string
  timeZone: string
  settings: Record<string, unknown>
  createdAt: number
}

/** The setting that the test clock is kept in; nobody sets it but `moveTestClock` of the store. */
export const TEST_CLOCK = 'testClockMs'

/** How far a sandbox tenant's test clock is ahead of the real one. */
export function testClockMs(tenant: Pick<Tenant, 'settings'> | null): number {
  const ahead = tenant?.settings[TEST_CLOCK]
  return typeof ahead === 'number' ? ahead : 0
}

/** The country that telephone numbers without a country code are taken to be of; null where the tenant names none. */
export function regionOf(tenant: Tenant | null): string | null {
  const region = tenant?.settings['region']
  return typeof region === 'string' ? region : null
}

import type { TestTenant } from '../support/tenant.ts'
import type { World } from '../support/world.ts'

/** The payload of the booking system, with the names it may add. */
export const BOOKING = {
  bookingId: 12345,
  guestId: 678,
  listingId: 10,
  bookingStatus: 'Confirmed',
  checkinDate: '2026-03-15T00:00:00Z',
  checkoutDate: '2026-03-17T00:00:00Z',
  guestPhone: '+919876543210',
  guestEmail: 'guest@example.com',
  occurredAtUtc: '2026-02-26T10:00:00Z',
}
export const NAMES = { guestName: 'Guest Example', listingName: 'Cozy Studio' }

/** A tenant of the booking system as the catalogue makes it: in India, with dates as 15-Mar-2026. */
export function atlasTenant(
  world: World,
  channels = ['whatsapp', 'sms', 'email'],
  settings: object = {},
): Promise<TestTenant> {
  return world.tenant({ catalogue: 'atlas', settings, channels })
}

import { readyCatalogues } from '../catalogue/ready.ts'
import { DEFAULT_BREAKER } from '../model/account.ts'
import { CHANNELS } from '../model/channel.ts'
import { isPillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import type { Store } from '../store/store.ts'
import type { Untrusted } from '../untrusted/untrusted.ts'
import { provisionTenant } from './tenants.ts'

const DEMO_TENANT = 'demo'

/**
 * A tenant to try things out with: sandbox accounts on every channel and two event types. Made once; of several
 * processes that start together, each finds what another has already made.
 */
export async function ensureDemo(deps: { store: Store; ids: IdSource; untrusted: Untrusted }): Promise<string> {
  const { store, ids } = deps
  if (!(await store.tenants.find(DEMO_TENANT))) await makeTenant(deps)
  if ((await store.accounts.list(DEMO_TENANT)).length > 0) return DEMO_TENANT
  for (const channel of CHANNELS)
    await store.accounts.insert({
      id: ids(),
      tenantId: DEMO_TENANT,
      channel,
      provider: 'sandbox',
      name: 'sandbox',
      settings: {},
      sealedSecrets: null,
      secretNames: [],
      pace: null,
      retry: null,
      onUnknown: 'resend',
      breaker: { ...DEFAULT_BREAKER },
      priority: 0,
      status: 'active',
      statusReason: null,
    })
  return DEMO_TENANT
}

async function makeTenant(deps: { store: Store; ids: IdSource; untrusted: Untrusted }): Promise<void> {
  try {
    await provisionTenant(
      { ...deps, readyMade: readyCatalogues },
      { id: DEMO_TENANT, name: 'Demo', defaultLocale: 'en', timeZone: 'UTC', settings: {}, catalogue: DEMO_CATALOGUE },
      'system',
    )
  } catch (error) {
    if (!isPillarboxError(error, 'already_exists')) throw error
  }
}

/** Once per event: whoever tries it sends the same line again and wants to see it work. */
const DEMO_CATALOGUE = {
  name: 'demo',
  defaultLocale: 'en',
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      once: 'per-event',
      recipients: [{ phone: 'guestPhone', email: 'guestEmail', name: 'guestName' }],
      delivery: { all: true },
      templates: [
        { channel: 'whatsapp', body: 'Hi {{guestName}}, booking {{bookingId}} is confirmed. See you soon!' },
        { channel: 'sms', body: 'Booking {{bookingId}} is confirmed.' },
        {
          channel: 'email',
          subject: 'Booking {{bookingId}} is confirmed',
          body: '<p>Dear {{guestName}},</p><p>your booking <b>{{bookingId}}</b> is confirmed.</p>',
        },
      ],
    },
    'booking.cancelled': {
      entity: 'booking',
      once: 'per-event',
      recipients: [{ phone: 'guestPhone', email: 'guestEmail', name: 'guestName' }],
      delivery: { fallback: ['whatsapp', 'sms', 'email'] },
      templates: [
        { channel: 'whatsapp', body: 'Hi {{guestName}}, booking {{bookingId}} is cancelled.' },
        { channel: 'sms', body: 'Booking {{bookingId}} is cancelled.' },
        {
          channel: 'email',
          subject: 'Booking {{bookingId}} is cancelled',
          body: 'Dear {{guestName}}, your booking {{bookingId}} is cancelled.',
        },
      ],
    },
  },
}

/** What a small hotel tells its guests, in two languages; every name in it is made up. */
const GUEST = {
  deviceToken: 'guest.device',
  platform: 'guest.platform',

  phone: 'guest.phone',
  email: 'guest.email',
  name: 'guest.name',
  locale: 'guest.locale',
  profileId: 'guest.id',
}

const html = (title: string, text: string): string =>
  `<h2>${title}</h2><p>${text}</p><p style="color:#5b6270">Harbour Rooms, Quay 1</p>`

export const CATALOGUE = {
  name: 'rooms',
  defaultLocale: 'en',
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [GUEST],
      delivery: { channels: ['email', 'whatsapp'] },
      templates: [
        {
          channel: 'email',
          locale: 'en',
          subject: 'Your room is booked ({{bookingId}})',
          body: html(
            'See you soon, {{guest.name}}',
            'Booking <b>{{bookingId}}</b>: {{nights}} nights from {{checkin}}.',
          ),
        },
        {
          channel: 'email',
          locale: 'it',
          subject: 'La tua camera è prenotata ({{bookingId}})',
          body: html(
            'A presto, {{guest.name}}',
            'Prenotazione <b>{{bookingId}}</b>: {{nights}} notti dal {{checkin}}.',
          ),
        },
        {
          channel: 'whatsapp',
          locale: 'en',
          body: 'Hi {{guest.name}}, booking {{bookingId}} is confirmed. See you on {{checkin}}!',
        },
        {
          channel: 'whatsapp',
          locale: 'it',
          body: 'Ciao {{guest.name}}, la prenotazione {{bookingId}} è confermata. A presto!',
        },
      ],
    },
    'booking.reminder': {
      entity: 'booking',
      recipients: [GUEST],
      delivery: { fallback: ['sms', 'email'] },
      timing: { before: 'P1D', field: 'checkin' },
      cancelledBy: ['booking.cancelled'],
      payload: { type: 'object', properties: { checkin: { type: 'string', format: 'date-time' } } },
      templates: [
        { channel: 'sms', locale: 'en', body: 'Tomorrow is the day: your room {{bookingId}} is ready from 15:00.' },
        { channel: 'sms', locale: 'it', body: 'Domani si parte: la camera {{bookingId}} è pronta dalle 15:00.' },
        { channel: 'email', locale: 'en', subject: 'Tomorrow: {{bookingId}}', body: 'Your room is ready from 15:00.' },
      ],
    },
    'booking.cancelled': {
      entity: 'booking',
      recipients: [GUEST],
      delivery: { fallback: ['whatsapp', 'sms', 'email'] },
      templates: [
        { channel: 'whatsapp', locale: 'en', body: 'Booking {{bookingId}} is cancelled. We are sorry to miss you.' },
        { channel: 'sms', locale: 'en', body: 'Booking {{bookingId}} is cancelled.' },
        {
          channel: 'email',
          locale: 'en',
          subject: 'Cancelled: {{bookingId}}',
          body: 'Booking {{bookingId}} is cancelled.',
        },
      ],
    },
    'payment.received': {
      entity: 'booking',
      once: 'per-event',
      recipients: [GUEST],
      delivery: { channels: ['email', 'push'] },
      templates: [
        {
          channel: 'email',
          locale: 'en',
          subject: 'Receipt for {{bookingId}}',
          body: html('Thank you', '{{amount}} were paid for booking {{bookingId}}.'),
        },
        { channel: 'push', locale: 'en', subject: 'Paid', body: '{{amount}} for booking {{bookingId}}.' },
      ],
    },
    'refund.offered': {
      entity: 'booking',
      once: 'per-event',
      approval: true,
      recipients: [GUEST],
      delivery: { channels: ['email'] },
      templates: [
        {
          channel: 'email',
          locale: 'en',
          subject: 'A refund for {{bookingId}}',
          body: 'We would like to give you {{amount}} back.',
        },
      ],
    },
    'login.code': {
      entity: 'booking',
      once: 'per-event',
      recipients: [GUEST],
      secrets: ['code'],
      delivery: { channels: ['sms'] },
      templates: [{ channel: 'sms', locale: 'en', body: '{{code}} is your code. It is good for ten minutes.' }],
    },
    'room.ready': {
      entity: 'booking',
      once: 'per-event',
      recipients: [{ ...GUEST, userId: 'guest.id' }],
      delivery: { channels: ['in_app', 'sms'] },
      templates: [
        { channel: 'in_app', locale: 'en', subject: 'Your room is ready', body: 'Come up: the key is at the desk.' },
        { channel: 'sms', locale: 'en', body: 'Your room {{bookingId}} is ready.' },
      ],
    },
  },
}

/** Every channel through the sandbox; `texts-spare` waits, suspended, to take over. */
export const ACCOUNTS = [
  { channel: 'email', name: 'post' },
  { channel: 'sms', name: 'texts', retry: { delays: ['PT5S', 'PT30S', 'PT20M', 'PT2H'] } },
  { channel: 'sms', name: 'texts-spare', priority: 5 },
  { channel: 'whatsapp', name: 'chat', onUnknown: 'hold', settings: { honoursKeys: false } },
  { channel: 'push', name: 'phones' },
  { channel: 'in_app', name: 'guest-app' },
]

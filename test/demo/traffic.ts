const HOUR = 3_600_000
const DAY = 24 * HOUR

export interface DemoEvent {
  id: string
  type: string
  entity: { type: string; id: string }
  payload: object
  conversation: { type: string; id: string }
}

/** A hotel's week, by chance that repeats itself. */
export interface Traffic {
  /** What the application publishes in the hour that begins then. */
  eventsAt(time: number): DemoEvent[]
  /** What vendors report of a message on this channel. */
  receiptsOf(channel: string): string[]
  /** What an operator does about something that stopped; null: nothing yet. */
  actOf(): { name: string; note: string } | null
}

interface Booking {
  id: string
  guest: Guest
  checkin: number
}

interface Guest {
  id: string
  name: string
  locale: string
  email?: string
  phone?: string
  device?: string
  platform?: 'fcm'
}

const NOTES = {
  retry: ['the sender was approved', 'the guest asked again at the desk', 'the provider says it works again'],
  discard: ['told in person', 'the booking is over'],
}

export function createTraffic(seed: number): Traffic {
  const random = mulberry(seed)
  const bookings: Booking[] = []
  let events = 0

  const event = (type: string, booking: Booking, payload: object = {}): DemoEvent => {
    events += 1
    const entity = { type: 'booking', id: booking.id }
    const facts = { bookingId: booking.id, guest: booking.guest, checkin: new Date(booking.checkin).toISOString() }
    return { id: `${seed}-${events}`, type, entity, payload: { ...facts, ...payload }, conversation: entity }
  }

  function book(time: number): DemoEvent[] {
    const number = bookings.length + 1
    const booking = {
      id: String(2_400 + number),
      guest: guestOf(number, random),
      checkin: time + Math.round(1 + random() * 9) * DAY,
    }
    bookings.push(booking)
    const made = [
      event('booking.confirmed', booking, { nights: 1 + Math.floor(random() * 6) }),
      event('booking.reminder', booking),
    ]
    return random() < 0.6 ? [...made, event('payment.received', booking, { amount: amount(random) })] : made
  }

  return {
    eventsAt(time) {
      const hour = new Date(time).getUTCHours()
      // Nights are quiet, and the evening is when people book.
      const busy = hour < 6 ? 0.15 : hour < 9 ? 0.8 : hour < 17 ? 1.4 : hour < 22 ? 2.4 : 0.6
      const found = Array.from({ length: Math.floor(busy + random()) }, () => book(time)).flat()
      const some = bookings[Math.floor(random() * bookings.length)]
      if (some && random() < 0.5)
        found.push(event('login.code', some, { code: String(100_000 + Math.floor(random() * 900_000)) }))
      if (some && random() < 0.12) found.push(event('booking.cancelled', some))
      if (some && random() < 0.1) found.push(event('refund.offered', some, { amount: amount(random) }))
      if (some && hour > 12 && random() < 0.3) found.push(event('room.ready', some))
      return found
    },
    receiptsOf(channel) {
      if (channel === 'in_app' || channel === 'webhook') return []
      const chance = random()
      if (channel === 'email' && chance < 0.02) return ['bounced']
      if (channel === 'email' && chance < 0.03) return ['delivered', 'complained']
      if (chance < 0.08) return []
      return channel !== 'sms' && chance > 0.5 ? ['delivered', 'read'] : ['delivered']
    },
    actOf() {
      const chance = random()
      if (chance > 0.2) return null
      const name = chance < 0.12 ? 'retry' : 'discard'
      return { name, note: NOTES[name][Math.floor(random() * NOTES[name].length)] ?? '' }
    },
  }
}

/** Some have no telephone and some an address that misbehaves in the sandbox. */
function guestOf(number: number, random: () => number): Guest {
  const odd = random()
  const email =
    odd < 0.04
      ? `guest${number}+bounce@example.com`
      : odd < 0.1
        ? `guest${number}+flaky@example.com`
        : `guest${number}@example.com`
  return {
    id: `guest-${number}`,
    name: `Guest ${number}`,
    locale: random() < 0.3 ? 'it' : 'en',
    email,
    ...(random() < 0.4 && { device: `device-of-guest-${number}`, platform: 'fcm' }),
    ...(random() > 0.12 && { phone: `+1202555${String(100 + (number % 80)).padStart(4, '0')}` }),
  }
}

function amount(random: () => number): string {
  return `${80 + Math.floor(random() * 400)} EUR`
}

/** The same numbers every time: mulberry32. */
function mulberry(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

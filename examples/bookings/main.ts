import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { createTable, move, request } from './bookings.ts'

/**
 * Two bookings in the database of a running `npm start`: one is confirmed, the other one's confirmation fails half-way.
 * The first guest hears of it, the second never does.
 */
const path = process.env['PILLARBOX_DATABASE'] ?? '.pillarbox/pillarbox.db'
if (!existsSync(path)) {
  console.error(`There is no ${path}: run \`npm start\` first, or say in PILLARBOX_DATABASE where its database is.`)
  process.exit(1)
}
const db = new DatabaseSync(path, { timeout: 2_000 })
createTable(db)

const guest = { guestName: 'Guest', guestPhone: '+919876543210', guestEmail: 'guest@example.com' }
const booking = move(db, 'demo', request(db, guest), 'confirmed')
console.log(`Booking ${booking.id} is confirmed, and its event is committed with it.`)

try {
  move(db, 'no-such-place', 0, 'confirmed')
} catch (error) {
  console.log(`Another one failed (${(error as Error).message}): nothing of it was kept.`)
}
db.close()

console.log(`
What the guest received, with the ops key that npm start printed:
  curl -H "authorization: Bearer $KEY" 'http://127.0.0.1:4400/api/sandbox/messages?tenantId=demo'
What Pillarbox knows about the booking:
  curl -H "authorization: Bearer $KEY" 'http://127.0.0.1:4400/api/notifications?tenantId=demo&bookingId=${booking.id}'`)

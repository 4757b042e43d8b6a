import type { DatabaseSync } from 'node:sqlite'
import { fromNodeSqlite, publishSync } from '@pillarbox/client'

/** What the application knows of a booking. */
export interface Booking {
  id: number
  guestName: string
  guestPhone: string
  guestEmail: string
  status: 'requested' | 'confirmed' | 'cancelled'
}

/** The application's own table. It stands in the same database as Pillarbox's, so that one transaction covers both. */
export function createTable(db: DatabaseSync): void {
  db.exec(`create table if not exists bookings (
    id integer primary key, guest_name text not null, guest_phone text not null, guest_email text not null,
    status text not null default 'requested'
  )`)
}

export function request(db: DatabaseSync, guest: Pick<Booking, 'guestName' | 'guestPhone' | 'guestEmail'>): number {
  const { lastInsertRowid } = db
    .prepare('insert into bookings (guest_name, guest_phone, guest_email) values (?, ?, ?)')
    .run(guest.guestName, guest.guestPhone, guest.guestEmail)
  return Number(lastInsertRowid)
}

/**
 * The change and its event commit together, or neither does. Whatever is thrown on the way, by the application as well
 * as by `publishSync`, takes both back.
 */
export function move(db: DatabaseSync, tenantId: string, id: number, to: 'confirmed' | 'cancelled'): Booking {
  db.exec('begin immediate')
  try {
    const row = db.prepare('update bookings set status = ? where id = ? returning *').get(to, id)
    if (!row) throw new Error(`there is no booking ${id}`)
    const booking: Booking = {
      id,
      guestName: String(row['guest_name']),
      guestPhone: String(row['guest_phone']),
      guestEmail: String(row['guest_email']),
      status: to,
    }
    const { status, id: bookingId, ...guest } = booking
    publishSync(fromNodeSqlite(db), {
      tenantId,
      type: `booking.${status}`,
      entity: { type: 'booking', id: String(bookingId) },
      payload: { bookingId, ...guest },
    })
    db.exec('commit')
    return booking
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

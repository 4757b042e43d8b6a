import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { createPillarbox, resolveConfig } from 'pillarbox'
import { until } from '../../test/support/until.ts'
import { createTable, move, request } from './bookings.ts'

const OPS_KEY = 'pbx_ops-key-of-the-example-0123456789'

/** A whole Pillarbox beside the application, on one SQLite file. */
async function setup(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'bookings-'))
  const resolved = resolveConfig({
    flags: {},
    env: { PILLARBOX_PORT: '0', PILLARBOX_DATA_DIR: folder, PILLARBOX_OPS_KEY: OPS_KEY },
    file: null,
    cwd: folder,
  })
  if ('problems' in resolved) assert.fail(JSON.stringify(resolved.problems))
  const pillarbox = await createPillarbox(resolved.config)
  const { url } = await pillarbox.start({ api: true, worker: true })
  const db = new DatabaseSync(join(folder, 'pillarbox.db'), { timeout: 2_000 })
  createTable(db)
  t.after(async () => {
    db.close()
    await pillarbox.stop()
    rmSync(folder, { recursive: true })
  })
  const get = async (path: string): Promise<{ items: Record<string, unknown>[] }> => {
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${OPS_KEY}` } })
    return (await answer.json()) as { items: Record<string, unknown>[] }
  }
  return { db, get }
}

const guest = { guestName: 'Guest', guestPhone: '+919876543210', guestEmail: 'guest@example.com' }

it('tells the guest of a confirmed booking, and of no other', async (t) => {
  const { db, get } = await setup(t)
  const confirmed = request(db, guest)
  const left = request(db, { ...guest, guestEmail: 'left@example.com' })

  move(db, 'demo', confirmed, 'confirmed')
  assert.throws(() => move(db, 'not a tenant!', left, 'confirmed'), { name: 'InvalidEventError' })

  const messages = await until('the sandbox has three messages', async () => {
    const { items } = await get('/api/sandbox/messages?tenantId=demo')
    return items.length >= 3 && items
  })
  assert.deepEqual(new Set(messages.map(({ channel }) => channel)), new Set(['email', 'sms', 'whatsapp']))
  assert.equal(messages.length, 3)
  assert.ok(messages.every((message) => JSON.stringify(message).includes(String(confirmed))))
  assert.deepEqual({ ...db.prepare('select status from bookings where id = ?').get(left) }, { status: 'requested' })
})

it('can be run again and again: each confirmation is told, also of a booking that was confirmed before', async (t) => {
  const { db, get } = await setup(t)
  const booking = request(db, guest)

  for (const to of ['confirmed', 'cancelled', 'confirmed'] as const) move(db, 'demo', booking, to)

  const told = await until('every event is told', async () => {
    const { items } = await get(`/api/events?tenantId=demo&bookingId=${booking}`)
    const counts = items.map((event) => event['counts'] as { sent: number; delivered: number })
    return counts.length === 3 && counts.every(({ sent, delivered }) => sent + delivered > 0) && counts
  })
  // Newest first: two on three channels, and a cancellation on the first of its chain.
  assert.deepEqual(
    told.map(({ sent, delivered }) => sent + delivered),
    [3, 1, 3],
  )
})

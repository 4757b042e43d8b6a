import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { fromPrisma, publish, publishMany } from '../../../packages/client/src/index.ts'
import type { Logger } from '../../../packages/pillarbox/src/model/ports.ts'
import { systemClock } from '../../../packages/pillarbox/src/runtime/system.ts'
import { openPostgres } from '../../../packages/pillarbox/src/store/postgres/open.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres/database.ts'
import { openPrisma, type Prisma } from './prisma.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const event = (id: string) => ({
  id,
  tenantId: 'atlas',
  type: 'booking.confirmed',
  entity: { type: 'booking', id },
  payload: { bookingId: id, guest: 'Zoë "Ada" O’Neill' },
})

describe('publish inside a Prisma transaction', () => {
  let database: FreshDatabase
  let prisma: Prisma

  before(async () => {
    database = await freshDatabase()
    const store = await openPostgres({ url: database.url, clock: systemClock, logger: silent })
    await store.migrate()
    await store.close()
    prisma = await openPrisma(database.url)
    await prisma.$executeRawUnsafe('create table booking (id text primary key, guest text not null)')
  })

  after(async () => {
    await prisma.$disconnect()
    await database.drop()
  })

  const written = async (id: string): Promise<unknown> => {
    const rows = await prisma.$queryRawUnsafe<{ payload: unknown }[]>(
      'select payload from pillarbox.events where id = $1',
      id,
    )
    return rows[0]?.payload
  }

  it('commits the event with the change', async () => {
    await prisma.$transaction(async (tx) => {
      await tx.booking.create({ data: { id: 'kept', guest: 'Ada' } })
      await publish(fromPrisma(tx), event('kept'))
    })

    assert.equal(await prisma.booking.count(), 1)
    assert.deepEqual(await written('kept'), event('kept').payload)
  })

  it('leaves nothing of either after a rollback', async () => {
    const failing = prisma.$transaction(async (tx) => {
      await tx.booking.create({ data: { id: 'undone', guest: 'Ada' } })
      await publish(fromPrisma(tx), event('undone'))
      throw new Error('changed my mind')
    })

    await assert.rejects(failing, /changed my mind/)
    assert.equal(await prisma.booking.count(), 1)
    assert.equal(await written('undone'), undefined)
  })

  it('writes two in one transaction, and a repeated one once', async () => {
    await prisma.$transaction(async (tx) => {
      await publish(fromPrisma(tx), event('first'))
      await publishMany(fromPrisma(tx), [event('second'), event('first')])
    })

    assert.ok(await written('first'))
    assert.ok(await written('second'))
  })
})

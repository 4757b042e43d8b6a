import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { commandLine } from '../../../../test/support/command-line.ts'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { planEvents } from '../../../../test/support/planning.ts'
import { sampleEvent, sampleNotification, silent } from '../../../../test/support/samples.ts'
import type { NewNotification } from '../model/notification.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'

/** A command line over a store in which an email and an SMS about the booking 42 were skipped. */
async function setup(t: TestContext) {
  const cwd = mkdtempSync(join(tmpdir(), 'explain-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  mkdirSync(join(cwd, '.pillarbox'))
  const clock = createManualClock()
  const open = (): Promise<Store> => openSqlite({ path: join(cwd, '.pillarbox/pillarbox.db'), clock, logger: silent })
  const store = await open()
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const ids = createIdSource(clock, systemRandom())
  const entity = { type: 'booking', id: '42' }
  const scheduleId = ids()
  const skipped = (changes: Partial<NewNotification>) =>
    sampleNotification({
      id: ids(),
      eventId: 'event-1',
      entity,
      scheduleId,
      accountId: null,
      provider: null,
      content: null,
      stopped: { status: 'skipped', reason: 'no_active_account', error: 'no account\u001b[2J' },
      ...changes,
    })
  await store.events.insert([sampleEvent({ entity, publishedBy: 'key:shop' })])
  const notifications = [
    skipped({ idempotencyKey: '1' }),
    skipped({ idempotencyKey: '2', channel: 'email', to: { email: 'ada@example.test' } }),
  ]
  await planEvents(store, 1, () => ({ kind: 'notifications', scheduleId, notifications, cancels: null }))
  await store.notifications.insert([skipped({ idempotencyKey: '3', eventId: null, entity: { type: 'trip', id: '1' } })])
  await store.close()

  const { cli, output } = commandLine({ cwd, clock, open })
  const explain = (entityText: string, ...args: string[]): Promise<number> =>
    cli('explain', '--tenant', 'acme', '--entity', entityText, ...args)
  const withCatalogue = async (): Promise<void> => {
    writeFileSync(
      join(cwd, 'shop.yaml'),
      'name: shop\nentities: { booking: bookings, trip: trips }\neventTypes: { booking.over: { entity: booking, delivery: { none: true } } }\n',
    )
    assert.equal(await cli('catalogue', 'import', 'shop.yaml', '--tenant', 'acme', '--yes'), 0)
    Object.assign(output, { stdout: '', stderr: '' })
  }
  return { explain, output, withCatalogue }
}

const WHY = 'skipped, not sent to %. The tenant has no active account for this channel. (no account [2J)'

describe('pillarbox explain', () => {
  it('says what was decided about the events of an entity, and lets nobody move the cursor', async (t) => {
    const { explain, output } = await setup(t)

    assert.equal(await explain('booking:42'), 0)

    const at = '  2026-01-01T00:00:00Z  '
    assert.deepEqual(output.stdout.split('\n'), [
      'booking.confirmed event-1: published',
      `${at}booking.confirmed about booking 42 was published by key:shop.`,
      `${at}It was turned into no notification; 2 were skipped.`,
      `${at}sms: ${WHY.replace('%', '+15***00')}`,
      `${at}email: ${WHY.replace('%', 'a***@example.test')}`,
      '',
    ])
    assert.equal(output.stderr, '')
  })

  it('leaves other channels out where one is asked for', async (t) => {
    const { explain, output } = await setup(t)

    assert.equal(await explain('booking:42', '--channel', 'email'), 0)
    assert.ok(output.stdout.includes('2 were skipped') && output.stdout.includes('email: '))
    assert.ok(!output.stdout.includes('sms: '))
    assert.equal(await explain('booking:42', '--channel', 'pigeon'), 2)
    assert.match(output.stderr, /there is no channel "pigeon"/)
  })

  it('prints the same as JSON', async (t) => {
    const { explain, output } = await setup(t)

    assert.equal(await explain('booking:42', '--json'), 0)

    const [story] = JSON.parse(output.stdout) as {
      id: string
      status: string
      topic: string
      counts: { skipped: number }
      explanation: { recipient?: string }[]
    }[]
    assert.deepEqual(
      [story?.id, story?.status, story?.topic, story?.counts.skipped],
      ['event-1', 'published', 'booking.events', 2],
    )
    assert.deepEqual(story?.explanation[0], {
      at: '2026-01-01T00:00:00.000Z',
      code: 'published',
      text: 'booking.confirmed about booking 42 was published by key:shop.',
    })
    assert.equal(story.explanation[3]?.recipient, 'a***@example.test')
  })

  it('says what to look at where nothing was found', async (t) => {
    const { explain, output, withCatalogue } = await setup(t)
    const said = async (entity: string): Promise<string[]> => {
      output.stderr = ''
      assert.equal(await explain(entity), 1)
      return output.stderr.trimEnd().split('\n').slice(0, -1)
    }
    assert.deepEqual(
      (await said('booking:43')).at(-1),
      '  The tenant has no entities of the type booking. It has no catalogue yet.',
    )
    await withCatalogue()

    assert.deepEqual(await said('bokking:42'), [
      'pillarbox: no event about bokking:42 reached the tenant acme',
      '  The tenant has no entities of the type bokking. Did you mean booking:42? Its catalogue has booking, trip.',
    ])
    assert.deepEqual(await said('booking:43'), [
      'pillarbox: no event about booking:43 reached the tenant acme',
      '  The newest event about a booking is of 2026-01-01T00:00:00.000Z, about booking:42.',
    ])
    assert.match(output.stderr, /Did the application publish it\? publish\(\) belongs in the transaction/)
    assert.equal(await explain('trip:1'), 1)
    assert.match(output.stderr, /There is no event about any trip: does the application publish into this database\?/)
    assert.match(
      output.stderr,
      /sent about it without an event: GET \/api\/notifications\?entityType=trip&entityId=1\n$/,
    )
  })

  it('refuses what is no entity, and a tenant that is not there', async (t) => {
    const { explain, output } = await setup(t)

    for (const entity of ['booking', 'booking:', ':42', '4:2']) assert.equal(await explain(entity), 2, entity)
    assert.match(output.stderr, /--entity must be a type and an id, such as booking:42, not "booking"/)
    assert.equal(await explain('booking:42', '--tenant', 'nobody'), 1)
    assert.match(output.stderr, /there is no tenant "nobody"/)
  })
})

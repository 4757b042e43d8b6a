import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../../../../test/support/postgres/database.ts'
import { startPostgres } from '../../../../../test/support/postgres/launcher.ts'
import { until } from '../../../../../test/support/until.ts'
import type { Logger } from '../../model/ports.ts'
import { systemClock } from '../../runtime/system.ts'
import type { WakeTopic } from '../../runtime/wake-store.ts'
import type { SessionOptions } from './session.ts'
import { openWake } from './wake.ts'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

function optionsFor(url: string): SessionOptions {
  return { url, role: 'wake', clock: systemClock, logger: silent, statementTimeoutMs: 5_000, prepare: true }
}

/** How long the driver tries to reach a server. */
const CONNECT_TIMEOUT_MS = 5_000

/** A listener that can be waited for. */
function ear() {
  const heard: WakeTopic[] = []
  let wake = (): void => {}
  return {
    heard,
    listen: (topic: WakeTopic): void => {
      heard.push(topic)
      wake()
    },
    until: async (count: number): Promise<void> => {
      while (heard.length < count)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    },
  }
}

/** Resolves once `count` sessions of the database listen. */
async function untilListening(url: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await until(`${count} sessions listen`, async () => {
    const { rows } = await client.query(
      `select 1 from pg_stat_activity
        where datname = current_database() and query like 'listen %' and state = 'idle'`,
    )
    return rows.length >= count
  })
  await client.end()
}

describe('wake', () => {
  it('names the lanes of all who hint, unless one does not know its own or they are many', async () => {
    await using database = await freshDatabase()
    const [here, there] = [openWake(optionsFor(database.url)), openWake(optionsFor(database.url))]
    const named: (readonly string[])[] = []
    const other = ear()
    there.subscribe((topic, lanes) => {
      named.push(lanes.toSorted())
      other.listen(topic)
    })
    here.subscribe(() => {})
    await untilListening(database.url, 2)
    const lane = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
    /** The first goes out at once, the others together when the quiet time is over. */
    const hints = async (topic: WakeTopic, ...given: (readonly string[])[]): Promise<readonly string[] | undefined> => {
      const before = named.length
      here.notify(topic, [lane(0)])
      for (const lanes of given) here.notify(topic, lanes)
      await other.until(before + 2)
      return named.at(-1)
    }

    assert.deepEqual(await hints('dispatch', [lane(1)], [lane(2), lane(1)]), [lane(1), lane(2)])
    assert.deepEqual(await hints('events', [lane(1)], []), [])
    assert.deepEqual(
      await hints(
        'inbox',
        Array.from({ length: 21 }, (_, n) => lane(n)),
      ),
      [],
    )
    assert.deepEqual(named[0], [lane(0)])
    await Promise.all([here.close(), there.close()])
  })

  it('leaves alone what in a hint is no lane', async () => {
    await using database = await freshDatabase()
    const here = openWake(optionsFor(database.url))
    const heard: [WakeTopic, readonly string[]][] = []
    const own = ear()
    here.subscribe((topic, lanes) => {
      heard.push([topic, lanes])
      own.listen(topic)
    })
    await untilListening(database.url, 1)
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    for (const payload of ['', 'nothing', "dispatch ' or 1=1", 'events'])
      await client.query('select pg_notify($1, $2)', ['pillarbox', payload])
    await own.until(2)
    await client.end()

    assert.deepEqual(heard, [
      ['dispatch', []],
      ['events', []],
    ])
    await here.close()
  })

  it('reaches other processes and not its own', async () => {
    await using database = await freshDatabase()
    const [here, there] = [openWake(optionsFor(database.url)), openWake(optionsFor(database.url))]
    const [own, other] = [ear(), ear()]
    here.subscribe(own.listen)
    there.subscribe(other.listen)
    await untilListening(database.url, 2)

    here.notify('dispatch')
    await other.until(1)
    there.notify('events')
    await own.until(1)

    assert.deepEqual(other.heard, ['dispatch'])
    assert.deepEqual(own.heard, ['events'])
    assert.deepEqual([here.wasHinted('events'), here.wasHinted('events')], [true, false])
    await Promise.all([here.close(), there.close()])
  })

  it('makes many hints few, and lets the last one through', async () => {
    await using database = await freshDatabase()
    const [here, there] = [openWake(optionsFor(database.url)), openWake(optionsFor(database.url))]
    const other = ear()
    there.subscribe(other.listen)
    here.subscribe(() => {})
    await untilListening(database.url, 2)

    for (let i = 0; i < 1_000; i++) here.notify('dispatch')
    await other.until(2)
    here.notify('events')
    await other.until(3)

    assert.deepEqual(other.heard, ['dispatch', 'dispatch', 'events'])
    await Promise.all([here.close(), there.close()])
  })

  it('sends a hint given before there was a connection', async () => {
    await using database = await freshDatabase()
    const [here, there] = [openWake(optionsFor(database.url)), openWake(optionsFor(database.url))]
    const other = ear()
    there.subscribe(other.listen)
    await untilListening(database.url, 1)

    here.notify('events')
    await other.until(1)

    assert.deepEqual(other.heard, ['events'])
    await Promise.all([here.close(), there.close()])
  })

  it('stops calling a listener that unsubscribed', async () => {
    await using database = await freshDatabase()
    const [here, there] = [openWake(optionsFor(database.url)), openWake(optionsFor(database.url))]
    const [gone, stays] = [ear(), ear()]
    const unsubscribe = there.subscribe(gone.listen)
    there.subscribe(stays.listen)
    here.subscribe(() => {})
    await untilListening(database.url, 2)

    unsubscribe()
    here.notify('events')
    await stays.until(1)

    assert.deepEqual(gone.heard, [])
    await Promise.all([here.close(), there.close()])
  })

  it('listens again after the server was away, and says that hints may have been missed', async () => {
    await using server = await startPostgres()
    const wake = openWake(optionsFor(server.url))
    const other = ear()
    wake.subscribe(other.listen)
    await untilListening(server.url, 1)

    await server.stop()
    wake.notify('events')
    await server.start()
    await other.until(2)

    assert.deepEqual(other.heard, ['events', 'dispatch', 'receipts', 'inbox'])
    await wake.close()
  })

  it('closes at once where there is no server', async () => {
    const wake = openWake(optionsFor('postgres://postgres@127.0.0.1:1/postgres'))
    const other = ear()
    wake.subscribe(other.listen)
    wake.notify('dispatch')
    const begunAt = performance.now()

    await wake.close()

    assert.ok(performance.now() - begunAt < CONNECT_TIMEOUT_MS, 'it waited for a server')
    assert.deepEqual(other.heard, [], 'its own hint is not for its own listeners')
  })
})

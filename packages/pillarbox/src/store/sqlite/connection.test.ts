import assert from 'node:assert/strict'
import { it } from 'node:test'
import { applySettings, localText, openConnection } from './connection.ts'

it('writes the shared form of a statement in the local one', () => {
  assert.equal(
    localText('select $1, $12 from pillarbox.events e join pillarbox.schedules s on s.id = $1'),
    'select ?1, ?12 from pillarbox_events e join pillarbox_schedules s on s.id = ?1',
  )
})

it('prepares a text once, and forgets the oldest when there are too many', () => {
  const connection = openConnection({ path: ':memory:', readOnly: false, now: () => 0 })
  const first = connection.prepare('select 0')
  assert.equal(connection.prepare('select 0'), first)

  for (let i = 1; i <= 500; i++) connection.prepare(`select ${i}`)

  assert.notEqual(connection.prepare('select 0'), first)
  connection.close()
})

it('binds booleans, and tells its time in SQL', () => {
  const connection = openConnection({ path: ':memory:', readOnly: false, now: () => 42 })

  const rows = connection.all('select $1 as yes, $2 as no, pillarbox_now() as now', [true, false])

  assert.deepEqual({ ...rows[0] }, { yes: 1, no: 0, now: 42 })
  connection.close()
})

it('writes so that an answered commit survives a power cut, and references hold', () => {
  const connection = openConnection({ path: ':memory:', readOnly: false, now: () => 0 })

  applySettings(connection)

  const FULL = 2
  assert.equal(connection.db.prepare('pragma synchronous').get()?.['synchronous'], FULL)
  assert.equal(connection.db.prepare('pragma foreign_keys').get()?.['foreign_keys'], 1)
  connection.close()
})

it('never waits for a lock inside the thread', () => {
  const connection = openConnection({ path: ':memory:', readOnly: false, now: () => 0 })

  assert.equal(connection.db.prepare('pragma busy_timeout').get()?.['timeout'], 0)
  connection.close()
})

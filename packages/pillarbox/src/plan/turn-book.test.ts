import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTurnBook } from './turn-book.ts'

it('the turn goes on behind the last tenant whose first row was decided, for each kind of row', () => {
  const turns = createTurnBook()
  const row = (tenantId: string, isDecided = true) => ({ tenantId, isDecided })

  turns.served('event', [row('b'), row('c'), row('a'), row('b'), row('c', false)])
  turns.served('schedule', [row('b'), row('c', false), row('a', false)])

  assert.deepEqual(turns.next('event'), { after: 'a', without: [] })
  assert.deepEqual(turns.next('schedule'), { after: 'b', without: [] })
})

it('the turn goes on where nothing was decided, so that nobody keeps it', () => {
  const turns = createTurnBook()

  turns.served('event', [{ tenantId: 'a', isDecided: false }])

  assert.equal(turns.next('event').after, 'a')
})

it('a tenant that is planned apart is left out until it joins again', () => {
  const turns = createTurnBook()
  turns.setApart('slow')
  turns.setApart('slow')
  assert.deepEqual([turns.next('event').without, turns.apart()], [['slow'], ['slow']])

  turns.rejoin('slow')

  assert.deepEqual(turns.apart(), [])
})

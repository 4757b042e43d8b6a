import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../../../../../test/support/postgres/database.ts'
import { jsonArray, plainArray, storable, textArray, wholeArray } from './arrays.ts'

it('brings every value through PostgreSQL unchanged', async () => {
  const text = [
    '',
    'null',
    'NULL',
    'a,b',
    '{x}',
    '"quoted"',
    'back\\slash',
    "it's",
    ' spaces ',
    'line\nbreak',
    '☃',
    null,
  ]
  const json = [{ a: '"\\' }, [], 'null', 0, null]
  await using database = await freshDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()

  const { rows } = await client.query(
    'select $1::text[] as text, $2::json[] as json, $3::int[] as plain, $4::int[] as whole',
    [textArray(text), jsonArray(json), plainArray([1, null, -3]), wholeArray([1.4, 2.5, -1, 9e15])],
  )
  await client.end()

  assert.deepEqual(rows, [{ text, json, plain: [1, null, -3], whole: [1, 3, 0, 2_147_483_647] }])
})

it('replaces what PostgreSQL cannot store', () => {
  assert.equal(textArray(['a\0b']), '{"a\u{fffd}b"}')
  assert.equal(storable('\0'), '\u{fffd}')
  assert.equal(storable('plain'), 'plain')
})

it('writes no elements as an empty array', () => {
  assert.deepEqual([plainArray([]), textArray([]), jsonArray([]), wholeArray([])], ['{}', '{}', '{}', '{}'])
})

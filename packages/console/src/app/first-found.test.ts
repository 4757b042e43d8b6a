import assert from 'node:assert/strict'
import { it } from 'node:test'
import { firstFound } from './first-found.ts'

const PAGES: Record<string, { items: string[]; nextCursor: string | null }> = {
  begin: { items: [], nextCursor: 'a' },
  a: { items: [], nextCursor: 'b' },
  b: { items: ['late'], nextCursor: 'c' },
}

it('goes on behind pages on which nothing was found, up to the first that has something', async () => {
  const asked: (string | undefined)[] = []
  const read = async (cursor: string | undefined) => {
    asked.push(cursor)
    return PAGES[cursor ?? 'begin'] ?? assert.fail()
  }

  assert.deepEqual(await firstFound(read), { items: ['late'], nextCursor: 'c' })
  assert.deepEqual(asked, [undefined, 'a', 'b'])
})

it('ends where the list does, and after some pages where it does not', async () => {
  assert.deepEqual(await firstFound(async () => ({ items: [], nextCursor: null })), { items: [], nextCursor: null })
  let count = 0
  const { nextCursor } = await firstFound(async () => ({ items: [], nextCursor: String(++count) }))
  assert.deepEqual([count, nextCursor], [10, '10'])
})

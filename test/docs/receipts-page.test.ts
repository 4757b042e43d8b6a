import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { it } from 'node:test'
import { receiptsPage } from './receipts-page.ts'

const REFERENCE = new URL('../../docs/reference/receipts.md', import.meta.url)
const UPDATE = 'UPDATE_DOCS=1 npm run test:file -- test/docs/receipts-page.test.ts'

if (process.env['UPDATE_DOCS'] === '1') writeFileSync(REFERENCE, receiptsPage())

it('keeps docs/reference/receipts.md equal to the tables', () => {
  assert.equal(readFileSync(REFERENCE, 'utf8'), receiptsPage(), `receipts.md is out of date: ${UPDATE}`)
})

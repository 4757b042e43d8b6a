import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { WIRE_FILE, wireTypes } from './generate.ts'

it('the client’s HTTP types are those of the OpenAPI document; `npm run client-types` makes them so', async () => {
  assert.equal(readFileSync(WIRE_FILE, 'utf8'), await wireTypes())
})

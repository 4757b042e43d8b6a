import assert from 'node:assert/strict'
import { it } from 'node:test'
import { traceparentOf } from './trace.ts'

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

it('takes a trace as the standard writes it, and nothing else', () => {
  assert.equal(traceparentOf(TRACE), TRACE)
  const wrong = [
    undefined,
    '',
    TRACE.toUpperCase(),
    `${TRACE}\r\nx: y`,
    TRACE.replace('00-', 'ff-'),
    TRACE.replace(/0af\w+/, '0'.repeat(32)),
    TRACE.replace(/b7ad\w+/, '0'.repeat(16)),
    [TRACE, TRACE],
  ]
  for (const header of wrong) assert.equal(traceparentOf(header), null, String(header))
})

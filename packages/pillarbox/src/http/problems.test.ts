import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { ERRORS, type ErrorCode, PillarboxError } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import { openFixture } from './fixture.ts'
import { problemOf, rawProblem } from './problems.ts'

const CODES = Object.keys(ERRORS) as ErrorCode[]

describe('problems', () => {
  it('are the list in docs/reference/errors.md, status and title included', async () => {
    const page = await readFile(new URL('../../../../docs/reference/errors.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
      ([, code, status, title]) => `${code} ${status} ${title}`,
    )

    assert.deepEqual(
      documented,
      CODES.map((code) => `${code} ${ERRORS[code].status} ${ERRORS[code].title}`),
    )
  })

  for (const code of CODES)
    it(`has everything RFC 9457 asks for as ${code}`, () => {
      const problem = problemOf(new PillarboxError(code, 'What happened.'), 'r1')

      assert.equal(problem.type, `urn:pillarbox:problem:${code}`)
      assert.equal(problem.status, ERRORS[code].status)
      assert.equal(problem.requestId, 'r1')
      assert.ok(problem.title.length > 0 && problem.detail.length > 0)
      assert.match(
        rawProblem(new PillarboxError(code, 'x'), {}, 'r1'),
        new RegExp(`^HTTP/1.1 ${problem.status} [\\x20-\\x7e]+\\r\\n`),
      )
    })

  it('show nothing of a fault of ours, and leave it in the log without secrets', async (t) => {
    const f = await openFixture({ wrapStore: broken(new Error('select * from t; password=hunter2 a@example.test')) })
    t.after(() => f.app.close())

    const answer = await f.call(f.opsKey, 'GET', '/ops/outbox')

    assert.equal(answer.statusCode, 500)
    assert.equal(answer.json().code, 'internal')
    for (const leak of ['select', 'hunter2', 'example.test', '.ts', 'Error'])
      assert.ok(!answer.body.includes(leak), answer.body)
    const logged = f.log.find((line) => line.startsWith('request failed')) ?? ''
    assert.ok(logged.includes(answer.json().requestId) && logged.includes('select'))
    assert.ok(!logged.includes('hunter2') && !logged.includes('a@example.test'), logged)
  })

  it('ask for patience while the database cannot be reached', async (t) => {
    const f = await openFixture({ wrapStore: broken(new PillarboxError('store_unavailable', 'It is away.')) })
    t.after(() => f.app.close())

    const answer = await f.call(f.opsKey, 'GET', '/ops/outbox')

    assert.equal(answer.statusCode, 503)
    assert.equal(answer.headers['retry-after'], '1')
    assert.equal(answer.headers['content-type'], 'application/problem+json')
    assert.equal(answer.json().code, 'store_unavailable')
  })
})

function broken(error: Error): (store: Store) => Store {
  return (store) => ({ ...store, events: { ...store.events, list: () => Promise.reject(error) } })
}

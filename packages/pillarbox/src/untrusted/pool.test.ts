import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { recordingMeters } from '../../../../test/support/samples.ts'
import { until } from '../../../../test/support/until.ts'
import type { Channel } from '../model/channel.ts'
import type { Clock } from '../model/ports.ts'
import { systemClock } from '../runtime/system.ts'
import { createAllowance } from './allowance.ts'
import { ITEM_MS } from './limits.ts'
import { createPool } from './pool.ts'
import type { Tasks } from './tasks.ts'
import { createUntrustedInProcess, NO_TIME, PLANNING, REFUSED, type WorkResult } from './untrusted.ts'

const logged: string[] = []
const log = (_fields: unknown, message: string): void => void logged.push(message)
const logger = { debug: log, info: log, warn: log, error: log }
const meters = recordingMeters()
const pool = createPool({ clock: systemClock, logger, meters, size: 2 })
after(() => pool.close())

const options = {
  locale: 'en',
  timeZone: 'UTC',
  dateFormat: 'medium',
  missing: 'empty' as const,
  dateFields: new Map(),
  knownPaths: null,
}

/** For a child: what is plain is not asked of one. */
function words(text: string, tenantId = 'acme', context: Record<string, unknown> = {}): Tasks['preview']['given'] {
  const channel: Channel = 'webhook'
  const body = `{% comment %}not plain{% endcomment %}${text}`
  return { tenantId, template: { subject: null, body, providerTemplate: null }, channel, context, options }
}

/** A list of 2,048 texts of 40,000 characters: 61 KB of template, and nothing yet that takes long. */
const MANY =
  `{% capture s %}${'Ab'.repeat(20_000)}{% endcapture %}{% assign a = s | split: "zzz" %}` +
  '{% assign a = a | concat: a %}'.repeat(11)
const SORTS = MANY + '{% assign b = a | sort_natural %}'.repeat(100)
const SENTENCES = MANY + '{% assign z = a | array_to_sentence_string | size %}'.repeat(100)
/** Keeps hundreds of texts of 82 MB. */
const LONG_TEXTS = MANY + '{% assign k = a | array_to_sentence_string | concat: k %}'.repeat(200)

const slowPattern = {
  rules: {
    payload: { type: 'object', properties: { a: { type: 'string', pattern: '^(?:a|a){25}b$' } } },
    secrets: [],
  },
  payload: { a: 'a'.repeat(25) },
}
/** A list of 1,000 that is compared with itself so many times. */
function listsOf(times: number): Tasks['checkPayload']['given'] {
  const allOf = Array.from({ length: times }, () => ({ uniqueItems: true, maxItems: 1_000 }))
  return {
    tenantId: 'lists',
    rules: { payload: { type: 'object', properties: { a: { type: 'array', allOf } } }, secrets: [] },
    payload: { a: Array.from({ length: 1_000 }, (_, i) => ({ i })) },
  }
}
const slowCatalogue = {
  name: 'slow',
  eventTypes: {
    harmless: { entity: 'x', payload: { type: 'object' }, recipients: [{ phone: 'p' }] },
    slow: {
      entity: 'x',
      recipients: [{ phone: 'p' }],
      payload: {
        type: 'object',
        properties: { a: { allOf: Array.from({ length: 1_500 }, (_, i) => ({ contains: { const: i } })) } },
      },
    },
  },
}

/** Takes a sixth of what it may. */
const SOME_LISTS = listsOf(2)

function stoppedOf(results: readonly WorkResult[]): string[] {
  return results.map((result) => ('stopped' in result ? result.stopped : 'it was answered'))
}

describe('the pool', () => {
  it('answers as the same code does in this process', async () => {
    const given = [
      words('Hello {{name}}, {{ when | date: "%d.%m.%Y" }}', 'acme', { name: 'Ada', when: '2026-03-15' }),
      words('{% if %}'),
    ]

    assert.deepEqual(
      await pool.run('preview', given, 'acme'),
      await createUntrustedInProcess().run('preview', given, 'acme'),
    )
  })

  it('answers for items that have words, options or a payload in common, and for catalogues, as this process does', async () => {
    const context = { guest: { name: 'Ada' }, when: '2026-03-15T09:30:00Z', lines: ['a\nb', '\u2028', '\ud800'] }
    const shared = words('{{guest.name}}: {{when}}, {{lines[0]}}, {{lines[2]}}, {{recipient.name}}', 'acme', context)
    const dated = { ...options, dateFields: new Map([['when', 'date-time' as const]]) }
    const to = (name: string) => ({ own: { now: 0, supplied: { recipient: { name } } } })
    const given = [
      { ...shared, options: dated, ...to('Ada') },
      { ...shared, options: dated, ...to('Bo') },
      { ...words('{{x}}', 'acme', { x: 1 }), ...to('Cy') },
      { ...shared, options: dated, context: { ...context, when: '2027-01-01T00:00:00Z' } },
    ]
    const text = JSON.stringify(slowCatalogue.eventTypes.harmless)
    const here = createUntrustedInProcess()

    assert.deepEqual(await pool.run('render', given, 'acme'), await here.run('render', given, 'acme'))
    for (const value of [{ name: 'one', eventTypes: { harmless: slowCatalogue.eventTypes.harmless } }, { name: 1 }]) {
      const asked = [{ tenantId: 'acme', value }]
      assert.deepEqual(await pool.run('parseCatalogue', asked, 'acme'), await here.run('parseCatalogue', asked, 'acme'))
    }
    const document = [{ tenantId: 'acme', text: `name: one\neventTypes:\n  harmless: ${text}\n` }]
    assert.deepEqual(
      await pool.run('readCatalogueText', document, 'acme'),
      await here.run('readCatalogueText', document, 'acme'),
    )
  })

  it('stops what takes too long or too much memory, says which limit it was, and answers others meanwhile', async () => {
    const hostile: [string, Promise<WorkResult[]>, RegExp][] = [
      ['sort_natural', pool.run('preview', [words(SORTS)], 'acme'), /^limit exceeded: it takes more than/],
      ['sentences', pool.run('preview', [words(SENTENCES)], 'acme'), /^limit exceeded: it takes more than/],
      [
        'a pattern',
        pool.run('checkPayload', [{ tenantId: 'acme', ...slowPattern }], 'acme'),
        /^limit exceeded: it takes more than 250 ms of processor time$/,
      ],
      [
        'unique items',
        pool.run('checkPayload', [listsOf(300)], 'acme'),
        /^limit exceeded: it takes more than 250 ms of processor time$/,
      ],
      [
        'a catalogue',
        pool.run('parseCatalogue', [{ tenantId: 'acme', value: slowCatalogue }], 'acme'),
        /^limit exceeded: \/eventTypes\/slow\/payload takes more than 250 ms of processor time$/,
      ],
    ]
    const ended: string[] = []
    for (const [name, work] of hostile) void work.then(() => ended.push(name))

    const neighbour = await pool.run('preview', [words('Hello')], 'neighbour')

    assert.ok('answer' in (neighbour[0] ?? {}))
    assert.ok(ended.length < hostile.length, `the neighbour waited for ${ended.join(', ')}`)
    for (const [name, work, expected] of hostile) assert.match(stoppedOf(await work)[0] ?? '', expected, name)
  })

  it('survives the end of a heap', async () => {
    const deaths = (): number =>
      (meters.counts['untrusted_deaths memory'] ?? 0) + (meters.counts['untrusted_deaths time'] ?? 0)
    const before = deaths()
    const results = await pool.run('render', [words(LONG_TEXTS, 'heap')], 'heap')

    assert.match(stoppedOf(results)[0] ?? '', /takes more than (96 MB of memory|250 ms of processor time)$/)
    assert.ok('answer' in ((await pool.run('render', [words('Hello', 'heap')], 'heap'))[0] ?? {}))
    assert.equal(deaths(), before + 1)
    assert.ok((meters.counts['untrusted_starts'] ?? 0) >= 2)
  })

  it('stops the one of a batch that is to blame, and answers for all the others', async () => {
    const bodies = ['one', 'two', SORTS, 'three']

    const results = await pool.run(
      'render',
      bodies.map((body) => words(body, 'batch')),
      'planning',
    )

    assert.deepEqual(
      results.map((result) => ('answer' in result && 'body' in result.answer ? result.answer.body : 'stopped')),
      ['one', 'two', 'stopped', 'three'],
    )
  })

  it('does not try again at once what it had to stop three times, for this tenant alone', async () => {
    const again = words(`${SORTS}again`, 'strikes')
    for (let i = 0; i < 3; i++)
      assert.match(stoppedOf(await pool.run('render', [again], 'strikes'))[0] ?? '', /takes more than/)

    assert.match(stoppedOf(await pool.run('render', [again], 'strikes'))[0] ?? '', /several times within a minute/)
    assert.ok('answer' in ((await pool.run('render', [words('Hello', 'strikes')], 'strikes'))[0] ?? {}))
    const other = words(`${SORTS}again`, 'other')
    assert.match(stoppedOf(await pool.run('render', [other], 'other'))[0] ?? '', /takes more than/)
  })

  it('refuses what it had to stop with the payload that it was applied to, and goes on with others', async () => {
    const stopped = { tenantId: 'payloads', ...slowPattern }
    const fine = { ...stopped, payload: { a: `${'a'.repeat(25)}b` } }
    for (let i = 0; i < 3; i++) await pool.run('checkPayload', [stopped], 'payloads')

    const results = await pool.run('checkPayload', [stopped, fine], 'payloads')

    assert.equal(results[0], REFUSED)
    assert.deepEqual(results[1], { answer: [] })
  })

  it('answers what there is time for, at least the first, and says who took it', async () => {
    const allowance = createAllowance(1)
    const slow = { ...SOME_LISTS, tenantId: 'slow' }

    const results = await pool.run('checkPayload', [slow, slow, slow], PLANNING, allowance)

    assert.deepEqual(
      results.map((result) => result === NO_TIME),
      [false, true, true],
    )
    assert.equal(allowance.toBlame(), 'slow')
    assert.deepEqual(await pool.run('checkPayload', [slow], PLANNING, allowance), [NO_TIME])
  })

  it('takes what it refuses out of a batch, and looks at the words of no other tenant for that', async () => {
    const again = words(`${SORTS}refused`, 'refused')
    for (let i = 0; i < 3; i++) await pool.run('render', [again], 'refused')
    let looks = 0
    const spied = (tenantId: string): Tasks['render']['given'] => {
      const given = words('Hello', tenantId)
      const toJSON = (): string => `look ${++looks}`
      return { ...given, template: Object.assign(Object.create({ toJSON }) as object, given.template) }
    }

    const mixed = await pool.run('render', [words('a', 'refused'), again, words('b', 'refused'), again], 'refused')
    assert.deepEqual(
      stoppedOf(mixed).map((stopped) => /several times/.test(stopped)),
      [false, true, false, true],
    )
    assert.ok('answer' in (mixed[0] ?? {}) && 'answer' in (mixed[2] ?? {}))
    const others = await pool.run('render', [spied('other'), spied('other')], 'other')
    assert.ok(others.every((result) => 'answer' in result))
    assert.equal(looks, 0)
  })

  it('lets others have their turn while a batch takes long, and answers for all of it', async (t) => {
    const alone = createPool({ clock: systemClock, logger, size: 1 })
    t.after(() => alone.close())
    const ended: string[] = []
    const long = alone.run('checkPayload', Array<typeof SOME_LISTS>(100).fill(SOME_LISTS), PLANNING)
    const longEnded = long.then(() => ended.push('long'))
    await nextTurn()

    await alone.run('preview', [words('Hello')], 'neighbour')
    ended.push('neighbour')

    await longEnded
    assert.deepEqual(ended, ['neighbour', 'long'])
    assert.deepEqual(stoppedOf(await long), Array(100).fill('it was answered'))
  })

  it('works for planning in one process at most, so that one is left for all others', async () => {
    const ended: string[] = []
    const long = pool.run('checkPayload', Array<typeof SOME_LISTS>(60).fill(SOME_LISTS), PLANNING)
    const short = pool.run('preview', [words('Hello')], PLANNING)

    await Promise.all([long.then(() => ended.push('long')), short.then(() => ended.push('short'))])

    assert.deepEqual(ended, ['long', 'short'])
  })

  it('refuses for a while what takes nearly as long as it may, many times over', async () => {
    const untrusted = createUntrustedInProcess()
    const took: number[] = []
    for (let i = 0; i < 10; i++) {
      const before = process.cpuUsage()
      await untrusted.run('checkPayload', [SOME_LISTS], 'slow')
      const { user, system } = process.cpuUsage(before)
      took.push((user + system) / 1_000)
    }
    const slow = listsOf(Math.ceil((2 * 0.6 * ITEM_MS) / Math.min(...took)))

    const results = await pool.run('checkPayload', Array<typeof slow>(40).fill(slow), 'slow')

    assert.match(stoppedOf(results).at(-1) ?? '', /several times within a minute/)
  })

  it('answers each of many who ask at once, in the order of what they gave', async () => {
    const asked = Array.from({ length: 300 }, (_, i) =>
      pool.run('render', [words(`a${i}`), words(`b${i}`)], `tenant ${i % 3}`),
    )

    const answers = await Promise.all(asked)

    assert.deepEqual(
      answers.map((results) =>
        results.map((result) => 'answer' in result && 'body' in result.answer && result.answer.body),
      ),
      answers.map((_, i) => [`a${i}`, `b${i}`]),
    )
  })
})

describe('the pool, asked for what is plain', () => {
  it('answers without a child, whatever else is asked for', async (t) => {
    const starts = recordingMeters()
    const fresh = createPool({ clock: systemClock, logger, meters: starts, size: 1 })
    t.after(() => fresh.close())
    const plain = { ...words('', 'acme', { name: 'Ada' }), template: { subject: null, body: 'Hello {{name}}' } }
    const rules = { payload: { type: 'object', properties: { a: { type: 'string' } } }, secrets: [] }
    const checked = [
      { tenantId: 'acme', rules, payload: { a: 'b' } },
      { tenantId: 'acme', rules, payload: { a: 1 } },
    ]
    const bodies = (results: readonly WorkResult<'render'>[]): unknown[] =>
      results.map((result) => 'answer' in result && 'body' in result.answer && result.answer.body)

    assert.deepEqual(bodies(await fresh.run('render', [plain, plain], 'acme')), ['Hello Ada', 'Hello Ada'])
    assert.equal(starts.counts['untrusted_starts'], undefined)

    const mixed = [words('one'), plain, words(SORTS), plain, words('two')]
    assert.deepEqual(bodies(await fresh.run('render', mixed, 'acme')), ['one', 'Hello Ada', false, 'Hello Ada', 'two'])
    assert.deepEqual(
      (await fresh.run('checkPayload', checked, 'acme')).map((result) => 'answer' in result && result.answer.length),
      [0, 1],
    )
  })
})

describe('a pool without work', () => {
  it('lets its processes go, and starts one when there is work again', async (t) => {
    const counted = recordingMeters()
    const idle = createPool({ clock: systemClock, logger, meters: counted, size: 1, idleMs: 20 })
    t.after(() => idle.close())

    const answers = async (): Promise<boolean> =>
      'answer' in ((await idle.run('render', [words('Hello')], 'acme'))[0] ?? {})
    assert.ok(await answers())
    await until('a second start', async () => (await answers()) && (counted.counts['untrusted_starts'] ?? 0) > 1)
    assert.equal(counted.counts['untrusted_deaths crash'], undefined)
  })
})

describe('a pool that is closed', () => {
  it('refuses what waits and what comes', async () => {
    const closing = createPool({ clock: systemClock, logger, size: 1 })
    const first = closing.run('render', [words('x')], 'a')
    const waits = closing.run('render', [words('x')], 'b')
    const refused = assert.rejects(waits, /stopping/)
    await nextTurn()
    const closed = closing.close()

    await refused
    await assert.rejects(closing.run('render', [words('x')], 'c'), /stopping/)
    await first.catch(() => {})
    await closed
  })

  it('waits for nothing more, whatever was under way', async () => {
    let waits = 0
    /** Nothing ends by itself: who waits is told to stop, or waits for ever. */
    const timeless: Clock = {
      ...systemClock,
      sleep(_ms, signal) {
        waits += 1
        return new Promise((resolve) => {
          const end = (): void => {
            waits -= 1
            resolve()
          }
          if (signal?.aborted) end()
          else signal?.addEventListener('abort', end, { once: true })
        })
      },
    }
    const closing = createPool({ clock: timeless, logger, size: 2 })
    assert.equal((await closing.run('render', [words('x')], 'a')).length, 1)
    const underWay = closing.run('render', [words('y')], 'b').catch(() => {})
    await nextTurn()

    await closing.close()
    await underWay

    await until('the end of every wait', () => waits === 0, 10_000)
  })
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { EventType } from '../model/catalogue.ts'
import { readCatalogueText } from './file.ts'
import { parseCatalogue } from './parse.ts'
import { readyCatalogues } from './ready.ts'
import { eventTypesSource } from './types.ts'

type Json = Record<string, unknown>

function typesOf(types: Record<string, Json>): EventType[] {
  const eventTypes = Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, { recipients: [], ...type }]),
  )
  const read = parseCatalogue({ eventTypes })
  assert.ok('catalogue' in read, JSON.stringify(read))
  return read.catalogue.eventTypes
}

/** The type of one field, as it is written. */
function fieldType(schema: unknown, rest: Json = {}): string {
  const source = eventTypesSource(
    'x',
    typesOf({ e: { payload: { required: ['f'], properties: { f: schema }, ...rest } } }),
  )
  return /^ {4}f: ([\s\S]*?)\n {2}\}$/m.exec(source)?.[1] ?? source
}

describe('the TypeScript of a schema', () => {
  const TYPES: [unknown, string][] = [
    [{ type: 'string' }, 'string'],
    [{ type: 'string', format: 'date-time' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['number', 'null'] }, 'number | null'],
    [{ type: 'string', nullable: true }, 'string | null'],
    [{ type: 'boolean' }, 'boolean'],
    [{ type: 'array', items: { type: 'string' } }, 'string[]'],
    [{ type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
    [{ type: 'array' }, 'unknown[]'],
    [
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false, minItems: 1 },
      '[string, number?]',
    ],
    [{ type: 'array', prefixItems: [{ type: 'string' }], minItems: 1 }, '[string, ...unknown[]]'],
    [{ enum: ['a', "it's", 3, null, true] }, `'a' | 'it\\'s' | 3 | null | true`],
    [{ const: { a: [1] } }, '{ a: [1] }'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
    [{ oneOf: [{ type: 'string' }, {}] }, 'unknown'],
    [{ allOf: [{ type: 'string' }, { minLength: 3 }] }, 'string'],
    [{ type: 'string', anyOf: [{ enum: ['a'] }, { enum: ['b'] }] }, `string & ('a' | 'b')`],
    [{ type: 'object' }, 'Record<string, unknown>'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
    [true, 'unknown'],
    [false, 'never'],
    [{}, 'unknown'],
  ]
  for (const [schema, type] of TYPES)
    it(`of ${JSON.stringify(schema)} is ${type}`, () => {
      assert.equal(fieldType(schema), type)
    })

  it('names fields, quoted where needed, optional unless required, and says what they are', () => {
    const payload = {
      type: 'object',
      required: ['bookingId', 'unmentioned'],
      properties: {
        bookingId: { type: 'integer', description: 'Of our\nown. */ alert' },
        'guest-name': { type: 'string' },
        guest: { $ref: '#/$defs/guest' },
        rooms: { type: 'array', items: { $ref: '#/$defs/guest' } },
      },
      $defs: { guest: { properties: { phone: { type: 'string' } }, additionalProperties: true } },
    }

    assert.equal(
      eventTypesSource('atlas', typesOf({ 'booking.confirmed': { payload, description: 'It is sure.' }, ping: {} })),
      `// Written by "pillarbox catalogue types" from the catalogue atlas. Changes made here are lost.

/** What each event type's payload holds: publish<Events>(…) refuses another. */
export interface Events {
  /** It is sure. */
  'booking.confirmed': {
    /** Of our own. *\u200b/ alert */
    bookingId: number
    'guest-name'?: string
    guest?: {
      phone?: string
      [name: string]: unknown
    }
    rooms?: {
      phone?: string
      [name: string]: unknown
    }[]
    unmentioned: unknown
  }
  ping: object
}
`,
    )
  })

  it('is Sealed where the field is secret, whatever its schema', () => {
    const properties = {
      token: { type: 'string' },
      guests: { type: 'array', items: { properties: { pin: { type: 'integer' }, name: { type: 'string' } } } },
      codes: { type: 'array', items: { type: 'string' } },
    }
    const source = eventTypesSource(
      'x',
      typesOf({ e: { payload: { properties }, secrets: ['Token', 'guests[].pin', 'codes[]'] } }),
    )

    assert.match(source, /^import type \{ Sealed \} from '@pillarbox\/client'$/m)
    assert.match(source, /token\?: Sealed\n/)
    assert.match(source, /pin\?: Sealed\n {6}name\?: string\n {4}\}\[\]/)
    assert.match(source, /codes\?: Sealed\[\]\n/)
  })

  it('of a domain event is all that its event types need', () => {
    const source = eventTypesSource('x', typesOf({ a: {}, 'b.c': {} }), { Both: ['a', 'b.c'], None: [] })

    assert.match(source, /^ {2}Both: Events\['a'\] & Events\['b\.c'\]\n {2}None: object\n\}$/m)
  })

  it('is the same text for the same catalogue', () => {
    const read = readCatalogueText(readyCatalogues.document('busflow') ?? '')
    assert.ok('catalogue' in read)
    const { name, eventTypes } = read.catalogue

    assert.equal(eventTypesSource(name, eventTypes), eventTypesSource(name, structuredClone(eventTypes)))
  })
})

const ROOT = resolve(import.meta.dirname, '../../../..')

/** What the real compiler says of `files`, a line per error. */
function compile(t: TestContext, files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'types-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    paths: { '@pillarbox/client': [join(ROOT, 'packages/client/src/index.ts')] },
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const { stdout, error } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  })
  assert.equal(error, undefined)
  return stdout.split('\n').filter((line) => line.includes('error TS'))
}

describe('publish with the generated types', () => {
  const source = eventTypesSource(
    'shop',
    typesOf({
      'order.paid': {
        secrets: ['token'],
        payload: {
          type: 'object',
          required: ['orderId', 'token'],
          properties: {
            orderId: { type: 'integer' },
            token: { type: 'string' },
            method: { enum: ['card', 'cash'] },
            items: {
              type: 'array',
              items: { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } },
            },
          },
        },
      },
      'order.noted': {},
    }),
  )
  const start = `
import { publish, sealWith, type Transaction } from '@pillarbox/client'
import type { Events } from './events.ts'
declare const tx: Transaction
const seal = sealWith('key')
const about = { tenantId: 'shop', entity: { type: 'order', id: '1' } }
`
  const paid = (payload: string): string =>
    `await publish<Events>(tx, { ...about, type: 'order.paid', payload: ${payload} })`

  it('takes a right payload', (t) => {
    const lines = [
      paid(`{ orderId: 1, token: seal('x') }`),
      paid(`{ orderId: 1, token: seal('x'), method: 'card', items: [{ sku: 'a' }] }`),
      `await publish<Events>(tx, { ...about, type: 'order.noted', payload: { anything: 1 } })`,
    ]

    assert.deepEqual(compile(t, { 'events.ts': source, 'use.ts': `${start}${lines.join('\n')}\n` }), [])
  })

  it('refuses a wrong one: type, choice, missing and unknown field, unsealed secret, unknown event type', (t) => {
    const lines = [
      paid(`{ orderId: '1', token: seal('x') }`),
      paid(`{ orderId: 1, token: seal('x'), method: 'gold' }`),
      paid(`{ token: seal('x') }`),
      paid(`{ orderId: 1, token: seal('x'), itmes: [] }`),
      paid(`{ orderId: 1, token: seal('x'), items: [{}] }`),
      paid(`{ orderId: 1, token: 'in clear' }`),
      `await publish<Events>(tx, { ...about, type: 'order.piad', payload: {} })`,
    ]

    const errors = compile(t, { 'events.ts': source, 'use.ts': `${start}${lines.join('\n')}\n` })

    const first = start.split('\n').length
    const wrongLines = new Set(errors.map((error) => Number(/use\.ts\((\d+),/.exec(error)?.[1])))
    assert.deepEqual(
      [...wrongLines],
      lines.map((_, i) => first + i),
      errors.join('\n'),
    )
  })

  it('compiles for every catalogue that ships', (t) => {
    const files = Object.fromEntries(
      readyCatalogues.names().map((name) => {
        const read = readCatalogueText(readyCatalogues.document(name) ?? '')
        assert.ok('catalogue' in read)
        return [`${name}.ts`, eventTypesSource(name, read.catalogue.eventTypes)]
      }),
    )

    assert.deepEqual(compile(t, files), [])
  })
})

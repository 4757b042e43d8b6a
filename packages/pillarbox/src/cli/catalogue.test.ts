import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { silent } from '../../../../test/support/samples.ts'
import { readyCatalogues } from '../catalogue/ready.ts'
import { systemClock } from '../runtime/system.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import { run } from './run.ts'

const SHOP = `name: shop
entities: { order: orders }
eventTypes:
  order.paid:
    entity: order
    payload: { type: object, required: [orderId], properties: { orderId: { type: integer }, phone: { type: string } } }
    recipients: [{ phone: phone }]
    templates:
      - { channel: sms, body: "Order {{orderId}} is paid." }
`

interface Person {
  isTerminal?: boolean
  says?: string
}

/** A command line over a real store with the tenant acme, in a folder of its own. */
async function setup(t: TestContext, { isTerminal = false, says = '' }: Person = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'catalogue-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  mkdirSync(join(cwd, '.pillarbox'))
  const path = join(cwd, '.pillarbox/pillarbox.db')
  const open = (): Promise<Store> => openSqlite({ path, clock: systemClock, logger: silent })
  const withStore = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    const store = await open()
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }
  await withStore(async (store) => {
    await store.migrate()
    await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  })
  const output = { stdout: '', stderr: '', questions: [] as string[] }
  const file = (name: string, text: string): void => writeFileSync(join(cwd, name), text)
  file('shop.yaml', SHOP)
  const command = (...args: string[]): Promise<number> => {
    output.stdout = ''
    output.stderr = ''
    const writer = (stream: 'stdout' | 'stderr') => (text: string) => {
      output[stream] += text
    }
    return run(['catalogue', ...args], {
      version: '1.2.3',
      env: {},
      cwd,
      nodeVersion: process.version,
      stdout: { write: writer('stdout'), isTerminal, hasColours: false },
      stderr: { write: writer('stderr') },
      stdin: {
        isTerminal,
        ask: async (question) => {
          output.questions.push(question)
          return says
        },
        read: () => assert.fail('read'),
      },
      clock: systemClock,
      events: new EventEmitter(),
      exitNow: () => assert.fail('left at once'),
      loadEngine: async () => ({ openStore: open, createPillarbox: () => assert.fail('started') }),
    })
  }
  const version = () => withStore(async (store) => (await store.catalogue.current('acme'))?.version ?? 0)
  return { command, output, file, cwd, withStore, version }
}

describe('catalogue check', () => {
  it('finds nothing wrong with a good file', async (t) => {
    const { command, output } = await setup(t)

    assert.equal(await command('check', 'shop.yaml'), 0)
    assert.equal(output.stdout, 'shop.yaml: 1 event type, 1 template: no problems\n')
    assert.equal(output.stderr, '')
  })

  it('says all that is wrong, with file, line, column and what to write', async (t) => {
    const { command, output, file } = await setup(t)
    file(
      'bad.yaml',
      SHOP.replace('templates:', 'timing: { after: 24h }\n    templates:').replace('{{orderId}}', '{{orderId}'),
    )

    assert.equal(await command('check', 'bad.yaml'), 1)
    assert.match(
      output.stderr,
      /^bad\.yaml:8:15 {2}eventTypes\.order\.paid\.timing\.after: must be .* \(got "24h"; write PT24H\)\n/,
    )
    assert.match(
      output.stderr,
      /^bad\.yaml:10:25 {2}eventTypes\.order\.paid\.templates\.0\.body: cannot be rendered: .+\n/m,
    )
    assert.match(output.stderr, /^pillarbox: 2 problems in bad\.yaml\n$/m)
    assert.equal(output.stdout, '')
  })

  it('warns of what is probably not meant, and still takes it', async (t) => {
    const { command, output, file } = await setup(t)
    file('odd.yaml', SHOP.replace('{{orderId}}', '{{ordreId}}').replace('phone: phone', 'phone: fone'))

    assert.equal(await command('check', 'odd.yaml'), 0)
    assert.match(output.stderr, /^odd\.yaml:7:.*recipients\.0\.phone: leads nowhere: .*\(warning\)$/m)
    assert.match(output.stderr, /^odd\.yaml:9:.*uses \{\{ordreId\}\}.*did you mean \{\{orderId\}\}\? \(warning\)$/m)
  })

  it('says what is odd beside what is wrong', async (t) => {
    const { command, output, file } = await setup(t)
    const odd = SHOP.replace('phone: phone', 'phone: fone').replace('{{orderId}}', '{{ordreId}}')
    file('both.yaml', odd.replace('templates:', 'timing: { after: 24h }\n    templates:'))

    assert.equal(await command('check', 'both.yaml'), 1)
    assert.match(output.stderr, /^both\.yaml:8:.*timing\.after: must be .*write PT24H\)$/m)
    assert.match(output.stderr, /^both\.yaml:7:.*leads nowhere: .*\(warning\)$/m)
    assert.match(output.stderr, /^both\.yaml:10:.*uses \{\{ordreId\}\}.*\(warning\)$/m)
    assert.match(output.stderr, /^pillarbox: 1 problem and 2 warnings in both\.yaml\n$/m)
  })

  it('says what is odd about the words of a template whose subject is wrong', async (t) => {
    const { command, output, file } = await setup(t)
    const template = '{ channel: email, subject: "Order {{", body: "Order {{ordreId}} is paid." }'
    file('subject.yaml', SHOP.replace(/\{ channel: sms.*\}$/m, template))

    assert.equal(await command('check', 'subject.yaml'), 1)
    assert.match(output.stderr, /templates\.0\.subject: cannot be rendered: /)
    assert.match(output.stderr, /uses \{\{ordreId\}\}.*\(warning\)$/m)
  })

  it('says why a file cannot be read', async (t) => {
    const { command, output, cwd } = await setup(t)
    writeFileSync(join(cwd, 'latin.yaml'), Buffer.from([0x6e, 0xe4]))
    writeFileSync(join(cwd, 'huge.yaml'), Buffer.alloc(2_097_153, 0x20))

    for (const [name, why] of [
      ['none.yaml', /there is no such file/],
      ['latin.yaml', /is not UTF-8/],
      ['huge.yaml', /2097153 bytes/],
      ['.pillarbox', /cannot be read/],
    ] as const) {
      assert.equal(await command('check', name), 1)
      assert.match(output.stderr, why)
    }
  })
})

describe('catalogue import', () => {
  it('shows what it changes, imports with --yes, and does nothing the second time', async (t) => {
    const { command, output, withStore, version } = await setup(t)

    assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme', '--yes'), 0)
    assert.equal(
      output.stdout,
      `shop.yaml: 1 event type, 1 template, for the tenant acme, which has no catalogue yet
  + adds the entity order (orders)
  + adds the event type order.paid
  + adds the template order.paid (sms, en)
imported: version 1
`,
    )
    const current = await withStore((store) => store.catalogue.current('acme'))
    assert.deepEqual([current?.document, current?.importedBy], [SHOP, 'cli'])

    assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme', '--yes'), 0)
    assert.match(output.stdout, /which has version 1\n {2}= changes nothing\nnothing to do: it is version 1\n$/)
    assert.equal(await version(), 1)
  })

  it('names the domain events that it brings', async (t) => {
    const { command, output, file } = await setup(t)
    file('shop.yaml', `${SHOP}domainEvents: { OrderPaid: [order.paid], LedgerClosed: [] }\n`)

    assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme', '--yes'), 0)
    assert.match(output.stdout, /^shop\.yaml: 1 event type, 2 domain events, 1 template, /)
    assert.match(output.stdout, /^ {2}\+ adds the domain event OrderPaid, which becomes order\.paid$/m)
    assert.match(output.stdout, /^ {2}\+ adds the domain event LedgerClosed, which becomes nothing$/m)
  })

  it('keeps what was edited, and says so', async (t) => {
    const { command, output, file, withStore } = await setup(t)
    await command('import', 'shop.yaml', '--tenant', 'acme', '--yes')
    await withStore(async (store) => {
      const [template] = await store.templates.ofEventType('acme', 'order.paid')
      await store.templates.update('acme', template?.id ?? '', { body: 'Mine.' }, 'key:admin')
    })
    file('shop.yaml', SHOP.replace('is paid', 'was paid'))

    assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme', '--yes'), 0)
    assert.match(
      output.stdout,
      /\n {2}= keeps the template order\.paid \(sms, en\) as it was edited here\nimported: version 2\n$/,
    )
    const [template] = await withStore((store) => store.templates.ofEventType('acme', 'order.paid'))
    assert.equal(template?.body, 'Mine.')
  })

  it('only shows with --dry-run', async (t) => {
    const { command, output, version } = await setup(t)

    assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme', '--dry-run'), 0)
    assert.match(output.stdout, /adds the event type order\.paid/)
    assert.equal(await version(), 0)
  })

  it('asks whoever is there', async (t) => {
    for (const [says, code, expected] of [
      ['y', 0, 1],
      ['YES', 0, 1],
      ['', 1, 0],
      ['no', 1, 0],
    ] as const) {
      const { command, output, version } = await setup(t, { isTerminal: true, says })
      assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme'), code)
      assert.deepEqual([output.questions, await version()], [['Import it? [y/N] '], expected])
    }
  })

  it('refuses without --yes where nobody can be asked', async (t) => {
    const { command, output, version } = await setup(t)

    assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme'), 1)
    assert.match(output.stderr, /add --yes/)
    assert.equal(await version(), 0)
  })

  it('says what to do about an unknown tenant, a missing database, and a bad file', async (t) => {
    const { command, output, file, cwd } = await setup(t)

    assert.equal(await command('import', 'shop.yaml', '--tenant', 'nobody', '--yes'), 1)
    assert.match(output.stderr, /there is no tenant "nobody"\n.*POST \/ops\/tenants/)
    assert.equal(await command('import', 'shop.yaml', '--tenant', 'No Body', '--yes'), 2)
    assert.match(output.stderr, /lower-case letters/)
    assert.equal(await command('import', 'shop.yaml', '--tenant', 'acme', '--yes', '--data-dir', 'elsewhere'), 1)
    assert.match(output.stderr, /there is no database yet\n.*elsewhere.*pillarbox migrate/)
    assert.ok(!readdirSync(cwd).includes('elsewhere'))
    file('bad.yaml', 'eventTypes: {}\n')
    assert.equal(await command('import', 'bad.yaml', '--tenant', 'acme', '--yes'), 1)
    assert.match(output.stderr, /^bad\.yaml:1:1 {2}eventTypes: must be an object with at least one event type/)
    assert.equal(await command('import', 'shop.yaml'), 2)
    assert.match(output.stderr, /--tenant/)
  })
})

describe('catalogue types, export, list and show', () => {
  it('write the types of a file, or of what a tenant has', async (t) => {
    const { command, output, cwd } = await setup(t)
    await command('import', 'shop.yaml', '--tenant', 'acme', '--yes')

    assert.equal(await command('types', 'shop.yaml'), 0)
    const { stdout: ofFile } = output
    assert.match(ofFile, /'order\.paid': \{\n {4}orderId: number\n {4}phone\?: string\n {2}\}/)
    assert.equal(await command('types', '--tenant', 'acme', '--out', 'events.ts'), 0)
    assert.equal(readFileSync(join(cwd, 'events.ts'), 'utf8'), ofFile)
    assert.equal(await command('types'), 2)
    assert.match(output.stderr, /either a file or a --tenant/)
    assert.equal(await command('types', 'shop.yaml', '--tenant', 'acme'), 2)
  })

  it('print a tenant’s catalogue as it was imported', async (t) => {
    const { command, output } = await setup(t)

    assert.equal(await command('export', '--tenant', 'acme'), 1)
    assert.match(output.stderr, /has no catalogue yet\n.*catalogue import FILE --tenant acme/)
    await command('import', 'shop.yaml', '--tenant', 'acme', '--yes')
    assert.equal(await command('export', '--tenant', 'acme'), 0)
    assert.equal(output.stdout, SHOP)
  })

  it('list and print the ready-made ones', async (t) => {
    const { command, output } = await setup(t)

    assert.equal(await command('list'), 0)
    for (const name of readyCatalogues.names())
      assert.match(
        output.stdout,
        new RegExp(`^${name} +\\d+ event types?,(?: \\d+ domain events?,)? \\d+ templates?, \\w+`, 'm'),
      )
    assert.equal(await command('show', 'atlas'), 0)
    assert.equal(output.stdout, readyCatalogues.document('atlas'))
    assert.equal(await command('show', 'atals'), 1)
    assert.match(output.stderr, /did you mean atlas\?/)
    assert.equal(await command('show', 'nothing-like-it'), 1)
    assert.match(output.stderr, /there are atlas, busflow/)
  })

  for (const name of ['check', 'import', 'types', 'export', 'list', 'show'])
    it(`help with ${name}, with examples`, async (t) => {
      const { command, output } = await setup(t)

      assert.equal(await command(name, '--help'), 0)
      assert.match(output.stdout, new RegExp(`^Usage: pillarbox catalogue ${name}`))
      assert.match(output.stdout, /Examples:\n {2}\$ pillarbox catalogue/)
    })
})

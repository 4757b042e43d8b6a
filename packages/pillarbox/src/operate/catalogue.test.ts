import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { silent } from '../../../../test/support/samples.ts'
import { isPillarboxError } from '../model/errors.ts'
import { createIdSource } from '../runtime/ids.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { createUntrustedInProcess } from '../untrusted/untrusted.ts'
import { importCatalogue, readCatalogue, readCatalogueDocument } from './catalogue.ts'

const deps = { untrusted: createUntrustedInProcess() }

const SHOP = {
  name: 'shop',
  entities: { order: 'orders' },
  eventTypes: {
    'order.paid': {
      entity: 'order',
      recipients: [{ phone: 'phone' }],
      templates: [{ channel: 'sms', body: 'Paid.' }],
    },
  },
}

async function setup(t: TestContext) {
  const clock = createManualClock()
  const store = await openSqlite({ path: ':memory:', clock, logger: silent })
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const ids = createIdSource(clock, () => 0.5)
  const bring = (value: unknown, dryRun = false) =>
    readCatalogue(deps, 'acme', value).then((given) =>
      importCatalogue({ store, ids, ...deps }, 'acme', given, { actor: 'key:admin', dryRun }),
    )
  return { store, bring }
}

describe('a catalogue that can be imported', () => {
  it('is warned about an email without a subject, once', async () => {
    const [paid] = Object.entries(SHOP.eventTypes)
    const withMail = async (mail: object) => {
      const eventTypes = { [paid?.[0] ?? '']: { ...paid?.[1], templates: [mail] } }
      return (await readCatalogue(deps, 'acme', { ...SHOP, eventTypes })).warnings
    }

    assert.deepEqual(await withMail({ channel: 'email', subject: 'Paid', body: 'Paid.' }), [])
    assert.deepEqual(await withMail({ channel: 'email', body: 'Paid.' }), [
      {
        path: '/eventTypes/order.paid/templates/0',
        message: 'is an email without a subject (missing_subject); give it one',
      },
    ])
  })
})

describe('an import', () => {
  it('that changes nothing makes no version, also when only edited templates differ', async (t) => {
    const { store, bring } = await setup(t)
    await bring(SHOP)
    const [template] = await store.templates.ofEventType('acme', 'order.paid')
    await store.templates.update('acme', template?.id ?? '', { body: 'Mine.' }, 'key:admin')

    const { version, changes } = await bring(SHOP)

    assert.deepEqual([version, changes.map(({ kind }) => kind)], [1, ['template_kept']])
    assert.equal((await store.catalogue.versions('acme')).length, 1)
  })

  it('that changes only what is beside the event types is still one', async (t) => {
    const { bring } = await setup(t)
    await bring(SHOP)
    const hasura = { paid: { eventType: 'order.paid', entityId: 'new.id' } }

    const { version, changes } = await bring({ ...SHOP, sources: { hasura } })

    assert.deepEqual([version, changes.map(({ text }) => text)], [2, ['changes sources']])
    assert.equal((await bring({ ...SHOP, sources: { hasura } })).version, 2)
  })

  it('brings back a template that was removed', async (t) => {
    const { store, bring } = await setup(t)
    await bring(SHOP)
    const [template] = await store.templates.ofEventType('acme', 'order.paid')
    await store.templates.remove('acme', template?.id ?? '', 'key:admin')

    const { version, changes } = await bring(SHOP)

    assert.deepEqual([version, changes.map(({ kind }) => kind)], [2, ['template_added']])
    assert.equal((await store.templates.ofEventType('acme', 'order.paid')).length, 1)
  })

  it('sees templates beyond the first page', async (t) => {
    const { bring } = await setup(t)
    const templates = Array.from({ length: 450 }, (_, i) => ({
      channel: 'sms',
      body: 'x',
      scope: { type: 'listing', id: i },
    }))
    const many = { eventTypes: { a: { entity: 'x', recipients: [], scopes: { listing: 'id' }, templates } } }
    await bring(many)

    assert.deepEqual((await bring(many, true)).changes, [])
  })
})

describe('a catalogue that is given', () => {
  it('is refused with the place it was given at', async () => {
    await assert.rejects(
      () => readCatalogue(deps, 'acme', { eventTypes: { a: { recipients: [], once: 'x' } } }, '/catalogue'),
      (error) =>
        isPillarboxError(error, 'invalid_catalogue') &&
        error.details.errors?.[0]?.path === '/catalogue/eventTypes/a/once' &&
        error.details.warnings?.[0]?.path.startsWith('/catalogue/eventTypes/a') === true,
    )
  })

  it('is refused where a template cannot be read, with the line and column', async () => {
    const templates = [
      { channel: 'sms', body: 'Hi\n{{name, your {{x}}' },
      { channel: 'push', body: '{% if x == %}y{% endif %}' },
      { channel: 'whatsapp', body: 'Hi', format: 'html' },
    ]
    await assert.rejects(
      () => readCatalogue(deps, 'acme', { eventTypes: { a: { recipients: [], templates } } }),
      (error) => {
        assert.ok(isPillarboxError(error, 'invalid_catalogue'))
        assert.deepEqual(error.details.errors, [
          {
            path: '/eventTypes/a/templates/0/body',
            message: 'cannot be rendered: {{ is not closed before the next {{: add }} (line 2, column 1)',
          },
          {
            path: '/eventTypes/a/templates/1/body',
            message: 'cannot be rendered: "==" has no value to go with it (line 1, column 9)',
          },
          { path: '/eventTypes/a/templates/2/format', message: 'must be text: whatsapp carries no HTML' },
        ])
        return true
      },
    )
  })

  it('is refused where its tenants would have settings that nobody knows', async () => {
    const given = { timeZone: 'Asia/Nowhere', region: 'QQ', currency: 'QQQ', dateFormat: 'whenever' }
    await assert.rejects(
      () => readCatalogue(deps, 'acme', { ...given, eventTypes: { a: { recipients: [] } } }),
      (error) => {
        assert.ok(isPillarboxError(error, 'invalid_catalogue'))
        assert.deepEqual(
          error.details.errors?.map(({ path }) => path),
          ['/timeZone', '/region', '/currency', '/dateFormat'],
        )
        return true
      },
    )
  })

  it('is right where the guide shows one', async () => {
    const guide = readFileSync(new URL('../../../../docs/guides/catalogue.md', import.meta.url), 'utf8')
    const documents = [...guide.matchAll(/```yaml\n(name: [\s\S]*?)```/g)].map((match) => match[1] ?? '')

    assert.equal(documents.length, 1)
    for (const document of documents)
      assert.deepEqual((await readCatalogueDocument(deps, 'acme', document)).warnings, [])
  })
})

import assert from 'node:assert/strict'
import type { NewTemplate, Template } from '../../packages/pillarbox/src/model/template.ts'
import { allPages, assertBetween, at, type Bench, only, type Rule } from './fixtures.ts'

/** Templates as operators change them: nothing that was ever sent is lost, and each place has one. */
export function templateRules(rule: Rule): void {
  rule('keeps every field of a template', async (bench) => {
    const { store } = bench
    const given = await template(bench, {
      channel: 'whatsapp',
      locale: 'de-DE',
      scope: { type: 'listing', id: '10' },
      subject: 'Hallo',
      body: 'Hallo {{guestName}}',
      format: 'html',
      providerTemplate: {
        name: 'hallo',
        language: 'de',
        components: [{ type: 'body', parameters: ['{{guestName}}'] }],
      },
      isActive: false,
    })
    const before = await store.now()

    const inserted = await store.templates.insert(given, 'key:ada')

    const { createdAt, updatedAt, ...rest } = inserted ?? assert.fail()
    assert.deepEqual(rest, { ...given, version: 1, isEdited: true, updatedBy: 'key:ada' })
    assertBetween(createdAt, before, await store.now())
    assert.equal(updatedAt, createdAt)
    assert.deepEqual(await store.templates.find(given.tenantId, given.id), inserted)
  })

  rule('a place has one template: the same event type, channel, locale and scope', async (bench) => {
    const { store, newId, tenant } = bench
    const given = await template(bench, {})
    const again = (changes: Partial<NewTemplate>) =>
      store.templates.insert({ ...given, id: newId(), body: 'second', ...changes }, 'key:ada')
    await store.templates.insert(given, 'key:ada')

    assert.equal(await again({}), null)
    assert.equal(await again({ isActive: false }), null)
    const scope = { type: 'listing', id: '10' }
    for (const changes of [
      { eventType: 'other' },
      { channel: 'email' as const },
      { locale: 'de' },
      { scope },
      { scope: { ...scope, id: '11' } },
      { scope: { ...scope, type: 'house' } },
      { tenantId: await tenant() },
    ])
      assert.ok(await again(changes), JSON.stringify(changes))
    assert.equal(await again({ scope }), null)
    assert.equal((await store.templates.find(given.tenantId, given.id))?.body, given.body)
  })

  rule('of many who add a template in the same place at once, one does', async (bench) => {
    const { store, newId, another } = bench
    const other = await another()
    const given = await template(bench, {})

    const answers = await Promise.all(
      [store, other, store, other].map((each) => each.templates.insert({ ...given, id: newId() }, 'key:ada')),
    )

    assert.equal(answers.filter((answer) => answer !== null).length, 1)
    assert.equal((await store.templates.ofEventType(given.tenantId, given.eventType)).length, 1)
  })

  rule('a template of another tenant, or of nobody, is neither found, changed nor removed', async (bench) => {
    const { store, tenant, newId } = bench
    const given = await inserted(bench, {})
    const other = await tenant()

    for (const id of [given.id, newId(), 'no id at all']) {
      assert.equal(await store.templates.find(other, id), null)
      assert.equal(await store.templates.update(other, id, { body: 'stolen' }, 'key:eve'), null)
      assert.equal(await store.templates.remove(other, id, 'key:eve'), null)
      assert.deepEqual(await store.templates.versions(other, id), [])
    }
    assert.deepEqual(await store.templates.ofEventType(other, given.eventType), [])
    assert.deepEqual((await store.templates.list(other, {}, { limit: 10 })).items, [])
    assert.deepEqual(await store.templates.find(given.tenantId, given.id), given)
  })

  rule('a change makes a new version, and the old ones are kept with who made them and when', async (bench) => {
    const { store, advance } = bench
    const first = await inserted(bench, { subject: 'one', providerTemplate: { name: 'a' } })
    await advance(5)
    const second = await updated(
      bench,
      first,
      { body: 'two', subject: null, format: 'text', providerTemplate: null },
      'key:bob',
    )
    await advance(5)
    const third = await updated(bench, second, { isActive: false }, 'key:eve')

    const words = { body: 'two', subject: null, format: 'text', providerTemplate: null }
    const change = { isActive: false, version: 3, updatedAt: third.updatedAt, updatedBy: 'key:eve' }
    assert.deepEqual(third, { ...first, ...words, ...change })
    assert.ok(third.updatedAt > second.updatedAt && second.updatedAt > first.updatedAt)
    assert.deepEqual(
      await store.templates.versions(first.tenantId, first.id),
      [third, second, first].map(({ version, subject, body, format, providerTemplate, isActive, ...made }) => ({
        version,
        subject,
        body,
        format,
        providerTemplate,
        isActive,
        changedAt: made.updatedAt,
        changedBy: made.updatedBy,
      })),
    )
  })

  rule('saving a template as it is makes no version', async (bench) => {
    const { store } = bench
    const given = await inserted(bench, { providerTemplate: { name: 'a' }, scope: { type: 'listing', id: '10' } })
    const { subject, body, providerTemplate, scope } = given

    for (const changes of [{}, { subject, body, providerTemplate, scope }])
      assert.deepEqual(await store.templates.update(given.tenantId, given.id, changes, 'key:bob'), given)
    assert.equal((await store.templates.versions(given.tenantId, given.id)).length, 1)
  })

  rule('a template may move to a free place, and not to a taken one', async (bench) => {
    const { store } = bench
    const given = await inserted(bench, {})
    const { tenantId } = given
    const other = await inserted(bench, { tenantId, locale: 'de', scope: { type: 'listing', id: '10' } })
    const move = (changes: Partial<NewTemplate>) => store.templates.update(tenantId, other.id, changes, 'key:bob')

    assert.equal(await move({ locale: given.locale, scope: null, body: 'moved' }), 'taken')
    assert.deepEqual(await store.templates.find(tenantId, other.id), other)
    assert.equal((await store.templates.versions(tenantId, other.id)).length, 1)
    const moved = await move({ scope: null, eventType: 'other', channel: 'email' })
    assert.ok(typeof moved === 'object' && moved !== null)
    assert.deepEqual([moved.scope, moved.eventType, moved.channel, moved.locale], [null, 'other', 'email', 'de'])
  })

  rule('of several who change one version of a template, the first does and the others are told', async (bench) => {
    const { store, another } = bench
    const other = await another()
    const { tenantId, id, version } = await inserted(bench, {})

    const answers = await Promise.all(
      [store, other, store].map((each, i) =>
        each.templates.update(tenantId, id, { body: `change ${i}` }, 'key:bob', version),
      ),
    )

    const changed = answers.filter((answer) => typeof answer === 'object' && answer !== null)
    assert.deepEqual([changed.length, answers.filter((answer) => answer === 'stale').length], [1, 2])
    assert.deepEqual(await store.templates.find(tenantId, id), changed[0])
    assert.equal((await store.templates.versions(tenantId, id)).length, 2)
  })

  rule('changes made to one template at the same time become one version each', async (bench) => {
    const { store, another } = bench
    const other = await another()
    const given = await inserted(bench, {})

    await Promise.all(
      [store, other, store, other].map((each, i) =>
        each.templates.update(given.tenantId, given.id, { body: `change ${i}` }, 'key:bob'),
      ),
    )

    const versions = await store.templates.versions(given.tenantId, given.id)
    assert.deepEqual(
      versions.map(({ version }) => version),
      [5, 4, 3, 2, 1],
    )
    assert.equal(new Set(versions.map(({ body }) => body)).size, 5)
    assert.equal((await store.templates.find(given.tenantId, given.id))?.body, at(versions, 0).body)
  })

  rule('a template that was never used is removed, with its versions', async (bench) => {
    const { store, newId } = bench
    const given = await inserted(bench, {})

    assert.equal(await store.templates.remove(given.tenantId, given.id, 'key:bob'), 'removed')

    assert.equal(await store.templates.find(given.tenantId, given.id), null)
    assert.deepEqual(await store.templates.versions(given.tenantId, given.id), [])
    assert.equal(await store.templates.remove(given.tenantId, given.id, 'key:bob'), null)
    assert.ok(await store.templates.insert({ ...(await template(bench, given)), id: newId() }, 'key:ada'))
  })

  rule('a template that notifications were made from is deactivated instead', async (bench) => {
    const { store } = bench
    const given = await inserted(bench, {})
    await store.templates.markUsed([given.id])

    const deactivated = await store.templates.remove(given.tenantId, given.id, 'key:bob')

    assert.ok(deactivated !== null && deactivated !== 'removed')
    assert.deepEqual(
      [deactivated.isActive, deactivated.isEdited, deactivated.version, deactivated.updatedBy],
      [false, true, 2, 'key:bob'],
    )
    assert.deepEqual(await store.templates.find(given.tenantId, given.id), deactivated)
    assert.deepEqual(await store.templates.remove(given.tenantId, given.id, 'key:bob'), deactivated)
    assert.equal((await store.templates.versions(given.tenantId, given.id)).length, 2)
  })

  rule('marking templates as used can be repeated, with others, and with what is no template', async (bench) => {
    const { store, newId, another } = bench
    const other = await another()
    const [a, b, free] = [await inserted(bench, {}), await inserted(bench, {}), await inserted(bench, {})]

    await store.templates.markUsed([])
    await store.templates.markUsed([a.id])
    await Promise.all([
      store.templates.markUsed([b.id, a.id, b.id]),
      other.templates.markUsed([a.id, b.id, newId(), 'no id at all']),
    ])

    for (const { tenantId, id } of [a, b])
      assert.notEqual(await store.templates.remove(tenantId, id, 'key:bob'), 'removed')
    assert.equal(await store.templates.remove(free.tenantId, free.id, 'key:bob'), 'removed')
  })

  rule('lists templates by event type, channel, locale and scope, page by page', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const places: Partial<NewTemplate>[] = [
      { eventType: 'a', channel: 'email', locale: 'de' },
      { eventType: 'a', channel: 'email', locale: 'de', scope: { type: 'house', id: '2' } },
      { eventType: 'a', channel: 'email', locale: 'de', scope: { type: 'listing', id: '1' } },
      { eventType: 'a', channel: 'email', locale: 'de', scope: { type: 'listing', id: '2' } },
      { eventType: 'a', channel: 'email', locale: 'en' },
      { eventType: 'a', channel: 'sms', locale: 'de' },
      { eventType: 'b', channel: 'email', locale: 'de' },
    ]
    for (const place of places.toReversed()) await inserted(bench, { tenantId, ...place })
    await inserted(bench, {})

    const listed = await allPages((page) => store.templates.list(tenantId, {}, page), 2)

    assert.deepEqual(
      listed.map(({ eventType, channel, locale, scope }) => ({ eventType, channel, locale, scope })),
      places.map((place) => ({ scope: null, ...place })),
    )
    assert.deepEqual(await store.templates.ofEventType(tenantId, 'a'), listed.slice(0, 6))
  })

  rule('lists templates by every filter', async (bench) => {
    const { store, tenant } = bench
    const tenantId = await tenant()
    const a = await inserted(bench, { tenantId, eventType: 'a', channel: 'email', locale: 'de' })
    const b = await inserted(bench, { tenantId, eventType: 'b', channel: 'sms', locale: 'en', isActive: false })
    const listed = async (filter: Parameters<typeof store.templates.list>[1]): Promise<Template[]> =>
      (await store.templates.list(tenantId, filter, { limit: 10 })).items

    assert.deepEqual(await listed({}), [a, b])
    assert.deepEqual(await listed({ eventType: 'a' }), [a])
    assert.deepEqual(await listed({ channel: 'sms' }), [b])
    assert.deepEqual(await listed({ locale: 'de' }), [a])
    assert.deepEqual(await listed({ isActive: false }), [b])
    assert.deepEqual(await listed({ isActive: true, eventType: 'a', channel: 'email', locale: 'de' }), [a])
    assert.deepEqual(await listed({ isActive: true, eventType: 'b' }), [])
    assert.equal(only(await listed({ eventType: 'b' })).isActive, false)
  })
}

async function template(bench: Bench, changes: Partial<NewTemplate>): Promise<NewTemplate> {
  return {
    id: changes.id ?? bench.newId(),
    tenantId: changes.tenantId ?? (await bench.tenant()),
    eventType: changes.eventType ?? 'booking.confirmed',
    channel: changes.channel ?? 'sms',
    locale: changes.locale ?? 'en',
    scope: changes.scope ?? null,
    subject: changes.subject ?? null,
    body: changes.body ?? 'Hello',
    format: changes.format ?? null,
    providerTemplate: changes.providerTemplate ?? null,
    isActive: changes.isActive ?? true,
  }
}

async function inserted(bench: Bench, changes: Partial<NewTemplate>): Promise<Template> {
  const given = await template(bench, changes)
  return (await bench.store.templates.insert(given, 'key:ada')) ?? assert.fail('the place is taken')
}

async function updated(
  { store }: Bench,
  { tenantId, id }: Template,
  changes: Partial<NewTemplate>,
  actor: string,
): Promise<Template> {
  const answer = await store.templates.update(tenantId, id, changes, actor)
  assert.ok(typeof answer === 'object' && answer !== null)
  return answer
}

import assert from 'node:assert/strict'
import type { Catalogue, EventType, TemplateSeed } from '../../model/catalogue.ts'
import { isPillarboxError } from '../../model/errors.ts'
import type { ApiKey, StoredAccount } from '../store.ts'
import { allPages, assertBetween, at, type Bench, completion, only, type Rule, reach } from './fixtures.ts'

/** Tenants, keys, accounts and the catalogue: kept as given, and each tenant sees its own. */
export function configurationRules(rule: Rule): void {
  tenantRules(rule)
  keyRules(rule)
  accountRules(rule)
  catalogueRules(rule)
}

function tenantRules(rule: Rule): void {
  rule('keeps every field of a tenant', async ({ store }) => {
    const given = {
      id: 'atlas',
      name: 'Atlas Homes',
      defaultLocale: 'en-IN',
      timeZone: 'Asia/Kolkata',
      settings: { a: [1] },
    }
    const before = await store.now()

    assert.equal(await store.tenants.insert(given), true)

    const { createdAt, ...kept } = (await store.tenants.find('atlas')) ?? assert.fail()
    assert.deepEqual(kept, given)
    assertBetween(createdAt, before, await store.now())
  })

  rule('a tenant’s id is taken once', async ({ store }) => {
    const given = { id: 'atlas', name: 'first', defaultLocale: 'en', timeZone: 'UTC', settings: {} }

    const answers = await Promise.all([1, 2, 3].map((n) => store.tenants.insert({ ...given, name: `tenant ${n}` })))
    const kept = await store.tenants.find('atlas')
    const again = await store.tenants.insert({ ...given, name: 'later' })

    assert.equal(answers.filter(Boolean).length, 1)
    assert.equal(again, false)
    assert.deepEqual(await store.tenants.find('atlas'), kept)
  })

  rule('changes of a tenant what is named, and nothing else', async ({ store, tenant }) => {
    const [id, other] = [await tenant(), await tenant()]
    const before = (await store.tenants.find(id)) ?? assert.fail()
    const untouched = await store.tenants.find(other)

    const changed = await store.tenants.update(id, { name: 'New name', settings: { dateFormat: 'iso' } })

    assert.deepEqual(changed, { ...before, name: 'New name', settings: { dateFormat: 'iso' } })
    assert.deepEqual(await store.tenants.find(id), changed)
    assert.deepEqual(await store.tenants.update(id, {}), changed)
    assert.deepEqual(await store.tenants.find(other), untouched)
  })

  rule('an unknown tenant is neither found nor changed', async ({ store }) => {
    assert.equal(await store.tenants.find('nobody'), null)
    assert.equal(await store.tenants.update('nobody', { name: 'x' }), null)
  })

  rule('pages through tenants without gap or repeat while tenants are added', async ({ store, tenant }) => {
    const ids = []
    for (let i = 0; i < 9; i++) ids.push(await tenant())

    const seen = await allPages((page) => store.tenants.list(page), 2, tenant)

    const names = seen.map(({ id }) => id)
    assert.equal(new Set(names).size, names.length, 'a tenant came twice')
    for (const id of ids) assert.ok(names.includes(id), `${id} is missing`)
  })
}

function keyRules(rule: Rule): void {
  const key = (bench: Bench, changes: Partial<ApiKey>): Omit<ApiKey, 'createdAt' | 'revokedAt'> => ({
    id: bench.newId(),
    tenantId: null,
    name: 'ada',
    role: changes.tenantId === undefined ? 'ops' : 'admin',
    site: null,
    ratePerSecond: null,
    expiresAt: null,
    ...changes,
  })

  rule('finds a key by its hash, with every field', async (bench) => {
    const { store, tenant } = bench
    const before = await store.now()
    const given = key(bench, {
      tenantId: await tenant(),
      role: 'publisher',
      site: 'plant-7',
      ratePerSecond: 50,
      expiresAt: before + 60_000,
    })

    await store.keys.insert(given, 'hash-1')

    const { createdAt, ...kept } = (await store.keys.findByHash('hash-1')) ?? assert.fail()
    assert.deepEqual(kept, { ...given, revokedAt: null })
    assertBetween(createdAt, before, await store.now())
    assert.equal(await store.keys.findByHash('hash-2'), null)
    assert.equal(await store.keys.findByHash(''), null)
  })

  rule('keeps a key of no tenant for ops', async (bench) => {
    const given = key(bench, {})

    await bench.store.keys.insert(given, 'hash-ops')

    const kept = await bench.store.keys.findByHash('hash-ops')
    assert.deepEqual([kept?.tenantId, kept?.role], [null, 'ops'])
  })

  rule('two keys never share a hash', async (bench) => {
    const tenantId = await bench.tenant()
    const [first, second] = [key(bench, { tenantId }), key(bench, { tenantId })]
    assert.equal(await bench.store.keys.insert(first, 'same'), true)

    assert.equal(await bench.store.keys.insert(second, 'same'), false)

    assert.equal((await bench.store.keys.findByHash('same'))?.id, first.id)
  })

  rule('lists a tenant’s keys and nobody else’s', async (bench) => {
    const { store, tenant } = bench
    const [a, b] = [await tenant(), await tenant()]
    const keys = [key(bench, { tenantId: a }), key(bench, { tenantId: a, role: 'viewer' }), key(bench, { tenantId: b })]
    for (const [i, given] of keys.entries()) await store.keys.insert(given, `hash-${i}`)
    const ops = key(bench, {})
    await store.keys.insert(ops, 'hash-ops')
    const listed = async (tenantId: string | null): Promise<string[]> =>
      (await store.keys.list(tenantId)).map(({ id }) => id).sort()

    assert.deepEqual(await listed(a), [at(keys, 0).id, at(keys, 1).id])
    assert.deepEqual(await listed(b), [at(keys, 2).id])
    assert.ok((await listed(null)).includes(ops.id))
  })

  rule('a revoked key is no longer good, and only its tenant can revoke it', async (bench) => {
    const { store, tenant } = bench
    const [mine, other] = [await tenant(), await tenant()]
    const given = key(bench, { tenantId: mine })
    await store.keys.insert(given, 'hash')

    assert.equal(await store.keys.revoke(other, given.id), false)
    assert.equal((await store.keys.findByHash('hash'))?.revokedAt, null)
    assert.equal(await store.keys.revoke(mine, bench.newId()), false)
    assert.equal(await store.keys.revoke(mine, 'no id at all'), false)
    assert.equal(await store.keys.revoke(mine, given.id), true)

    const revoked = await store.keys.findByHash('hash')
    assert.ok(revoked === null || revoked.revokedAt !== null)
  })
}

function accountRules(rule: Rule): void {
  rule('keeps every field of an account', async (bench) => {
    const { store } = bench
    const given = await account(bench, {
      channel: 'whatsapp',
      provider: 'meta',
      settings: { phoneNumberId: '1', nested: { a: [null] } },
      sealedSecrets: 'v1.sealed',
      secretNames: ['accessToken', 'appSecret'],
      pace: { perSecond: 80, burst: 160 },
      retry: { fixed: 'PT1M', maxAttempts: 3 },
      onUnknown: 'hold',
      breaker: { failures: 3, resetAfterMs: 1_000 },
      priority: 7,
      status: 'suspended',
      statusReason: 'by hand',
    })
    const before = await store.now()

    assert.equal(await store.accounts.insert(given), true)

    const { createdAt, updatedAt, ...kept } = (await store.accounts.find(given.tenantId, given.id)) ?? assert.fail()
    assert.deepEqual(kept, given)
    assertBetween(createdAt, before, await store.now())
    assertBetween(updatedAt, before, await store.now())
  })

  rule('keeps a retry policy as it was given, sense or not', async (bench) => {
    for (const retry of [null, { maxAttempts: 0 }, 'nonsense', [1], 5]) {
      const given = await account(bench, { retry })
      await bench.store.accounts.insert(given)
      assert.deepEqual((await bench.store.accounts.find(null, given.id))?.retry, retry)
    }
  })

  rule('an account’s name is taken once per tenant and channel', async (bench) => {
    const { store } = bench
    const given = await account(bench, { name: 'main', channel: 'sms' })
    assert.equal(await store.accounts.insert(given), true)

    assert.equal(await store.accounts.insert({ ...given, id: bench.newId() }), false)
    assert.equal(await store.accounts.insert({ ...given, id: bench.newId(), channel: 'email' }), true)
    assert.equal(await store.accounts.insert(await account(bench, { name: 'main', channel: 'sms' })), true)
    assert.equal((await store.accounts.list(given.tenantId)).length, 2)
  })

  rule('an account of another tenant, or of nobody, is neither found, changed nor removed', async (bench) => {
    const { store, tenant, newId } = bench
    const given = await account(bench, {})
    await store.accounts.insert(given)
    const before = await store.accounts.find(null, given.id)
    const other = await tenant()

    for (const id of [given.id, newId(), 'no id at all']) {
      assert.equal(await store.accounts.find(other, id), null)
      assert.equal(await store.accounts.update(other, id, { name: 'stolen' }), null)
      assert.equal(await store.accounts.remove(other, id), false)
    }
    assert.equal(await store.accounts.find(null, newId()), null)
    assert.deepEqual(await store.accounts.list(other), [])
    assert.deepEqual(await store.accounts.find(given.tenantId, given.id), before)
  })

  rule('lists accounts by priority, then age, and by channel', async (bench) => {
    const { store, tenant, advance } = bench
    const tenantId = await tenant()
    const insert = async (priority: number, channel: 'sms' | 'email'): Promise<string> => {
      const given = await account(bench, { tenantId, priority, channel })
      await store.accounts.insert(given)
      await advance(2)
      return given.id
    }
    const a = await insert(5, 'sms')
    const b = await insert(1, 'email')
    const c = await insert(1, 'sms')
    const d = await insert(0, 'email')
    const ids = (accounts: StoredAccount[]): string[] => accounts.map(({ id }) => id)

    assert.deepEqual(ids(await store.accounts.list(tenantId)), [d, b, c, a])
    assert.deepEqual(ids(await store.accounts.list(tenantId, 'sms')), [c, a])
    assert.deepEqual(ids(await store.accounts.list(tenantId, 'push')), [])
  })

  rule('changes of an account what is named, and nothing else', async (bench) => {
    const { store, advance } = bench
    const given = await account(bench, { pace: { perSecond: 1, burst: 1 }, sealedSecrets: 'v1', secretNames: ['a'] })
    await store.accounts.insert(given)
    const before = (await store.accounts.find(null, given.id)) ?? assert.fail()
    await advance(5)

    const changed = await store.accounts.update(given.tenantId, given.id, {
      pace: null,
      settings: { host: 'x' },
      priority: 3,
    })

    const { updatedAt, ...rest } = changed ?? assert.fail()
    const { updatedAt: oldUpdatedAt, ...old } = before
    assert.deepEqual(rest, { ...old, pace: null, settings: { host: 'x' }, priority: 3 })
    assert.ok(updatedAt > oldUpdatedAt)
    assert.deepEqual(await store.accounts.find(given.tenantId, given.id), changed)
  })

  rule('changes an account’s status only from where the caller says', async (bench) => {
    const { store, newId } = bench
    const given = await account(bench, {})
    await store.accounts.insert(given)
    const set = store.accounts.setStatus
    const status = async (): Promise<unknown[]> => {
      const found = await store.accounts.find(null, given.id)
      return [found?.status, found?.statusReason]
    }

    assert.equal(await set(given.id, 'paused', 'the credentials were refused', 'system', ['active']), true)
    assert.deepEqual(await status(), ['paused', 'the credentials were refused'])
    assert.equal(await set(given.id, 'paused', 'again', 'system', ['active']), false)
    assert.equal(await set(given.id, 'active', null, 'system', ['suspended']), false)
    assert.deepEqual(await status(), ['paused', 'the credentials were refused'])
    assert.equal(await set(given.id, 'active', null, 'key:ada'), true)
    assert.deepEqual(await status(), ['active', null])
    assert.equal(await set(given.id, 'active', null, 'key:ada'), false)
    assert.equal(await set(newId(), 'active', null, 'key:ada'), false)
  })

  rule('of many who pause an account at once, one does', async (bench) => {
    const { store } = bench
    const given = await account(bench, {})
    await store.accounts.insert(given)

    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => store.accounts.setStatus(given.id, 'paused', 'refused', 'system', ['active'])),
    )

    assert.equal(answers.filter(Boolean).length, 1)
  })

  rule('an account is removed when nothing waits on it', async (bench) => {
    const { store } = bench
    const given = await account(bench, {})
    await store.accounts.insert(given)

    assert.equal(await store.accounts.remove(given.tenantId, given.id), true)

    assert.equal(await store.accounts.find(null, given.id), null)
    assert.deepEqual(await store.lanes.list(given.tenantId), [])
    assert.equal(await store.accounts.remove(given.tenantId, given.id), false)
  })

  for (const status of ['queued', 'retrying', 'sending'] as const)
    rule(`an account is kept while a notification on it is ${status}`, async (bench) => {
      const { store } = bench
      const { lane } = await reach(bench, status)

      await assert.rejects(store.accounts.remove(lane.tenantId, lane.id), (error) =>
        isPillarboxError(error, 'already_exists'),
      )

      assert.ok(await store.accounts.find(null, lane.id))
    })

  rule('a removed account leaves its notifications as they are', async (bench) => {
    const { store, lane: newLane, enqueue, worker, claim, view } = bench
    const lane = await newLane()
    const id = only(await enqueue(lane))
    const by = await worker()
    await store.dispatch.complete(by, [completion(only(await claim(by, lane)), 'sent')])
    const before = await view(id)

    assert.equal(await store.accounts.remove(lane.tenantId, lane.id), true)

    assert.deepEqual(await view(id), before)
  })
}

function catalogueRules(rule: Rule): void {
  rule('a tenant has no catalogue before it is given one', async ({ store, tenant }) => {
    const id = await tenant()

    assert.deepEqual(await store.catalogue.eventTypes(id), [])
    assert.equal(await store.catalogue.eventType(id, 'booking.confirmed'), null)
    assert.deepEqual(await store.catalogue.templates(id, 'booking.confirmed'), [])
    assert.deepEqual(await store.catalogue.entities(id), {})
  })

  rule('keeps a catalogue: event types, entities and templates', async ({ store, tenant, newId }) => {
    const id = await tenant()
    const types = [
      type('booking.confirmed'),
      type('booking.cancelled', { delivery: { kind: 'fallback', channels: ['sms', 'email'] } }),
    ]
    const seeds = [
      seed('booking.confirmed', 'Hi'),
      seed('booking.confirmed', '<p>Hi</p>', { channel: 'email', subject: 'S' }),
    ]

    const { version } = await store.catalogue.replace(id, catalogue(types, seeds), newId)

    assert.equal(version, 1)
    assert.deepEqual(sorted(await store.catalogue.eventTypes(id)), sorted(types))
    assert.deepEqual(await store.catalogue.eventType(id, 'booking.cancelled'), types[1])
    assert.deepEqual(await store.catalogue.entities(id), { booking: 'bookings' })
    const templates = await store.catalogue.templates(id, 'booking.confirmed')
    assert.equal(templates.length, seeds.length)
    for (const given of seeds) {
      const { id: templateId, ...kept } = only(templates.filter(({ channel }) => channel === given.channel))
      assert.deepEqual(kept, { tenantId: id, ...given, version: 1, isActive: true })
      assert.match(templateId, /^[0-9a-f-]{36}$/)
    }
    assert.deepEqual(await store.catalogue.templates(id, 'booking.cancelled'), [])
  })

  rule('a new catalogue replaces event types and entities, and has the next version', async (bench) => {
    const { store, tenant, newId } = bench
    const id = await tenant()
    await store.catalogue.replace(id, catalogue([type('old'), type('kept')], []), newId)

    const next = { ...catalogue([type('kept', { afterMs: 5_000 }), type('new')], []), entities: { trip: 'trips' } }
    const { version } = await store.catalogue.replace(id, next, newId)

    assert.equal(version, 2)
    assert.deepEqual(sorted(await store.catalogue.eventTypes(id)), sorted(next.eventTypes))
    assert.equal(await store.catalogue.eventType(id, 'old'), null)
    assert.deepEqual(await store.catalogue.entities(id), { trip: 'trips' })
  })

  rule(
    'a new catalogue updates templates whose text changed, and leaves the others at their version',
    async (bench) => {
      const { store, tenant, newId } = bench
      const id = await tenant()
      const types = [type('t')]
      const first = [
        seed('t', 'same'),
        seed('t', 'old', { channel: 'email' }),
        seed('t', 'x', { channel: 'push', subject: 'a' }),
      ]
      await store.catalogue.replace(id, catalogue(types, first), newId)
      const before = new Map((await store.catalogue.templates(id, 't')).map((template) => [template.channel, template]))

      const second = [
        seed('t', 'same'),
        seed('t', 'new', { channel: 'email' }),
        seed('t', 'x', { channel: 'push', subject: 'b' }),
        seed('t', 'hallo', { locale: 'de' }),
      ]
      await store.catalogue.replace(id, catalogue(types, second), newId)

      const after = await store.catalogue.templates(id, 't')
      assert.equal(after.length, 4)
      const find = (channel: string, locale = 'en') =>
        only(after.filter((t) => t.channel === channel && t.locale === locale))
      assert.deepEqual(find('sms'), before.get('sms'))
      assert.deepEqual(find('email'), { ...before.get('email'), body: 'new', version: 2 })
      assert.deepEqual(find('push'), { ...before.get('push'), subject: 'b', version: 2 })
      assert.deepEqual([find('sms', 'de').body, find('sms', 'de').version], ['hallo', 1])
    },
  )

  rule('one tenant’s catalogue is no other’s', async ({ store, tenant, newId }) => {
    const [a, b] = [await tenant(), await tenant()]
    await store.catalogue.replace(a, catalogue([type('t')], [seed('t', 'of a')]), newId)
    await store.catalogue.replace(b, catalogue([type('t', { once: 'per-event' })], [seed('t', 'of b')]), newId)

    await store.catalogue.replace(a, catalogue([type('u')], []), newId)

    assert.equal((await store.catalogue.eventType(b, 't'))?.once, 'per-event')
    assert.equal(await store.catalogue.eventType(b, 'u'), null)
    assert.equal(only(await store.catalogue.templates(b, 't')).body, 'of b')
  })

  rule('of catalogues imported at the same time, one is in force as a whole', async ({ store, tenant, newId }) => {
    const id = await tenant()
    const imports = ['x', 'y', 'z'].map((name) =>
      catalogue([type(`${name}.1`), type(`${name}.2`)], [seed(`${name}.1`, name)]),
    )

    const versions = await Promise.all(imports.map((given) => store.catalogue.replace(id, given, newId)))

    assert.deepEqual(new Set(versions.map(({ version }) => version)), new Set([1, 2, 3]))
    const names = (await store.catalogue.eventTypes(id)).map(({ name }) => name.slice(0, 1))
    assert.equal(names.length, 2)
    assert.equal(new Set(names).size, 1)
  })
}

async function account(
  bench: Bench,
  changes: Partial<StoredAccount>,
): Promise<Omit<StoredAccount, 'createdAt' | 'updatedAt'>> {
  const id = bench.newId()
  return {
    id,
    tenantId: changes.tenantId ?? (await bench.tenant()),
    channel: 'email',
    provider: 'sandbox',
    name: `account ${id}`,
    settings: {},
    sealedSecrets: null,
    secretNames: [],
    pace: null,
    retry: null,
    onUnknown: 'resend',
    breaker: { failures: 5, resetAfterMs: 30_000 },
    priority: 0,
    status: 'active',
    statusReason: null,
    ...changes,
  }
}

function catalogue(eventTypes: EventType[], templates: TemplateSeed[]): Catalogue {
  return { name: 'atlas', defaultLocale: 'en', entities: { booking: 'bookings' }, eventTypes, templates }
}

function type(name: string, changes: Partial<EventType> = {}): EventType {
  const recipients = [{ phone: 'guest.phone', email: 'guestEmail' }]
  return { name, entity: 'booking', once: 'per-entity', recipients, delivery: { kind: 'all' }, afterMs: 0, ...changes }
}

function seed(eventType: string, body: string, changes: Partial<TemplateSeed> = {}): TemplateSeed {
  return { eventType, channel: 'sms', locale: 'en', subject: null, body, ...changes }
}

function sorted(types: readonly EventType[]): EventType[] {
  return types.toSorted((a, b) => a.name.localeCompare(b.name))
}

import assert from 'node:assert/strict'
import type { StoredAccount } from '../../packages/pillarbox/src/model/account.ts'
import type { Catalogue, EventType, TemplateSeed } from '../../packages/pillarbox/src/model/catalogue.ts'
import { isPillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import type { Template } from '../../packages/pillarbox/src/model/template.ts'
import type { NewKeyRecord } from '../../packages/pillarbox/src/operate/key-store.ts'
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
  const key = (bench: Bench, changes: Partial<NewKeyRecord>): NewKeyRecord => ({
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
    assert.deepEqual(kept, { ...given, revokedAt: null, lastUsedAt: null })
    assertBetween(createdAt, before, await store.now())
    assert.equal(await store.keys.findByHash('hash-2'), null)
    assert.equal(await store.keys.findByHash(''), null)
  })

  rule('notes when a key was last used', async (bench) => {
    const { store } = bench
    const given = key(bench, {})
    await store.keys.insert(given, 'hash-used')
    const before = await store.now()

    await store.keys.noteUse(given.id)

    const { lastUsedAt } = (await store.keys.findByHash('hash-used')) ?? assert.fail()
    assertBetween(lastUsedAt ?? 0, before, await store.now())
  })

  rule('replaces a key, which expires never later than it would have', async (bench) => {
    const { store } = bench
    const now = await store.now()
    const [lasting, short] = [key(bench, { name: 'lasting' }), key(bench, { expiresAt: now + 60_000 })]
    await store.keys.insert(lasting, 'hash-lasting')
    await store.keys.insert(short, 'hash-short')

    const at = now + 3_600_000
    const replace = (tenantId: string | null, former: string, hash: string) =>
      store.keys.replace(tenantId, former, { ...key(bench, {}), hash, at }, 'key:ada')
    const replaced = (await replace(null, lasting.id, 'hash-next')) ?? assert.fail()
    assert.equal(replaced.former.expiresAt, at)
    const { name, expiresAt, id } = (await store.keys.findByHash('hash-next')) ?? assert.fail()
    assert.deepEqual([name, expiresAt, id], ['lasting', null, replaced.made.id])
    assert.equal((await replace(null, short.id, 'hash-after-short'))?.former.expiresAt, now + 60_000)
    assert.equal(await replace('nobody', lasting.id, 'hash-of-nobody'), null)
    await store.keys.revoke(null, lasting.id)
    assert.equal(await replace(null, lasting.id, 'hash-too-late'), null)
    const { items } = await store.audit.list({ action: 'expire', subject: `key:${lasting.id}` }, { limit: 10 })
    assert.deepEqual(
      items.map(({ actor, after }) => [actor, after?.['expiresAt']]),
      [['key:ada', new Date(at).toISOString()]],
    )
  })

  rule('leaves a key as it is where the one in its place cannot be written', async (bench) => {
    const { store } = bench
    const former = key(bench, {})
    await store.keys.insert(former, 'hash-former')

    const next = { id: former.id, hash: 'hash-unwritten', at: await store.now() }
    await assert.rejects(store.keys.replace(null, former.id, next, 'key:ada'))

    assert.equal((await store.keys.findByHash('hash-former'))?.expiresAt, null)
    assert.equal(await store.keys.findByHash('hash-unwritten'), null)
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
      parkedRetryAfterMs: 3_600_000,
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

  rule('lists the accounts of a provider over all tenants, by age', async (bench) => {
    const { store, tenant, advance } = bench
    const insert = async (provider: string): Promise<StoredAccount['id']> => {
      const given = await account(bench, { tenantId: await tenant(), provider })
      await store.accounts.insert(given)
      await advance(2)
      return given.id
    }
    const a = await insert('of-two-a')
    const b = await insert('of-two-b')
    await insert('of-none')
    const c = await insert('of-two-a')
    const removed = await account(bench, { provider: 'of-two-a' })
    await store.accounts.insert(removed)
    await store.accounts.remove(removed.tenantId, removed.id)
    const ids = async (...providers: string[]): Promise<string[]> =>
      (await store.accounts.listOfProviders(providers)).map(({ id }) => id)

    assert.deepEqual(await ids('of-two-b', 'of-two-a'), [a, b, c])
    assert.deepEqual(await ids('of-two-b'), [b])
    assert.deepEqual(await ids('of-nobody'), [])
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

  rule('changes an account only while its secrets are what the caller has seen', async (bench) => {
    const { store } = bench
    const [sealed, bare] = [await account(bench, { sealedSecrets: 'v1', secretNames: ['a'] }), await account(bench, {})]
    for (const given of [sealed, bare]) await store.accounts.insert(given)
    const change = (given: typeof sealed, from: string | null) =>
      store.accounts.update(
        given.tenantId,
        given.id,
        { sealedSecrets: 'v2', priority: 3 },
        { from: { sealedSecrets: from } },
      )

    assert.equal(await change(sealed, 'v0'), null)
    assert.equal(await change(sealed, null), null)
    assert.equal((await store.accounts.find(null, sealed.id))?.priority, sealed.priority)
    assert.equal((await change(sealed, 'v1'))?.sealedSecrets, 'v2')
    assert.equal(await change(sealed, 'v1'), null)
    assert.equal((await change(bare, null))?.priority, 3)
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
    assert.deepEqual(await store.catalogue.entities(id), {})
    assert.equal(await store.catalogue.current(id), null)
    assert.deepEqual(await store.catalogue.versions(id), [])
    assert.equal(await store.catalogue.version(id, 1), null)
    assert.deepEqual(await store.catalogue.cancelledBy(id, 'booking.cancelled'), [])
  })

  rule('keeps every field of an event type, and the entities', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    const types = [
      type('booking.confirmed', {
        description: 'A guest has booked.',
        payload: { type: 'object', required: ['bookingId'], properties: { bookingId: { type: 'integer' } } },
        recipients: [
          { list: 'ops-team', expand: true },
          { phone: 'passengers[].phone', profileId: 'passengers[].id' },
        ],
        timing: { offsetMs: -86_400_000, field: 'departureDate', at: '09:00', ifPast: 'skip' },
        replaces: true,
        cancelledBy: ['booking.cancelled'],
        approval: true,
        secrets: ['rsvp.token'],
        scopes: [{ type: 'listing', path: 'listingId' }],
        conversation: { type: 'trip', path: 'tripId' },
        expiresAfterMs: 3_600_000,
        retry: { delays: ['PT1M'] },
        onUndeliverable: 'fail',
      }),
      type('booking.cancelled', { delivery: { kind: 'fallback', channels: ['sms', 'email'] }, conversation: 'entity' }),
    ]

    await replace(bench, id, catalogue(types))

    assert.deepEqual(sorted(await store.catalogue.eventTypes(id)), sorted(types))
    assert.deepEqual(await store.catalogue.eventType(id, 'booking.confirmed'), types[0])
    assert.deepEqual(await store.catalogue.entities(id), { booking: 'bookings' })
  })

  rule('what events can be about is known of a tenant, and of all together', async (bench) => {
    const { store, tenant } = bench
    const [one, other] = [await tenant(), await tenant()]
    const entities = { journey: 'journeys' }
    await replace(bench, one, {
      ...catalogue([type('a', { entity: 'seat' }), type('b', { entity: 'seat' })]),
      entities,
    })
    await replace(bench, other, { ...catalogue([type('c', { entity: 'journey' })]), entities })

    assert.deepEqual((await store.catalogue.entityTypes(one)).toSorted(), ['journey', 'seat'])
    assert.deepEqual(await store.catalogue.entityTypes(other), ['journey'])
    assert.deepEqual(await store.catalogue.entityTypes(await tenant()), [])
    const all = await store.catalogue.entityTypes(null)
    assert.deepEqual(all.filter((name) => ['journey', 'seat'].includes(name)).toSorted(), ['journey', 'seat'])
  })

  rule('a new catalogue replaces event types and entities, and has the next version', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    await replace(bench, id, catalogue([type('old'), type('kept')]))

    const later = { offsetMs: 5_000, field: null, at: null, ifPast: 'send' } as const
    const next = { ...catalogue([type('kept', { timing: later }), type('new')]), entities: { trip: 'trips' } }
    const { version } = await replace(bench, id, next)

    assert.equal(version, 2)
    assert.deepEqual(sorted(await store.catalogue.eventTypes(id)), sorted(next.eventTypes))
    assert.equal(await store.catalogue.eventType(id, 'old'), null)
    assert.deepEqual(await store.catalogue.entities(id), { trip: 'trips' })
  })

  rule('keeps every version of a catalogue as it was given, with who brought it and when', async (bench) => {
    const { store, tenant, newId } = bench
    const id = await tenant()
    const before = await store.now()
    const names = ['first', 'second', 'third']
    for (const name of names) {
      const given = { ...catalogue([type('t')]), name, defaultLocale: 'de' }
      await store.catalogue.replace(id, given, { document: `name: ${name}\n# a word`, actor: `key:${name}`, newId })
    }

    const current = (await store.catalogue.current(id)) ?? assert.fail()

    const { importedAt, ...rest } = current
    assert.deepEqual(rest, {
      version: 3,
      name: 'third',
      defaultLocale: 'de',
      document: 'name: third\n# a word',
      importedBy: 'key:third',
    })
    assertBetween(importedAt, before, await store.now())
    const versions = await store.catalogue.versions(id)
    assert.deepEqual(
      versions.map(({ version, name, importedBy }) => [version, name, importedBy]),
      [
        [3, 'third', 'key:third'],
        [2, 'second', 'key:second'],
        [1, 'first', 'key:first'],
      ],
    )
    assert.ok(versions.every((version) => !('document' in version)))
    assert.equal((await store.catalogue.version(id, 1))?.document, 'name: first\n# a word')
    for (const version of [0, 4, -1, 1.5, 1e12, Number.NaN])
      assert.equal(await store.catalogue.version(id, version), null)
  })

  rule('lists at most the newest hundred versions', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    for (let i = 0; i < 102; i++) await replace(bench, id, catalogue([]))

    const versions = await store.catalogue.versions(id)

    assert.deepEqual([versions.length, at(versions, 0).version, at(versions, 99).version], [100, 102, 3])
  })

  rule('knows which event types another one cancels', async (bench) => {
    const { store, tenant } = bench
    const [id, other] = [await tenant(), await tenant()]
    await replace(
      bench,
      id,
      catalogue([
        type('reminder', { cancelledBy: ['trip.cancelled', 'trip_cancelled'] }),
        type('invoice', { cancelledBy: ['trip.cancelled'] }),
        type('trip.cancelled', { description: '"tripXcancelled"' }),
        type('trip.late'),
      ]),
    )
    await replace(bench, other, catalogue([type('foreign', { cancelledBy: ['trip.cancelled'] })]))

    assert.deepEqual((await store.catalogue.cancelledBy(id, 'trip.cancelled')).sort(), ['invoice', 'reminder'])
    assert.deepEqual(await store.catalogue.cancelledBy(id, 'trip_cancelled'), ['reminder'])
    for (const name of ['trip.late', 'tripXcancelled', 'TRIP.CANCELLED', 'cancelled', '', '%', 'a\\'])
      assert.deepEqual(await store.catalogue.cancelledBy(id, name), [], name)
  })

  rule('one tenant’s catalogue is no other’s', async (bench) => {
    const { store, tenant } = bench
    const [a, b] = [await tenant(), await tenant()]
    await replace(bench, a, catalogue([type('t')], [seed('t', 'of a')]))
    await replace(bench, b, catalogue([type('t', { once: 'per-event' })], [seed('t', 'of b')]))

    await replace(bench, a, catalogue([type('u')]))

    assert.equal((await store.catalogue.eventType(b, 't'))?.once, 'per-event')
    assert.equal(await store.catalogue.eventType(b, 'u'), null)
    assert.equal(only(await store.templates.ofEventType(b, 't')).body, 'of b')
    assert.equal((await store.catalogue.versions(b)).length, 1)
    assert.equal(await store.catalogue.version(b, 2), null)
  })

  rule('a catalogue for nobody is refused', async (bench) => {
    await assert.rejects(replace(bench, 'nobody', catalogue([type('t')])), (error) =>
      isPillarboxError(error, 'not_found'),
    )
  })

  rule('of catalogues imported at the same time, one is in force as a whole', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    const imports = ['x', 'y', 'z'].map((name) =>
      catalogue([type(`${name}.1`), type(`${name}.2`)], [seed('same', name), seed(`${name}.1`, name)]),
    )

    const versions = await Promise.all(imports.map((given) => replace(bench, id, given)))

    assert.deepEqual(new Set(versions.map(({ version }) => version)), new Set([1, 2, 3]))
    const names = (await store.catalogue.eventTypes(id)).map(({ name }) => name.slice(0, 1))
    assert.equal(names.length, 2)
    assert.equal(new Set(names).size, 1)
    const shared = only(await store.templates.ofEventType(id, 'same'))
    assert.deepEqual([shared.body, shared.version], [names[0], 3])
  })

  importRules(rule)
}

/** What an import does to templates. */
function importRules(rule: Rule): void {
  rule('a catalogue brings its templates, with all that they say', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    const seeds = [
      seed('t', 'Hi'),
      seed('t', 'Hi there', { scope: { type: 'listing', id: '10' } }),
      seed('t', '<p>Hi</p>', { channel: 'email', subject: 'S', format: 'text' }),
      seed('t', 'Hi', {
        channel: 'whatsapp',
        providerTemplate: { name: 'hi', language: 'en', components: [{ a: 1 }] },
      }),
    ]

    const { version, kept } = await replace(bench, id, catalogue([type('t')], seeds))

    assert.deepEqual([version, kept], [1, []])
    const templates = await store.templates.ofEventType(id, 't')
    assert.equal(templates.length, seeds.length)
    for (const given of seeds) {
      const found = templates.filter(({ channel, scope }) => channel === given.channel && !scope === !given.scope)
      const { id: templateId, createdAt, updatedAt, ...rest } = only(found)
      const expected = {
        tenantId: id,
        ...given,
        version: 1,
        isActive: true,
        isEdited: false,
        updatedBy: 'key:importer',
      }
      assert.deepEqual(rest, expected)
      assert.equal(createdAt, updatedAt)
      assert.match(templateId, /^[0-9a-f-]{36}$/)
      const { changedAt, changedBy, ...first } = only(await store.templates.versions(id, templateId))
      const { subject, body, format, providerTemplate } = given
      assert.deepEqual(first, { version: 1, subject, body, format, providerTemplate, isActive: true })
      assert.deepEqual([changedAt, changedBy], [createdAt, 'key:importer'])
    }
    assert.deepEqual(await store.templates.ofEventType(id, 'other'), [])
  })

  rule(
    'an import brings templates up to date that nobody edited, and leaves the same ones as they are',
    async (bench) => {
      const { store, tenant, advance } = bench
      const id = await tenant()
      const first = [
        seed('t', 'same'),
        seed('t', 'old', { channel: 'email' }),
        seed('t', 'x', { channel: 'push', subject: 'a' }),
        seed('t', 'w', { channel: 'whatsapp', providerTemplate: { name: 'a' } }),
        seed('t', '<p>', { channel: 'in_app' }),
        seed('t', 'not named again', { locale: 'fr' }),
      ]
      await replace(bench, id, catalogue([type('t')], first))
      const before = await store.templates.ofEventType(id, 't')
      await advance(5)

      const second = [
        seed('t', 'same'),
        seed('t', 'new', { channel: 'email' }),
        seed('t', 'x', { channel: 'push', subject: 'b' }),
        seed('t', 'w', { channel: 'whatsapp', providerTemplate: { name: 'b' } }),
        seed('t', '<p>', { channel: 'in_app', format: 'text' }),
        seed('t', 'hallo', { locale: 'de' }),
      ]
      const { kept } = await replace(bench, id, catalogue([type('t')], second))

      assert.deepEqual(kept, [])
      const after = await store.templates.ofEventType(id, 't')
      const find = (templates: Template[], channel: string, locale = 'en') =>
        only(templates.filter((template) => template.channel === channel && template.locale === locale))
      assert.equal(after.length, 7)
      assert.deepEqual(find(after, 'sms'), find(before, 'sms'))
      assert.deepEqual(find(after, 'sms', 'fr'), find(before, 'sms', 'fr'))
      for (const [channel, change] of [
        ['email', { body: 'new' }],
        ['push', { subject: 'b' }],
        ['whatsapp', { providerTemplate: { name: 'b' } }],
        ['in_app', { format: 'text' }],
      ] as const) {
        const { updatedAt, ...rest } = find(after, channel)
        const { updatedAt: updatedBefore, ...old } = find(before, channel)
        assert.deepEqual(rest, { ...old, ...change, version: 2 })
        assert.ok(updatedAt > updatedBefore)
        const versions = await store.templates.versions(id, rest.id)
        assert.deepEqual(
          versions.map(({ version, subject, body, format, providerTemplate }) => ({
            version,
            subject,
            body,
            format,
            providerTemplate,
          })),
          [rest, old].map(({ version, subject, body, format, providerTemplate }) => ({
            version,
            subject,
            body,
            format,
            providerTemplate,
          })),
        )
      }
      assert.deepEqual([find(after, 'sms', 'de').body, find(after, 'sms', 'de').version], ['hallo', 1])
    },
  )

  rule('domain events are those of the current version', async (bench) => {
    const { store } = bench
    const id = await bench.tenant()
    const none = await store.catalogue.domainEvents(id)
    const domainEvents = { CheckoutAbandoned: ['a', 'b'], LedgerClosed: [] }

    await replace(bench, id, { ...catalogue([type('a'), type('b')]), domainEvents })
    const first = await store.catalogue.domainEvents(id)
    await replace(bench, id, catalogue([type('a')]))

    assert.deepEqual([none, first, await store.catalogue.domainEvents(id)], [{}, domainEvents, {}])
  })

  rule('keeps where the events of the current catalogue come from', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    const none = await store.catalogue.sources(id)
    const sources = { hasura: { booked: { eventType: 'a', entityId: 'new.id', payload: { x: 'new.x' } } } }

    await replace(bench, id, { ...catalogue([type('a')]), sources })
    const first = await store.catalogue.sources(id)
    await replace(bench, id, catalogue([type('a')]))

    const last = await store.catalogue.sources(id)
    assert.deepEqual([none, first, last], [{ hasura: {} }, sources, { hasura: {} }])
  })

  rule('an import keeps what was edited, and names what it kept', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    const given = catalogue([type('t')], [seed('t', 'ours'), seed('t', 'off', { channel: 'email' })])
    await replace(bench, id, given)
    const [off, ours] = await store.templates.ofEventType(id, 't')
    const edited = await store.templates.update(id, ours?.id ?? '', { body: 'theirs' }, 'key:ada')
    const deactivated = await store.templates.update(id, off?.id ?? '', { isActive: false }, 'key:ada')

    const { kept } = await replace(bench, id, given)

    assert.deepEqual(kept, [deactivated, edited])
    assert.deepEqual(await store.templates.ofEventType(id, 't'), [deactivated, edited])
  })

  rule('an import keeps what somebody wrote in a place before the catalogue did', async (bench) => {
    const { store, tenant, newId } = bench
    const id = await tenant()
    const { isActive, ...place } = { ...seed('t', 'by hand'), isActive: true }
    const written = await store.templates.insert({ id: newId(), tenantId: id, ...place, isActive }, 'key:ada')

    const { kept } = await replace(bench, id, catalogue([type('t')], [seed('t', 'by the catalogue')]))

    assert.deepEqual(kept, [written])
    assert.deepEqual(await store.templates.ofEventType(id, 't'), [written])
  })

  rule('an import does not name an edited template that says the same', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    await replace(bench, id, catalogue([type('t')], [seed('t', 'old')]))
    const template = only(await store.templates.ofEventType(id, 't'))
    await store.templates.update(id, template.id, { body: 'new' }, 'key:ada')

    const { kept } = await replace(bench, id, catalogue([type('t')], [seed('t', 'new')]))

    assert.deepEqual(kept, [])
    assert.equal((await store.templates.find(id, template.id))?.version, 2)
  })

  rule('imports a large catalogue', async (bench) => {
    const { store, tenant } = bench
    const id = await tenant()
    const names = Array.from({ length: 300 }, (_, i) => `type.${i}`)
    const seeds = names.flatMap((name) => [seed(name, `words of ${name}`), seed(name, 'x', { channel: 'email' })])

    await replace(
      bench,
      id,
      catalogue(
        names.map((name) => type(name)),
        seeds,
      ),
    )
    const { kept, version } = await replace(
      bench,
      id,
      catalogue(
        names.map((name) => type(name)),
        seeds,
      ),
    )

    assert.deepEqual([kept, version], [[], 2])
    assert.equal((await store.catalogue.eventTypes(id)).length, 300)
    assert.equal((await allPages((page) => store.templates.list(id, {}, page), 200)).length, 600)
  })
}

function replace({ store, newId }: Bench, tenantId: string, given: Catalogue) {
  return store.catalogue.replace(tenantId, given, { document: given.name, actor: 'key:importer', newId })
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

function catalogue(eventTypes: EventType[], templates: TemplateSeed[] = []): Catalogue {
  const entities = { booking: 'bookings' }
  return {
    name: 'atlas',
    defaultLocale: 'en',
    tenantDefaults: {},
    entities,
    eventTypes,
    templates,
    domainEvents: {},
    sources: { hasura: {} },
  }
}

function type(name: string, changes: Partial<EventType> = {}): EventType {
  return {
    name,
    description: null,
    entity: 'booking',
    once: 'per-entity',
    payload: null,
    recipients: [{ phone: 'guest.phone', email: 'guestEmail' }],
    delivery: { kind: 'all' },
    timing: { offsetMs: 0, field: null, at: null, ifPast: 'send' },
    replaces: false,
    cancelledBy: [],
    approval: false,
    secrets: [],
    scopes: [],
    conversation: null,
    expiresAfterMs: null,
    retry: null,
    onUndeliverable: null,
    ...changes,
  }
}

function seed(eventType: string, body: string, changes: Partial<TemplateSeed> = {}): TemplateSeed {
  const words = { subject: null, body, format: null, providerTemplate: null }
  return { eventType, channel: 'sms', locale: 'en', scope: null, ...words, ...changes }
}

function sorted(types: readonly EventType[]): EventType[] {
  return types.toSorted((a, b) => a.name.localeCompare(b.name))
}

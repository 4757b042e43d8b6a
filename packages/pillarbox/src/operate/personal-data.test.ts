import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { sampleNotification, silent, storedAccount } from '../../../../test/support/samples.ts'
import type { Channel } from '../model/channel.ts'
import type { NewNotification } from '../model/notification.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import { withSealedTokens } from '../security/seal-tokens.ts'
import { createTokenSeal } from '../security/token-seal.ts'
import { openSqlite } from '../store/sqlite/open.ts'
import { erasePerson, exportPerson, type PersonalDeps, type Subject } from './personal-data.ts'

const OPERATOR = { tenantId: 'acme', actor: 'key:ada' }

async function setup(t: TestContext) {
  const clock = createManualClock()
  const ids = createIdSource(clock, systemRandom())
  const tokens = createTokenSeal(Buffer.alloc(32, 3))
  const store = withSealedTokens(await openSqlite({ path: ':memory:', clock, logger: silent }), tokens)
  t.after(() => store.close())
  await store.migrate()
  await store.tenants.insert({ id: 'acme', name: 'Acme', defaultLocale: 'en', timeZone: 'UTC', settings: {} })
  const accountId = ids()
  const { createdAt: _created, updatedAt: _updated, ...account } = storedAccount({ id: accountId })
  await store.accounts.insert(account)
  const submit = async (changes: Partial<NewNotification>): Promise<string> => {
    const id = ids()
    await store.notifications.insert([sampleNotification({ id, idempotencyKey: id, accountId, ...changes })])
    return id
  }
  const deps: PersonalDeps = { store, tokens, clock }
  const { signal: stop } = new AbortController()
  const erase = (subject: Subject, cursor?: string) =>
    erasePerson(deps, OPERATOR, subject, { note: 'asked', cursor, stop })
  const show = (subject: Subject, cursor?: string) =>
    exportPerson(deps, OPERATOR, subject, { cursor, mostItems: 1_000, stop })
  return { clock, store, ids, accountId, deps, submit, erase, show }
}

describe('erasing one person’s data', () => {
  it('leaves a ban on every channel, of which nobody can tell whose it is', async (t) => {
    const { store, ids, erase } = await setup(t)
    const bans: [Channel, string, string][] = [
      ['email', 'Ada@Example.test', 'ADA@example.test'],
      ['sms', '+919876543210', '+919876543210'],
      ['whatsapp', '+919876543210', '+919876543210'],
      ['push', 'a-device-token-of-thirty-two-characters', 'a-device-token-of-thirty-two-characters'],
      ['in_app', 'ada-1', 'ada-1'],
    ]
    for (const [channel, address] of bans)
      await store.suppressions.insert({
        id: ids(),
        tenantId: 'acme',
        channel,
        address,
        cause: 'bounced',
        error: `no mailbox ${address}`,
        notificationId: null,
        createdBy: 'system',
      })

    for (const address of new Set(bans.map(([, given]) => given))) await erase({ address })

    const { items } = await store.suppressions.list('acme', {}, { limit: 10 })
    assert.equal(items.length, bans.length)
    for (const { address, error } of items) assert.deepEqual([address.slice(0, 7), error], ['erased:', null])
    for (const [channel, address, asked] of bans) {
      const found = await store.suppressions.among('acme', channel, [asked, `${asked}0`])
      assert.deepEqual(
        found.map((ban) => ban.address),
        [channel === 'email' ? address.toLowerCase() : address],
        channel,
      )
    }
  })

  it('leaves what is being sent, and the contact it leads to, until it is over', async (t) => {
    const { store, ids, accountId, submit, erase, show } = await setup(t)
    const [person] = await store.people.resolve([{ tenantId: 'acme', phone: '+919876543210', conversation: null }], ids)
    const contactId = person?.contact?.id ?? ''
    const id = await submit({ to: { phone: '+919876543210' }, contactId })
    const worker = ids()
    await store.workers.register({ id: worker, host: 'here', pid: 1, version: '1', channels: null })
    const claimed = await store.dispatch.claim(worker, [{ accountId, limit: 1 }])
    assert.ok(!claimed.fenced && claimed.claims.length === 1)

    const { remains } = await erase({ contactId })

    assert.equal(remains.find(({ what }) => what === 'notifications')?.count, 1)
    assert.deepEqual((await store.notifications.find('acme', id))?.to, { phone: '+919876543210' })
    assert.ok(await store.people.findContact('acme', contactId))
    assert.ok((await show({ contactId })).items.some(({ table }) => table === 'contacts'))
  })

  it('still knows on its last page what was being sent on an earlier one', async (t) => {
    const { store, deps, ids, accountId, submit, erase } = await setup(t)
    const [person] = await store.people.resolve([{ tenantId: 'acme', phone: '+919876543210', conversation: null }], ids)
    const contactId = person?.contact?.id ?? ''
    await submit({ to: { phone: '+919876543210' }, contactId })
    const worker = ids()
    await store.workers.register({ id: worker, host: 'here', pid: 1, version: '1', channels: null })
    await store.dispatch.claim(worker, [{ accountId, limit: 1 }])
    const over = new AbortController()
    const personal: PersonalDeps['store']['personal'] = {
      ...store.personal,
      erase: async (step, stretch) => {
        if (step === 'notifications') over.abort()
        return await store.personal.erase(step, stretch)
      },
    }
    const stopped = { ...deps, store: { ...store, personal } }
    const begun = await erasePerson(stopped, OPERATOR, { contactId }, { note: 'asked', stop: over.signal })
    assert.ok(begun.nextCursor !== null)

    const { remains, nextCursor } = await erase({ contactId }, begun.nextCursor)

    assert.equal(nextCursor, null)
    assert.equal(remains.find(({ what }) => what === 'notifications')?.count, 1)
    assert.ok(await store.people.findContact('acme', contactId), 'the contact leads to what is being sent')
  })

  it('puts on record that it was done, by whom and why', async (t) => {
    const { store, erase, submit } = await setup(t)
    await submit({ to: { phone: '+919876543210' } })

    await erase({ address: '98765 43210, no number' })
    await erase({ address: '+919876543210' })

    const { items } = await store.audit.list({ tenantId: 'acme', action: 'erase' }, { limit: 5 })
    assert.deepEqual(
      items.map(({ actor, note }) => [actor, note]),
      [
        ['key:ada', 'asked'],
        ['key:ada', 'asked'],
      ],
    )
  })

  it('is on record before anything is changed, also where it is never ended', async (t) => {
    const { store, deps, ids, submit } = await setup(t)
    const [person] = await store.people.resolve([{ tenantId: 'acme', phone: '+919876543210', conversation: null }], ids)
    const contactId = person?.contact?.id ?? ''
    await submit({ to: { phone: '+919876543210' }, contactId })
    const personal: PersonalDeps['store']['personal'] = {
      ...store.personal,
      erase: async (step, stretch) => {
        if (step === 'contacts') throw new Error('broken')
        return await store.personal.erase(step, stretch)
      },
    }
    const { signal: stop } = new AbortController()
    const broken = { ...deps, store: { ...store, personal } }
    await assert.rejects(erasePerson(broken, OPERATOR, { contactId }, { note: 'asked', stop }), /broken/)

    const { items } = await store.audit.list({ tenantId: 'acme', action: 'erase' }, { limit: 5 })
    assert.deepEqual(
      items.map(({ actor, subject, note }) => [actor, subject, note]),
      [['key:ada', `contact:${contactId}`, 'asked']],
    )
  })

  it('leaves no address of the person in the reason that was given', async (t) => {
    const { store, deps } = await setup(t)
    const { signal: stop } = new AbortController()

    await erasePerson(deps, OPERATOR, { address: 'ada@example.test' }, { note: 'letter of ada@example.test', stop })

    const { items } = await store.audit.list({ tenantId: 'acme', action: 'erase' }, { limit: 5 })
    assert.deepEqual([items.length, items[0]?.actor], [1, 'key:ada'])
    assert.ok(!JSON.stringify(items).includes('ada@example.test'))
  })

  it('is on record once, however many answers it takes', async (t) => {
    const { store, deps, erase } = await setup(t)
    const subject = { address: '+919876543210' }
    const over = new AbortController()
    const personal: PersonalDeps['store']['personal'] = {
      ...store.personal,
      erase: async (step, stretch) => {
        over.abort()
        return await store.personal.erase(step, stretch)
      },
    }
    const begun = await erasePerson({ ...deps, store: { ...store, personal } }, OPERATOR, subject, {
      note: 'asked',
      stop: over.signal,
    })
    await erase(subject, begun.nextCursor ?? assert.fail('it ended'))

    const { items } = await store.audit.list({ tenantId: 'acme', action: 'erase' }, { limit: 5 })
    assert.equal(items.length, 1)
  })

  it('goes on where an earlier answer ended, and refuses a cursor that it never gave', async (t) => {
    const { deps, erase, show, submit } = await setup(t)
    for (let i = 0; i < 3; i++) await submit({ to: { phone: '+919876543210' } })
    const over = new AbortController()
    over.abort()
    const subject = { address: '+919876543210' }
    const begun = await erasePerson(deps, OPERATOR, subject, { note: 'asked', stop: over.signal })
    assert.ok(begun.nextCursor !== null)

    const done = await erase(subject, begun.nextCursor)

    assert.deepEqual([done.nextCursor, done.erased['notifications']], [null, 3])
    assert.deepEqual((await show(subject)).items, [])
    for (const cursor of ['', 'x', '99.', '0', '0.', '0.x.', '0.1'])
      await assert.rejects(erase(subject, cursor), { code: 'invalid_body' }, cursor)
  })

  it('does not know a contact that is not there', async (t) => {
    const { erase } = await setup(t)

    await assert.rejects(erase({ contactId: '019bc186-0000-7000-8000-000000000000' }), { code: 'not_found' })
  })
})

describe('exporting one person’s data', () => {
  it('is on record wherever it begins at the beginning, and only there', async (t) => {
    const { store, deps, show } = await setup(t)
    const subject = { address: '+919876543210' }
    const over = new AbortController()
    over.abort()
    const begun = await exportPerson(deps, OPERATOR, subject, { mostItems: 1, stop: over.signal })
    const exports = async () => (await store.audit.list({ tenantId: 'acme', action: 'export' }, { limit: 5 })).items
    assert.deepEqual(await exports(), [], 'nothing was looked at yet')

    await show(subject, begun.nextCursor ?? assert.fail('it ended'))

    assert.deepEqual(
      (await exports()).map(({ actor }) => actor),
      ['key:ada'],
    )
  })

  it('takes a short word for a user id, and changes nothing that others wrote or were told', async (t) => {
    const { store, submit, erase, show } = await setup(t)
    const content = { subject: null, body: 'Your gate is 42, body and all', data: { phone: 'x' } }
    const id = await submit({ to: { phone: '+919876543210' }, idempotencyKey: 'order-42-a', content })
    const before = await store.notifications.find('acme', id)

    for (const address of ['42', '1', 'body', 'phone', 'order']) {
      assert.deepEqual((await show({ address })).items, [], address)
      assert.deepEqual((await erase({ address })).erased, {}, address)
    }

    assert.deepEqual(await store.notifications.find('acme', id), before)
  })

  it('writes the file anew only where something was erased', async (t) => {
    const { deps, store, erase, submit } = await setup(t)
    let written = 0
    const compact = (most: number) => {
      written += 1
      return store.personal.compact(most)
    }
    deps.store = { ...store, personal: { ...store.personal, compact } }
    await submit({ to: { phone: '+919876543210' } })

    await erase({ address: 'nobody@example.test' })
    assert.equal(written, 0)
    await erase({ address: '+919876543210' })
    assert.equal(written, 1)
  })
})

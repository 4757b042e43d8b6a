import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ENGINES } from '../../../../test/support/engines.ts'
import { type Fixture, openFixture } from './fixture.ts'

for (const { engine, open } of ENGINES) {
  let f: Fixture
  let counter = 0

  /** A tenant in India, and short ways to call as its admin. */
  async function setup(base: string) {
    const tenant = await f.tenant(`people-${++counter}`)
    await f.call(tenant.keys.admin, 'PATCH', '/api/tenant', { region: 'IN' })
    const call = (method: string, path: string, body?: unknown, key = tenant.keys.admin) =>
      f.call(key, method, `${base}${path}`, body)
    return { tenant, call }
  }

  describe(`contacts on ${engine}`, () => {
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    const contacts = () => setup('/api/contacts')
    const ADA = {
      profileId: 'p-1',
      userId: 'u-1',
      name: 'Ada',
      phone: '+919876543210',
      email: 'ada@example.com',
      locale: 'en-IN',
    }

    it('are made and read, with links to what they were sent', async () => {
      const { tenant, call } = await contacts()

      const made = await call('POST', '', ADA)

      assert.equal(made.statusCode, 201, made.body)
      const { id, createdAt, updatedAt, ...rest } = made.json()
      assert.deepEqual(rest, {
        ...ADA,
        tenantId: tenant.id,
        version: 1,
        links: {
          notifications: `/api/notifications?contactId=${id}`,
          conversations: `/api/conversations?contactId=${id}`,
        },
      })
      assert.ok(Date.parse(createdAt) > 0 && createdAt === updatedAt)
      assert.deepEqual((await call('GET', `/${id}`, undefined, tenant.keys.operator)).json(), made.json())
      const linked = await f.call(tenant.keys.viewer, 'GET', `/api/notifications?contactId=${id}`)
      assert.deepEqual([linked.statusCode, linked.json().items], [200, []])
    })

    it('are changed only as the version that was read, where one is named', async () => {
      const { call } = await contacts()
      const { id, version } = (await call('POST', '', ADA)).json()

      const answers = await Promise.all(
        ['Ada L.', 'A. Lovelace'].map((name) => call('PATCH', `/${id}`, { name, version })),
      )

      const [changed, refused] = answers.toSorted((a, b) => a.statusCode - b.statusCode)
      assert.deepEqual([changed?.statusCode, changed?.json().version], [200, 2])
      assert.deepEqual([refused?.statusCode, refused?.json().code], [409, 'changed_meanwhile'])
      assert.match(refused?.json().detail ?? '', /no longer at version 1/)
      assert.deepEqual((await call('GET', `/${id}`)).json(), changed?.json())
      assert.equal((await call('PUT', `/${id}`, { ...ADA, version: 1 })).statusCode, 409)
      assert.equal((await call('PUT', `/${id}`, { ...ADA, version: 2 })).json().version, 3)
      assert.equal((await call('PATCH', `/${id}`, { version: 0 })).statusCode, 422)
      assert.equal((await call('POST', '', { profileId: 'p-9', version: 1 })).statusCode, 422)
    })

    it('take every change that names no version, and are never left without an identifier', async () => {
      const { call } = await contacts()
      const { id } = (await call('POST', '', { profileId: 'p-1', email: 'ada@example.com' })).json()

      const codes = await Promise.all([
        ...['a', 'b', 'c'].map(async (name) => (await call('PATCH', `/${id}`, { name })).statusCode),
        ...['profileId', 'email'].map(async (field) => (await call('PATCH', `/${id}`, { [field]: null })).statusCode),
      ])

      assert.deepEqual(
        [codes.slice(0, 3), codes.slice(3).toSorted((a, b) => a - b)],
        [
          [200, 200, 200],
          [200, 422],
        ],
      )
      const { profileId, email } = (await call('GET', `/${id}`)).json()
      assert.ok(profileId !== null || email !== null)
    })

    it('keep telephone numbers in E.164 form by the tenant’s region, and emails folded', async () => {
      const { call } = await contacts()

      const { phone, email } = (await call('POST', '', { phone: ' 098765 43210', email: ' Ada@EXAMPLE.com ' })).json()

      assert.deepEqual([phone, email], ['+919876543210', 'Ada@example.com'])
    })

    it('are found by an identifier however it is written, and by the beginning of a name', async () => {
      const { call } = await contacts()
      const { id } = (await call('POST', '', ADA)).json()
      const other = (await call('POST', '', { profileId: '9876543210', name: 'Bob' })).json()
      const found = async (q: string) =>
        (await call('GET', `?q=${encodeURIComponent(q)}`)).json().items.map((contact) => contact.id)

      for (const q of ['p-1', 'u-1', '+919876543210', '098765 43210', 'ada@example.com', 'ada@EXAMPLE.com', 'Ad'])
        assert.deepEqual(await found(q), [id], q)
      // Exactly somebody's id goes before what could also be a telephone number.
      assert.deepEqual(await found('9876543210'), [other.id])
      assert.deepEqual(await found('nobody'), [])
    })

    it('are found by a viewer by their whole name only, which cannot be spelt out', async () => {
      const { tenant, call } = await contacts()
      const { id } = (await call('POST', '', { ...ADA, name: 'Ada Byron' })).json()
      const found = async (q: string) =>
        (await call('GET', `?q=${encodeURIComponent(q)}`, undefined, tenant.keys.viewer)).json().items

      for (const q of ['A', 'Ada', 'ada byro', 'ada@', '+9198']) assert.deepEqual(await found(q), [], q)
      for (const q of ['ada byron', 'ada@example.com', '098765 43210', 'p-1'])
        assert.deepEqual(
          (await found(q)).map((contact) => contact.id),
          [id],
          q,
        )
    })

    it('are listed newest first, page by page', async () => {
      const { call } = await contacts()
      for (const profileId of ['1', '2', '3']) await call('POST', '', { profileId })

      const first = (await call('GET', '?limit=2')).json()
      const second = (await call('GET', `?limit=2&cursor=${first.nextCursor}`)).json()

      assert.deepEqual(
        [...first.items, ...second.items].map(({ profileId }) => profileId),
        ['3', '2', '1'],
      )
      assert.equal(second.nextCursor, null)
    })

    it('are masked for a viewer', async () => {
      const { tenant, call } = await contacts()
      const { id } = (await call('POST', '', ADA)).json()

      for (const contact of [
        (await call('GET', `/${id}`, undefined, tenant.keys.viewer)).json(),
        (await call('GET', '', undefined, tenant.keys.viewer)).json().items[0],
      ])
        assert.deepEqual(
          [contact?.name, contact?.phone, contact?.email, contact?.profileId],
          ['A***', '+91***10', 'a***@example.com', 'p-1'],
        )
    })

    it('are replaced whole by PUT, and changed in part by PATCH, where null removes', async () => {
      const { call } = await contacts()
      const { id } = (await call('POST', '', ADA)).json()

      const patched = (await call('PATCH', `/${id}`, { name: null, phone: '98765-43211' })).json()
      assert.deepEqual([patched.name, patched.phone, patched.email], [null, '+919876543211', ADA.email])
      const replaced = (await call('PUT', `/${id}`, { email: 'new@example.com' })).json()
      assert.deepEqual(
        [replaced.profileId, replaced.phone, replaced.email, replaced.locale],
        [null, null, 'new@example.com', null],
      )
      // What it no longer has is free for another.
      assert.equal((await call('POST', '', { profileId: 'p-1' })).statusCode, 201)
    })

    it('share no identifier', async () => {
      const { call } = await contacts()
      await call('POST', '', ADA)
      const { id } = (await call('POST', '', { profileId: 'p-2' })).json()

      for (const answer of [
        await call('POST', '', { phone: '098765 43210' }),
        await call('POST', '', { email: 'ADA@example.com' }),
        await call('PUT', `/${id}`, { userId: 'u-1' }),
        await call('PATCH', `/${id}`, { profileId: 'p-1' }),
      ])
        assert.deepEqual([answer.statusCode, answer.json().code], [409, 'already_exists'], answer.body)
    })

    it('need something to be recognised by, also after a change', async () => {
      const { call } = await contacts()
      const { id } = (await call('POST', '', { profileId: 'p-1', name: 'Ada' })).json()

      for (const answer of [
        await call('POST', '', { name: 'Ada' }),
        await call('POST', '', { name: 'Ada', email: null }),
        await call('PUT', `/${id}`, { name: 'Ada' }),
        await call('PATCH', `/${id}`, { profileId: null }),
      ])
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'], answer.body)
      assert.equal((await call('GET', `/${id}`)).json().profileId, 'p-1')
    })

    for (const [path, contact] of [
      ['/phone', { phone: '12' }],
      ['/phone', { phone: 'call me' }],
      ['/email', { email: 'ada' }],
      ['/email', { email: 'a@b, c@d' }],
      ['/locale', { profileId: 'p', locale: 'English' }],
      ['/name', { profileId: 'p', name: 'a\nb' }],
      ['/tenantId', { profileId: 'p', tenantId: 'x' }],
    ] as const)
      it(`are refused with a wrong ${path}: ${JSON.stringify(contact)}`, async () => {
        const { call } = await contacts()

        const answer = await call('POST', '', contact)

        assert.equal(answer.statusCode, 422, answer.body)
        assert.equal(answer.json().errors[0]?.path, path)
      })

    it('are removed', async () => {
      const { call } = await contacts()
      const { id } = (await call('POST', '', ADA)).json()

      assert.equal((await call('DELETE', `/${id}`)).statusCode, 204)

      assert.equal((await call('GET', `/${id}`)).statusCode, 404)
      assert.equal((await call('DELETE', `/${id}`)).statusCode, 404)
      assert.equal((await call('POST', '', ADA)).statusCode, 201)
    })
  })

  describe(`conversations on ${engine}`, () => {
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    /** Two people who talk about one booking, and one of them about another. */
    async function conversations() {
      const { tenant, call } = await setup('/api/conversations')
      const ask = (profileId: string, id: string) => ({
        tenantId: tenant.id,
        profileId,
        conversation: { type: 'booking', id },
      })
      const people = await f.store.people.resolve([ask('a', '1'), ask('b', '1'), ask('a', '2')], f.deps.ids)
      const ids = people.map(({ conversationId }) => String(conversationId))
      return { tenant, call, people, ids }
    }

    it('are listed newest first, and by contact, context and status', async () => {
      const { call, people, ids } = await conversations()
      const found = async (query: string) =>
        (await call('GET', query))
          .json()
          .items.map(({ id }) => id)
          .sort()

      assert.deepEqual(await found(''), [...ids].sort())
      assert.deepEqual(await found('?contextType=booking&contextId=1'), ids.slice(0, 2).sort())
      assert.deepEqual(await found(`?contactId=${people[0]?.contact?.id}`), ids.filter((_, i) => i !== 1).sort())
      assert.deepEqual(await found('?status=closed'), [])
      assert.deepEqual(await found('?contactId=nobody'), [])
      for (const query of ['?contextType=booking', '?contextId=1'])
        assert.equal((await call('GET', query)).json().code, 'invalid_query')
    })

    it('are read, with links to the contact and to what was said', async () => {
      const { tenant, call, people, ids } = await conversations()
      const contactId = people[0]?.contact?.id

      const { createdAt: _, updatedAt: __, ...rest } = (await call('GET', `/${ids[0]}`)).json()

      assert.deepEqual(rest, {
        id: ids[0],
        tenantId: tenant.id,
        contactId,
        context: { type: 'booking', id: '1' },
        status: 'open',
        links: { contact: `/api/contacts/${contactId}`, notifications: `/api/notifications?conversationId=${ids[0]}` },
      })
    })

    it('are snoozed, closed and opened by an operator', async () => {
      const { tenant, call, ids } = await conversations()
      const set = (status: string, key = tenant.keys.operator) => call('PATCH', `/${ids[0]}`, { status }, key)

      for (const status of ['snoozed', 'closed', 'open']) assert.equal((await set(status)).json().status, status)
      assert.equal((await set('open', tenant.keys.viewer)).statusCode, 403)
      assert.equal((await set('finished')).json().errors[0]?.path, '/status')
    })

    it('are not opened again beside the one that took their place', async () => {
      const { tenant, call, ids } = await conversations()
      await call('PATCH', `/${ids[0]}`, { status: 'closed' })
      const again = { tenantId: tenant.id, profileId: 'a', conversation: { type: 'booking', id: '1' } }
      const [next] = await f.store.people.resolve([again], f.deps.ids)
      assert.notEqual(next?.conversationId, ids[0])

      const answer = await call('PATCH', `/${ids[0]}`, { status: 'open' })

      assert.deepEqual([answer.statusCode, answer.json().code], [409, 'already_exists'], answer.body)
    })
  })

  describe(`recipient lists on ${engine}`, () => {
    before(async () => {
      f = await openFixture({ open })
    })
    after(() => f.app.close())

    const lists = () => setup('/api/recipient-lists')
    const emails = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => ({ email: `m${from + i}@example.com` }))

    it('are made with their members, each once, and read by id and by name', async () => {
      const { tenant, call } = await lists()
      const members = [
        { name: 'Ops', email: 'ops@EXAMPLE.com' },
        { email: 'OPS@example.com' },
        { phone: '098765 43210' },
        { phone: '+919876543210' },
        { email: 'ops@example.com', phone: '+919876543210' },
      ]

      const made = await call('POST', '', { name: 'on call', members })

      assert.equal(made.statusCode, 201, made.body)
      const { id, duplicates, memberCount } = made.json()
      assert.deepEqual([memberCount, duplicates], [3, 2])
      for (const path of [`/${id}`, '/on%20call', `/${id.toUpperCase()}`]) {
        const { tenantId, name, members: listed } = (await call('GET', path, undefined, tenant.keys.operator)).json()
        assert.deepEqual([tenantId, name], [tenant.id, 'on call'])
        assert.deepEqual(listed, [
          { name: 'Ops', email: 'ops@example.com', phone: null },
          { name: null, email: null, phone: '+919876543210' },
          { name: null, email: 'ops@example.com', phone: '+919876543210' },
        ])
      }
      const all = (await call('GET', '')).json()
      assert.deepEqual(
        all.items.map((list) => [list.id, list.name, list.memberCount]),
        [[id, 'on call', 3]],
      )
    })

    it('are masked for a viewer', async () => {
      const { tenant, call } = await lists()
      const member = { name: 'Ada', email: 'ada@example.com', phone: '+919876543210' }
      await call('POST', '', { name: 'a', members: [member] })
      const masked = [{ name: 'A***', email: 'a***@example.com', phone: '+91***10' }]

      assert.deepEqual((await call('GET', '/a', undefined, tenant.keys.viewer)).json().members, masked)
      assert.deepEqual((await call('GET', '/a/members', undefined, tenant.keys.viewer)).json().items, masked)
      assert.deepEqual((await call('GET', '/a/members')).json().items, [member])
    })

    it('grow over several calls, each of which can be repeated, and are paged through', async () => {
      const { call } = await lists()
      await call('POST', '', { name: 'many', members: emails(0, 150) })

      const added = (await call('POST', '/many/members', { members: emails(100, 250) })).json()
      const again = (await call('POST', '/many/members', { members: emails(100, 250) })).json()

      assert.deepEqual(added, { added: 100, duplicates: 50, memberCount: 250 })
      assert.deepEqual(again, { added: 0, duplicates: 150, memberCount: 250 })
      assert.deepEqual(
        [(await call('GET', '/many')).json().members, (await call('GET', '/many')).json().memberCount],
        [null, 250],
      )
      const seen: unknown[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = (await call('GET', `/many/members?limit=100${cursor && `&cursor=${cursor}`}`)).json()
        seen.push(...page.items.map(({ email }) => email))
        cursor = page.nextCursor
      }
      assert.deepEqual(
        seen,
        emails(0, 250).map(({ email }) => email),
      )
      assert.equal((await call('GET', '/many/members?cursor=nonsense')).json().code, 'invalid_query')
    })

    it('take 10,000 members in one call, and no more', async () => {
      const { call } = await lists()

      const most = await call('POST', '', { name: 'most', members: emails(0, 10_000) })
      const more = await call('POST', '/most/members', { members: emails(0, 10_001) })

      assert.deepEqual([most.statusCode, most.json().memberCount], [201, 10_000])
      assert.deepEqual([more.statusCode, more.json().errors[0]?.path], [422, '/members'])
    })

    const slow = engine === 'postgres' && 'the store’s part is in its conformance suite, and the rest is the same'
    it('take 100,000 members over several calls, and say so when they are full', { skip: slow }, async () => {
      const { call } = await lists()
      await call('POST', '', { name: 'all', members: [] })
      for (let from = 0; from < 100_000; from += 10_000)
        assert.equal(
          (await call('POST', '/all/members', { members: emails(from, from + 10_000) })).json().added,
          10_000,
        )

      const repeated = await call('POST', '/all/members', { members: emails(90_000, 100_000) })
      const last = await call('POST', '/all/members', { members: emails(100_000, 100_001) })
      const full = await call('POST', '/all/members', { members: emails(100_001, 100_002) })

      assert.deepEqual(repeated.json(), { added: 0, duplicates: 10_000, memberCount: 100_000 })
      assert.equal(last.json().memberCount, 100_001)
      assert.deepEqual([full.statusCode, full.json().errors[0]?.path], [422, '/members'])
    })

    it('name the members that cannot be, and change nothing', async () => {
      const { call } = await lists()
      await call('POST', '', { name: 'team', members: emails(0, 1) })
      const members = [{ email: 'good@example.com' }, { email: 'bad' }, { name: 'nobody' }, { phone: '12' }]

      for (const answer of [
        await call('POST', '', { name: 'other', members }),
        await call('PUT', '/team', { name: 'team', members }),
        await call('POST', '/team/members', { members }),
      ]) {
        assert.deepEqual([answer.statusCode, answer.json().code], [422, 'invalid_body'])
        assert.deepEqual(
          answer.json().errors.map(({ path }) => path),
          ['/members/1/email', '/members/2', '/members/3/phone'],
        )
      }
      assert.equal((await call('GET', '/other')).statusCode, 404)
      assert.equal((await call('GET', '/team')).json().memberCount, 1)
    })

    it('are replaced, renamed and removed', async () => {
      const { call } = await lists()
      const { id } = (await call('POST', '', { name: 'team', members: emails(0, 3) })).json()

      const replaced = (await call('PUT', '/team', { name: 'crew', members: emails(2, 4) })).json()
      assert.deepEqual([replaced.id, replaced.name, replaced.memberCount, replaced.duplicates], [id, 'crew', 2, 0])
      const renamed = (await call('PATCH', `/${id}`, { name: 'Ops / night' })).json()
      assert.deepEqual([renamed.name, renamed.memberCount], ['Ops / night', 2])
      assert.equal((await call('GET', '/Ops%20%2F%20night')).json().id, id)
      assert.equal((await call('DELETE', `/${id}`)).statusCode, 204)
      for (const path of [`/${id}`, '/crew', '/Ops%20%2F%20night'])
        assert.equal((await call('GET', path)).statusCode, 404)
    })

    it('have names of their own', async () => {
      const { call } = await lists()
      await call('POST', '', { name: 'a', members: [] })
      await call('POST', '', { name: 'b', members: [] })

      for (const answer of [
        await call('POST', '', { name: 'a', members: [] }),
        await call('PUT', '/b', { name: 'a', members: [] }),
        await call('PATCH', '/b', { name: 'a' }),
      ])
        assert.deepEqual([answer.statusCode, answer.json().code], [409, 'already_exists'])
      for (const body of [{ members: [] }, { name: '', members: [] }, { name: 'c' }, { name: 'c', members: {} }])
        assert.equal((await call('POST', '', body)).statusCode, 422)
    })
  })
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { ENGINES } from '../../../../test/support/engines.ts'
import { planEvents } from '../../../../test/support/planning.ts'
import { sampleSandboxMessage } from '../../../../test/support/samples.ts'
import type { SandboxMessage } from '../channels/sandbox/vendor.ts'
import { CATALOGUE, type Fixture, openFixture, raiseAlert, type TestTenant } from './fixture.ts'

interface ListUnderTest {
  /** Whose list it is: a path with its parameters filled in, and what else it needs. */
  url: string
  /** Adds one to it. */
  add(): Promise<unknown>
  /** What tells two items apart, where they have no id. */
  nameOf?: (item: Record<string, unknown>) => string
  /** Changes one that is on the list. */
  touch?: (name: string) => Promise<unknown>
}

for (const { engine, open } of ENGINES)
  describe(`every list on ${engine}`, () => {
    let f: Fixture
    let tenant: TestTenant
    let lists: Record<string, ListUnderTest>
    const messages: SandboxMessage[] = []

    before(async () => {
      f = await openFixture({
        open,
        deps: {
          sandbox: ({ before: last, limit }) =>
            messages
              .filter(({ id }) => last === undefined || numberOf(id) < numberOf(last))
              .toReversed()
              .slice(0, limit),
        },
      })
      tenant = await f.tenant('acme')
      await admin('PUT', '/api/event-types', CATALOGUE)
      lists = await listsUnderTest()
    })
    after(() => f.app.close())

    it('that the OpenAPI document has is tried here', async () => {
      const { paths } = (await f.call(null, 'GET', '/openapi.json')).json() as unknown as {
        paths: Record<string, Record<string, { parameters?: { name: string }[] }>>
      }
      const documented = Object.entries(paths).flatMap(([path, { get }]) =>
        get?.parameters?.some(({ name }) => name === 'cursor') ? [path] : [],
      )

      assert.deepEqual(documented.sort(), Object.keys(lists).sort())
    })

    it('shows none twice and misses none that was there, whatever is added while it is read', async () => {
      for (const [path, list] of Object.entries(lists))
        await fc.assert(
          fc.asyncProperty(
            fc.integer({ min: 1, max: 7 }),
            fc.integer({ min: 1, max: 4 }),
            fc.array(fc.constantFrom('add', 'add two', 'touch', 'nothing'), { minLength: 1, maxLength: 6 }),
            async (count, limit, writes) => {
              for (let i = 0; i < count; i++) await list.add()
              const old = await namesIn(list, 200)
              const seen = await namesIn(list, limit, { writes, old })

              assert.equal(new Set(seen).size, seen.length, `${path} has one twice`)
              const missing = old.filter((name) => !seen.includes(name))
              assert.deepEqual(missing, [], `${path} misses one`)
            },
          ),
          // A list grows with every run.
          { numRuns: 4, seed: 20_260_115 },
        )
    })

    /** All of a list, page by page; after each page the next of the writes is done, to what was not read yet. */
    async function namesIn(
      list: ListUnderTest,
      limit: number,
      { writes, old }: { writes: readonly string[]; old: readonly string[] } = { writes: [], old: [] },
    ): Promise<string[]> {
      const names: string[] = []
      let cursor: string | null = null
      for (let page = 0; page === 0 || cursor !== null; page++) {
        const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
        const answer = await f.call(keyFor(list.url), 'GET', `${list.url}${mark(list.url)}limit=${limit}${after}`)
        assert.equal(answer.statusCode, 200, answer.body)
        const { items, nextCursor } = answer.json()
        const nameOf = list.nameOf ?? ((item) => String(item['id']))
        names.push(...items.map((item) => nameOf(item as unknown as Record<string, unknown>)))
        cursor = nextCursor
        const write = writes[page]
        const unread = old.findLast((name) => !names.includes(name))
        f.advance(1_000)
        if (write === 'touch' && unread !== undefined) await list.touch?.(unread)
        if (write === 'add' || write === 'add two') await list.add()
        if (write === 'add two') await list.add()
      }
      return names
    }

    function keyFor(url: string): string {
      if (url.startsWith('/ops/')) return f.opsKey
      return tenant.keys[url.startsWith('/api/inbox/') ? 'publisher' : 'admin']
    }

    async function admin(method: string, url: string, body: unknown) {
      const answer = await f.call(tenant.keys.admin, method, url, body)
      assert.ok(answer.statusCode < 300, answer.body)
      return answer.json()
    }

    async function listsUnderTest(): Promise<Record<string, ListUnderTest>> {
      let made = 0
      const unique = (): string => `u${++made}`
      const event = () =>
        admin('POST', '/api/events', { type: 'booking.confirmed', entity: { type: 'booking', id: '1' } })
      const notification = () =>
        admin('POST', '/api/notifications', {
          channel: 'email',
          to: { email: 'a@example.test' },
          body: 'x',
          entity: { type: 'booking', id: '1' },
        })
      const template = () =>
        admin('POST', '/api/message-templates', {
          eventType: 'booking.confirmed',
          channel: 'sms',
          body: 'x',
          scopeType: 'listing',
          scopeId: unique(),
        })
      const { id: templateId } = await template()
      const newVersion = () => admin('PATCH', `/api/message-templates/${templateId}`, { body: unique() })
      const { id: listId } = await admin('POST', '/api/recipient-lists', { name: 'team', members: [] })
      const member = () =>
        admin('POST', `/api/recipient-lists/${listId}/members`, { members: [{ email: `${unique()}@example.test` }] })
      const key = () => admin('POST', '/api/keys', { name: unique(), role: 'viewer' })
      const callback = () =>
        f.store.receipts.keep({
          source: 'meta',
          tenantId: 'acme',
          accountIds: [],
          headers: {},
          body: Buffer.from(unique()),
        })
      const refusal = (source: string) =>
        f.store.receipts.countRefused([{ source, tenantId: 'acme', why: 'token_wrong', count: 1 }])
      /** Whatever is made of them later, what an operation is about was chosen once. */
      const operation = async (count: number): Promise<string> => {
        const ids = []
        for (let i = 0; i < count; i++) ids.push((await notification()).id)
        const { token } = await admin('POST', '/api/notifications/bulk/preview', { action: 'discard', ids })
        return (await admin('POST', '/api/notifications/bulk', { token })).operationId
      }
      const operationId = await operation(9)
      return {
        '/api/operations': { url: '/api/operations', add: () => operation(1) },
        '/api/operations/{id}/items': {
          url: `/api/operations/${operationId}/items`,
          add: async () => {},
          nameOf: ({ notificationId }) => String(notificationId),
        },
        '/api/audit': { url: '/api/audit', add: newVersion },
        '/ops/audit': { url: '/ops/audit', add: newVersion },
        '/api/events': { url: '/api/events', add: event },
        '/ops/outbox': { url: '/ops/outbox', add: event },
        '/api/notifications': {
          url: '/api/notifications',
          add: notification,
          touch: (id) => f.call(tenant.keys.operator, 'POST', `/api/notifications/${id}/discard`),
        },
        '/api/communication-logs': { url: '/api/communication-logs?bookingId=1', add: notification },
        '/api/automation-schedules': {
          url: '/api/automation-schedules',
          add: async () => {
            await event()
            const dueAt = f.now() + 60_000
            const scheduled = { kind: 'schedule', dueAt, needsApproval: true, cancels: null } as const
            await planEvents(f.store, 1_000, () => ({ ...scheduled, scheduleId: f.deps.ids() }))
          },
        },
        '/api/message-templates': {
          url: '/api/message-templates',
          add: template,
          touch: (id) => admin('PATCH', `/api/message-templates/${id}`, { body: unique() }),
        },
        '/api/message-templates/{id}/versions': {
          url: `/api/message-templates/${templateId}/versions`,
          add: newVersion,
          nameOf: ({ version }) => String(version),
        },
        '/api/contacts': {
          url: '/api/contacts',
          add: () => admin('POST', '/api/contacts', { profileId: unique() }),
          touch: (id) => admin('PATCH', `/api/contacts/${id}`, { name: unique() }),
        },
        '/api/conversations': {
          url: '/api/conversations',
          add: () => {
            const conversation = { type: 'booking', id: unique() }
            return f.store.people.resolve([{ tenantId: 'acme', profileId: unique(), conversation }], f.deps.ids)
          },
        },
        '/api/recipient-lists': {
          url: '/api/recipient-lists',
          add: () => admin('POST', '/api/recipient-lists', { name: unique(), members: [] }),
          touch: (id) => admin('PATCH', `/api/recipient-lists/${id}`, { name: unique() }),
        },
        '/api/recipient-lists/{id}/members': {
          url: `/api/recipient-lists/${listId}/members`,
          add: member,
          nameOf: ({ email }) => String(email),
        },
        '/api/suppressions': {
          url: '/api/suppressions',
          add: () => admin('POST', '/api/suppressions', { channel: 'push', address: unique() }),
        },
        '/api/channel-accounts': {
          url: '/api/channel-accounts',
          touch: (id) => admin('PATCH', `/api/channel-accounts/${id}`, { name: unique() }),
          add: () => admin('POST', '/api/channel-accounts', { channel: 'sms', provider: 'sandbox', name: unique() }),
        },
        '/api/inbox/{userId}/messages': {
          url: '/api/inbox/ada/messages',
          add: () => {
            const id = f.deps.ids()
            const words = JSON.stringify({ subject: null, text: 'x', html: null, data: {} })
            const sealed = f.deps.seal.seal(words, { tenantId: 'acme', table: 'inbox_messages', rowId: id })
            return f.store.inbox.put({ id, tenantId: 'acme', userId: 'ada', sealed })
          },
        },
        '/api/keys': { url: '/api/keys', add: key },
        '/ops/tenants/{id}/keys': { url: '/ops/tenants/acme/keys', add: key },
        '/ops/keys': { url: '/ops/keys', add: () => f.call(f.opsKey, 'POST', '/ops/keys', { name: unique() }) },
        '/ops/tenants': {
          url: '/ops/tenants',
          add: () => f.call(f.opsKey, 'POST', '/ops/tenants', { id: unique(), name: 'New' }),
        },
        '/ops/alerts': { url: '/ops/alerts', add: () => raiseAlert(f, 'acme') },
        '/ops/callbacks': { url: '/ops/callbacks', add: callback },
        '/ops/callbacks/refused': {
          url: '/ops/callbacks/refused',
          add: () => refusal(unique()),
          touch: refusal,
          nameOf: ({ source }) => String(source),
        },
        '/api/sandbox/messages': {
          url: '/api/sandbox/messages',
          add: async () => messages.push(sampleSandboxMessage({ id: `sbx-${messages.length + 1}` })),
        },
      }
    }
  })

function mark(url: string): string {
  return url.includes('?') ? '&' : '?'
}

function numberOf(id: string): number {
  return Number(id.slice('sbx-'.length))
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ListMember } from '../model/recipient-list.ts'
import type { Store } from '../store/store.ts'
import type { DueEvent } from './due-event.ts'
import { BEGINNING, channelCount, partLimit, positionOf, progressOf, type RecipientPart, takePart } from './part.ts'
import { audienceOf } from './recipients.ts'

/** An event for these recipients, told on these channels. */
function dueOf(recipients: Record<string, unknown>[], delivery: unknown = { kind: 'channels', channels: ['sms'] }) {
  const audience = audienceOf({}, [], recipients, null)
  const event = { tenantId: 'acme', channels: null }
  return { event, audience, type: { delivery }, context: { region: null } } as unknown as DueEvent
}

/** Recipient lists by name, with so many members each. */
function listsOf(sizes: Record<string, number>): Store['lists'] {
  return {
    findByName: async (_tenantId: string, name: string) =>
      name in sizes ? { id: name, name, memberCount: sizes[name] } : null,
    members: async (_tenantId: string, id: string, after: string | null, limit: number) => {
      const from = after === null ? 0 : Number(after)
      const to = Math.min(sizes[id] ?? 0, from + limit)
      const members = Array.from({ length: to - from }, (_, i): ListMember & { id: string } => {
        return { id: String(from + i), name: null, email: `${id}${from + i}@example.test`, phone: null }
      })
      return { members, next: to < (sizes[id] ?? 0) ? String(to) : null }
    },
  } as unknown as Store['lists']
}

const emails = ({ recipients }: RecipientPart): (string | undefined)[] => recipients.map(({ address }) => address.email)

describe('how many recipients make a part', () => {
  it('is a thousand, and fewer where each is told on so many channels that it would be over two thousand notifications', () => {
    const channels = ['sms', 'email', 'push']

    const limits = [1, 2, 3].map((n) => partLimit(dueOf([], { kind: 'channels', channels: channels.slice(0, n) })))

    assert.deepEqual(limits, [1_000, 1_000, 666])
  })

  it('is a thousand for a chain, which is one notification each, and for no channel at all', () => {
    const chain = dueOf([], { kind: 'fallback', channels: ['sms', 'email', 'push'] })
    const silent = dueOf([], { kind: 'channels', channels: [] })

    assert.deepEqual([channelCount(chain), partLimit(chain)], [1, 1_000])
    assert.deepEqual([channelCount(silent), partLimit(silent)], [1, 1_000])
  })
})

describe('a part', () => {
  const three = dueOf(['a', 'b', 'c'].map((name) => ({ email: `${name}@example.test` })))

  it('ends at its limit, and the next one goes on there', async () => {
    const first = await takePart(three, BEGINNING, 2, listsOf({}))
    const second = await takePart(three, first.next, 2, listsOf({}))

    assert.deepEqual([emails(first), first.isLast, first.taken], [['a@example.test', 'b@example.test'], false, 2])
    assert.deepEqual([emails(second), second.isLast, second.next.found], [['c@example.test'], true, 3])
  })

  it('has no more members of lists than its limit, whichever lists they are of', async () => {
    const due = dueOf([{ list: 'x', expand: true }, { email: 'z@example.test' }, { list: 'y', expand: true }])
    const lists = listsOf({ x: 3, y: 2 })

    const parts: RecipientPart[] = []
    for (let from = BEGINNING; parts.at(-1)?.isLast !== true; from = parts.at(-1)?.next ?? from)
      parts.push(await takePart(due, from, 2, lists))

    assert.deepEqual(
      parts.map((part) => emails(part).map((email) => email?.split('@')[0])),
      [
        ['x0', 'x1'],
        ['x2', 'z'],
        ['y0', 'y1'],
      ],
    )
    assert.deepEqual(
      parts.map(({ total }) => total),
      [6, 6, 6],
    )
  })

  it('says of a list that is missing or empty that it is', async () => {
    const due = dueOf([
      { list: 'none', expand: true },
      { list: 'empty', expand: true },
    ])

    const { stopped, isLast } = await takePart(due, BEGINNING, 10, listsOf({ empty: 0 }))

    assert.deepEqual(
      stopped.map(({ reason, recipient }) => [reason, recipient.key]),
      [
        ['list_not_found', 'list:none'],
        ['list_empty', 'list:empty'],
      ],
    )
    assert.equal(isLast, true)
  })
})

describe('the progress of a schedule', () => {
  it('leads back to the position it was made from', async () => {
    const part = await takePart(dueOf([{ list: 'x', expand: true }]), BEGINNING, 2, listsOf({ x: 3 }))

    for (const reached of ['told', { no_address: ['sms'], no_active_account: ['email'] }] as const) {
      const progress = progressOf({ cursor: '', planned: 5, total: 8 }, part, reached)

      assert.deepEqual(positionOf(progress), { ...part.next, reached })
      assert.deepEqual([progress.planned, progress.total], [7, 7])
    }
  })

  it('that says nothing we know of how far it came has told somebody', () => {
    for (const reached of ['"no_recipient"', '{"no_address":["fax"]}', '{"weather":[]}', '{"no_address":"sms"}', '[]'])
      assert.equal(positionOf({ cursor: `[1,null,1,${reached}]`, planned: 1, total: 2 }).reached, 'told', reached)
  })

  it('that is not ours begins anew', () => {
    for (const cursor of ['', 'x', '{}', '[-1,null,0]', '[1.5,null,0]', '[1,2,0]', '[1,null]', '["1",null,0]'])
      assert.deepEqual(positionOf({ cursor, planned: 1, total: 1 }), BEGINNING, cursor)
    assert.deepEqual(positionOf(null), BEGINNING)
  })
})

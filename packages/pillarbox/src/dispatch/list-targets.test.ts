import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAX_BCC } from '../channels/channel.ts'
import type { ListMember, RecipientList } from '../model/recipient-list.ts'
import { listTargets } from './list-targets.ts'

/** A list in pages, as a store keeps it. */
function listOf(members: readonly Partial<ListMember>[], name = 'ops-team') {
  let pages = 0
  const rows = members.map((member, index) => ({ id: String(index), name: null, email: null, phone: null, ...member }))
  return {
    pages: () => pages,
    findByName: async (tenantId: string, wanted: string) =>
      tenantId === 'acme' && wanted === name ? ({ id: 'list-1' } as RecipientList) : null,
    members: async (_tenantId: string, _listId: string, after: string | null, limit: number) => {
      pages += 1
      const from = after === null ? 0 : Number(after) + 1
      const page = rows.slice(from, from + limit)
      return { members: page, next: from + limit < rows.length ? (page.at(-1)?.id ?? null) : null }
    },
  }
}

const people = (count: number): Partial<ListMember>[] =>
  Array.from({ length: count }, (_, index) => ({ email: `m${index}@example.com` }))

const reasonOf = async (lists: Parameters<typeof listTargets>[0], name = 'ops-team'): Promise<string> => {
  const answer = await listTargets(lists, 'acme', name, 'email')
  return 'reason' in answer ? answer.reason : `${answer.targets.length} targets`
}

describe('whom a recipient list stands for', () => {
  it('is every member with an email address, each once, as it is written', async () => {
    const members = [
      { email: 'Ops@Example.com' },
      { email: 'ops@example.com' },
      { phone: '+12025550100' },
      { email: 'b@example.com' },
      { email: 'no address\r\nBcc: x@example.com' },
    ]

    assert.deepEqual(await listTargets(listOf(members), 'acme', 'ops-team', 'email'), {
      targets: ['Ops@Example.com', 'b@example.com'],
    })
  })

  it('is read page by page', async () => {
    const noMail = Array.from({ length: 1_500 }, (_, n) => ({ phone: `+1202555${n}` }))
    const list = listOf([...noMail, ...people(MAX_BCC)])

    assert.equal(await reasonOf(list), `${MAX_BCC} targets`)
    assert.equal(list.pages(), 3)
  })

  it('is nobody for a list that does not exist, or of another tenant', async () => {
    assert.equal(await reasonOf(listOf(people(1)), 'sales'), 'list_not_found')
    assert.ok('reason' in (await listTargets(listOf(people(1)), 'other', 'ops-team', 'email')))
  })

  it('is nobody for a list without an email address', async () => {
    assert.equal(await reasonOf(listOf([])), 'list_empty')
    assert.equal(await reasonOf(listOf([{ phone: '+12025550100' }])), 'list_empty')
  })

  it('is too many for one message beyond the limit, and the answer says what to do', async () => {
    const list = listOf(people(10 * MAX_BCC))
    const answer = await listTargets(list, 'acme', 'ops-team', 'email')

    assert.ok('reason' in answer)
    assert.equal(answer.reason, 'list_too_large')
    assert.match(answer.error, /1000.*expand/)
    assert.ok(list.pages() <= 3, 'and the rest of the list is not read')
  })

  it('is only for email: elsewhere one message reaches one person', async () => {
    const answer = await listTargets(listOf(people(1)), 'acme', 'ops-team', 'sms')

    assert.ok('reason' in answer && answer.error.includes('expand'))
  })
})

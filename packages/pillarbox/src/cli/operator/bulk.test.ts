import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { type CommandSetting, operatorCommand } from '../../../../../test/support/operator-command.ts'
import type { TestTenant } from '../../../../../test/support/tenant.ts'
import { startWorld, type World } from '../../../../../test/support/world.ts'

const LATER = '2099-01-01T00:00:00Z'

describe('pillarbox bulk', () => {
  let world: World
  before(async () => {
    world = await startWorld('sqlite')
  })
  after(() => world?.[Symbol.asyncDispose]())

  /** A tenant with so many parked notifications, and its operator's command line. */
  async function setup(count: number) {
    const tenant = await world.tenant({ channels: ['email'] })
    const ids: string[] = []
    for (let i = 0; i < count; i += 1) ids.push(await park(tenant))
    const key = await tenant.key('operator')
    const cli = (args: string, setting: CommandSetting = {}) =>
      operatorCommand(world, args.split(' '), { key, ...setting })
    return { tenant, ids, cli }
  }

  async function park(tenant: TestTenant): Promise<string> {
    const id = await tenant.submit({ channel: 'email', to: { email: 'ana@example.com' }, body: 'Hello', dueAt: LATER })
    assert.equal((await tenant.call('POST', `/api/notifications/${id}/park`)).status, 200)
    return id
  }

  const statusOf = async (tenant: TestTenant, id: string) => (await tenant.notification(id)).status

  it('shows what it would do, asks, does it and draws how far it is', async () => {
    const { tenant, ids, cli } = await setup(3)
    const terminal = { isTerminal: true, columns: 120 }

    const preview = await cli('bulk preview discard --status parked', terminal)
    assert.match(preview.stdout, /^discard would move 3 notifications\n {2}channel +3 {2}email\n/)
    const refused = await cli('bulk run discard --status parked', { ...terminal, answer: 'n' })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /nothing was started/)
    assert.equal(await statusOf(tenant, ids[0] ?? ''), 'parked')

    const done = await cli('bulk run discard --status parked --grace PT0S --note over', { ...terminal, answer: 'y' })

    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stdout, /\r█{30} 100 % {2}3 of 3 done {2}done.*\ndone: 3 done\n$/)
    for (const id of ids) assert.equal(await statusOf(tenant, id), 'discarded')
    const operations = await cli('operations list')
    const [operation] = operations.rows
    assert.deepEqual([operation?.['status'], operation?.['note']], ['done', 'over'])
    assert.match((await cli(`operations show ${String(operation?.['id'])}`, terminal)).stdout, /^total +3$/m)
    assert.equal((await cli(`operations items ${String(operation?.['id'])}`)).rows.length, 3)
  })

  it('takes ids from a pipe, answers JSON lines, and asks nobody who is not there', async () => {
    const { tenant, ids, cli } = await setup(2)
    const input = `${ids[0]}\n${JSON.stringify({ id: ids[1] })}\n`

    const unasked = await cli('bulk run retry --ids -', { input })
    assert.equal(unasked.code, 1)
    assert.match(unasked.stderr, /nobody is here to be asked; add --yes/)
    const done = await cli('bulk run retry --ids - --yes --grace PT0S --canary 0 --pace 100', { input })

    assert.equal(done.code, 0, done.stderr)
    const [preview, operation] = done.rows
    assert.equal(preview?.['count'], 2)
    assert.deepEqual([operation?.['status'], operation?.['done']], ['done', 2])
    for (const id of ids) assert.notEqual(await statusOf(tenant, id), 'parked')
  })

  it('goes on when nobody watches any more, and can be paused, resumed, undone and watched again', async () => {
    const { tenant, ids, cli } = await setup(1)
    const events = new EventEmitter()
    const left = await cli('bulk run discard --status parked --yes --grace PT1H', {
      isTerminal: true,
      columns: 120,
      events,
      onOutput: (text) => text.includes('begins in') && events.emit('SIGINT'),
    })

    assert.equal(left.code, 0)
    assert.match(left.stdout, /begins in \d+ s; until then "bulk undo" takes it back/)
    const id = /it goes on without you.*bulk watch (\S+)"/.exec(left.stderr)?.[1] ?? assert.fail(left.stderr)
    assert.equal((await cli(`bulk pause ${id}`)).rows[0]?.['status'], 'paused')
    assert.equal((await cli(`bulk resume ${id}`)).rows[0]?.['status'], 'grace')
    assert.match((await cli(`bulk undo ${id}`, { isTerminal: true })).stdout, /is cancelled: 0 of 1 done/)
    const over = await cli(`bulk watch ${id}`)
    assert.equal(over.code, 1)
    assert.equal(over.rows.at(-1)?.['status'], 'cancelled')
    assert.equal(await statusOf(tenant, ids[0] ?? ''), 'parked')
    const again = await cli(`bulk cancel ${id}`)
    assert.match(again.stderr, /409 operation_over/)
  })

  it('refuses what says nothing, or too much, about which', async () => {
    const { cli } = await setup(0)

    assert.equal((await cli('bulk preview retry')).code, 2)
    assert.equal((await cli('bulk preview retry --status parked --ids -', { input: 'x' })).code, 2)
    assert.equal((await cli('bulk preview explode --status parked')).code, 2)
    assert.equal((await cli('bulk run retry --status parked --pace fast')).code, 2)
    assert.equal((await cli('bulk run retry --status parked --canary -1')).code, 2)
    assert.match((await cli('bulk preview retry --ids -', { input: '\n{"no": "id"}\n' })).stderr, /line 1 has no id/)
    const nothing = await cli('bulk run retry --status parked --yes')
    assert.equal(nothing.code, 0)
    assert.match(nothing.stderr, /nothing to do/)
    assert.equal((await cli('bulk run retry --status parked --detach --yes')).code, 0)
  })
})

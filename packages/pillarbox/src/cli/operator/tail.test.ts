import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { type CommandSetting, operatorCommand } from '../../../../../test/support/operator-command.ts'
import { until } from '../../../../../test/support/until.ts'
import { startWorld } from '../../../../../test/support/world.ts'

/** `tail`, running until it is told to stop. */
function following(world: { url: string; dataDir: string }, args: string, setting: CommandSetting = {}) {
  const events = new EventEmitter()
  let output = ''
  const ended = operatorCommand(world, ['tail', ...args.split(' ').filter(Boolean)], {
    ...setting,
    events,
    onOutput: (text) => {
      output += text
    },
  })
  return {
    saw: (what: RegExp) => until(`tail says ${what}`, () => what.test(output)),
    output: () => output,
    stop: () => {
      events.emit('SIGINT')
      return ended
    },
    ended,
  }
}

describe('pillarbox tail', () => {
  it('shows each outcome once as it comes, of what is asked for, and ends on SIGINT with 0', async (t) => {
    const world = await startWorld('sqlite')
    t.after(() => world[Symbol.asyncDispose]())
    const tenant = await world.tenant({ channels: ['email', 'sms'] })
    await tenant.send({ channel: 'email', to: { email: 'before@example.com' }, body: 'old' })
    const all = following(world, '')
    const mails = following(world, '--channel email --status sent', { key: tenant.adminKey, isTerminal: true })
    await Promise.all([all.saw(/following outcomes/), mails.saw(/following outcomes/)])

    const sent: string[] = []
    for (let i = 0; i < 5; i += 1)
      sent.push((await tenant.send({ channel: 'email', to: { email: `new${i}@example.com` }, body: 'x' })).id)
    const text = await tenant.send({ channel: 'sms', to: { phone: '+12025550100' }, body: 'x' })
    const last = await tenant.send({ channel: 'email', to: { email: 'last@example.com' }, body: 'x' })
    await all.saw(new RegExp(last.id))
    await mails.saw(new RegExp(last.id))
    const [allSaid, mailsSaid] = [await all.stop(), await mails.stop()]

    assert.equal(allSaid.code, 0)
    const outcomes = allSaid.rows.filter(({ to }) => to === 'sent').map(({ notificationId }) => notificationId)
    assert.deepEqual(outcomes, [...sent, text.id, last.id])
    assert.ok(allSaid.rows.every(({ action, channel }) => action !== 'attempt' && typeof channel === 'string'))
    const shown = mailsSaid.stdout.trim().split('\n')
    assert.equal(shown.length, 6)
    assert.match(shown[0] ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}sent {8}email {6}n\*\*\*@example\.com /)
    assert.doesNotMatch(mailsSaid.stdout, new RegExp(text.id))
  })

  it('asks again where the server goes away, and misses nothing that came late or while it was away', async (t) => {
    const server = await scripted(t)
    const tail = following(server, '')
    await tail.saw(/following outcomes/)

    server.entries.unshift(entry(5, 40))
    await tail.saw(/"id":"5"/)
    // Written before, committed after.
    server.entries.splice(1, 0, entry(4, 39))
    await tail.saw(/"id":"4"/)
    server.isAway = true
    server.entries.unshift(entry(7, 50))
    server.entries.unshift(entry(8, 51))
    await tail.saw(/503[\s\S]*it is asked again in \d+ s/)
    server.isAway = false
    await tail.saw(/"id":"8"/)
    const said = await tail.stop()

    assert.deepEqual(
      said.rows.map(({ id }) => id),
      ['5', '4', '7', '8'],
    )
  })

  it('ends with 1 where its key is refused meanwhile', async (t) => {
    const server = await scripted(t)
    const tail = following(server, '')
    await tail.saw(/following outcomes/)

    server.isRevoked = true

    assert.equal((await tail.ended).code, 1)
    assert.match(tail.output(), /401 unauthorized/)
  })
})

function entry(id: number, second: number) {
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
  const about = { tenantId: 'acme', actor: 'system', action: 'send', notificationId: `n${id}`, reason: null }
  return { id: String(id), at, ...about, from: 'sending', to: 'sent' }
}

/** A server that answers an audit of our making, two entries a page. */
async function scripted(t: TestContext) {
  const state = { entries: [entry(0, 0)], isAway: false, isRevoked: false }
  const problem = (status: number, code: string) => ({ status, body: { title: code, code } })
  const answer = (url: URL) => {
    if (state.isRevoked) return problem(401, 'unauthorized')
    if (state.isAway) return problem(503, 'overloaded')
    if (url.pathname === '/api/notifications') return { status: 200, body: { items: [], nextCursor: null } }
    const from = Number(url.searchParams.get('cursor') ?? 0)
    const nextCursor = from + 2 < state.entries.length ? String(from + 2) : null
    return { status: 200, body: { items: state.entries.slice(from, from + 2), nextCursor } }
  }
  const server = createServer((request, response) => {
    const { status, body } = answer(new URL(request.url ?? '', 'http://localhost'))
    response.writeHead(status, { 'content-type': status === 200 ? 'application/json' : 'application/problem+json' })
    response.end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, dataDir: '.' })
}

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  type CommandSetting,
  operatorCommand,
  type SaidByCommand,
} from '../../../../../test/support/operator-command.ts'
import type { TestTenant } from '../../../../../test/support/tenant.ts'
import { until } from '../../../../../test/support/until.ts'
import { startWorld, type World } from '../../../../../test/support/world.ts'

const LATER = '2099-01-01T00:00:00Z'

const CATALOGUE = {
  name: 'shop',
  defaultLocale: 'en',
  entities: { booking: 'bookings' },
  eventTypes: {
    'booking.confirmed': {
      entity: 'booking',
      recipients: [{ email: 'guestEmail', name: 'guestName' }],
      templates: [{ channel: 'email', locale: 'en', subject: 'Booking', body: 'Hi {{guestName}}' }],
    },
    'booking.checked': {
      entity: 'booking',
      approval: true,
      recipients: [{ email: 'guestEmail' }],
      templates: [{ channel: 'email', locale: 'en', subject: 'Checked', body: 'Hello' }],
    },
  },
}

const EVENT = {
  type: 'booking.confirmed',
  entity: { type: 'booking', id: '42' },
  payload: { guestEmail: 'ana@example.com', guestName: 'Ana' },
}

describe('the operator’s commands, on a running server', () => {
  let world: World
  let tenant: TestTenant

  before(async () => {
    world = await startWorld('sqlite')
    tenant = await world.tenant({ catalogue: CATALOGUE, channels: ['email'] })
  })
  after(() => world?.[Symbol.asyncDispose]())

  function commandsOf({ adminKey }: TestTenant) {
    const cli = (args: string, setting: CommandSetting = {}): Promise<SaidByCommand> =>
      operatorCommand(world, args.split(' '), { key: adminKey, ...setting })
    /** As a script uses it; what went wrong fails the test. */
    const json = async (args: string, setting: CommandSetting = {}): Promise<Record<string, unknown>[]> => {
      const said = await cli(args, setting)
      assert.equal(said.code, 0, `${args}: ${said.stdout}${said.stderr}`)
      return said.rows
    }
    return { cli, json }
  }
  const cli = (args: string, setting?: CommandSetting) => commandsOf(tenant).cli(args, setting)
  const json = (args: string, setting?: CommandSetting) => commandsOf(tenant).json(args, setting)

  const inTerminal = { isTerminal: true, columns: 160 }

  async function parked(): Promise<string> {
    const id = await tenant.submit({ channel: 'email', to: { email: 'ana@example.com' }, body: 'Hello', dueAt: LATER })
    await json(`notifications park ${id} --note waits`)
    return id
  }

  it('make, list, show and change tenants', async () => {
    const made = await operatorCommand(world, [
      'tenants',
      'create',
      'acme',
      '--name',
      'Acme & Co',
      '--catalogue',
      'atlas',
    ])
    assert.match(JSON.stringify(made.rows[0]?.['keys']), /^\{"admin":"pbx_/)
    const shown = await operatorCommand(world, ['tenants', 'create', 'acme-2'], inTerminal)
    assert.match(shown.stdout, /^admin key {2}pbx_[\w-]+ .*only this once\)$/m)

    const ids = (await operatorCommand(world, ['tenants', 'list', '--all'])).rows.map(({ id }) => id)
    assert.ok(ids.includes('acme') && ids.includes(tenant.id))
    const changed = await operatorCommand(world, [
      'tenants',
      'update',
      'acme',
      '--retention',
      'P90D',
      '--time-zone',
      'Asia/Kolkata',
    ])
    assert.equal(changed.rows[0]?.['retention'], 'P90D')
    const [acme] = (await operatorCommand(world, ['tenants', 'show', 'acme'])).rows
    assert.deepEqual([acme?.['name'], acme?.['timeZone']], ['Acme & Co', 'Asia/Kolkata'])
    assert.equal((await json('tenants show'))[0]?.['id'], tenant.id)
    assert.equal(
      (await json('tenants update --file -', { input: '{"retention": null, "region": "IN"}' }))[0]?.['region'],
      'IN',
    )
  })

  it('issue, list and revoke keys', async () => {
    const [made] = await json('keys create desk --role operator --rate-per-second 50')
    assert.match(String(made?.['key']), /^pbx_/)
    assert.equal(made?.['ratePerSecond'], 50)
    const listed = await json('keys list')
    assert.ok(listed.some(({ id, name }) => id === made?.['id'] && name === 'desk'))
    assert.ok(listed.every((key) => !('key' in key)))

    await json(`keys revoke ${String(made?.['id'])}`)

    const table = await cli('keys list', inTerminal)
    assert.match(table.stdout, /desk +operator +revoked/)
    const opsKeys = await operatorCommand(world, ['keys', 'list', '--ops'])
    assert.ok(opsKeys.rows.every(({ role }) => role === 'ops'))
    assert.equal((await cli('keys create nobody')).code, 2)
  })

  it('make, list, change, suspend, activate and verify accounts', async () => {
    writeFileSync(
      join(world.dataDir, 'account.json'),
      JSON.stringify({ channel: 'sms', provider: 'sandbox', settings: {} }),
    )
    const [made] = await json('accounts create --file account.json --name trial --per-second 5')
    const id = String(made?.['id'])
    assert.deepEqual(made?.['pace'], { perSecond: 5, burst: 5 })

    assert.equal((await json(`accounts suspend ${id}`))[0]?.['status'], 'suspended')
    assert.deepEqual(
      (await json('accounts list --channel sms --status suspended')).map((row) => row['id']),
      [id],
    )
    assert.equal((await json(`accounts activate ${id}`))[0]?.['status'], 'active')
    assert.equal((await json(`accounts update ${id} --priority 7`))[0]?.['priority'], 7)
    assert.equal((await json(`accounts verify ${id}`))[0]?.['isGood'], true)
    const shown = await cli(`accounts show ${id}`, inTerminal)
    assert.match(shown.stdout, /^name +trial$/m)
    assert.match(shown.stdout, /^status +active$/m)
    assert.equal((await cli(`accounts update ${id}`)).code, 2)
  })

  it('publish, list, show and explain events', async () => {
    const [published] = await json('events publish -', { input: JSON.stringify(EVENT) })
    const id = String(published?.['id'])
    assert.equal(published?.['duplicate'], false)
    await tenant.settle()
    const again = await cli('events publish -', {
      input: JSON.stringify({ ...EVENT, id }),
      isTerminal: true,
      columns: 80,
    })
    assert.match(again.stdout, /was known already: nothing was written/)

    const listed = await json('events list --entity-type booking --entity-id 42 --from PT1H')
    assert.deepEqual(
      listed.map((event) => event['id']),
      [id],
    )
    const shown = await cli(`events show ${id} --utc`, inTerminal)
    assert.match(shown.stdout, /^notifications: 1 sent$/m)
    assert.match(shown.stdout, /what became of it \(UTC\)\n(?: {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}.+\n)+/)
    assert.match(shown.stdout, /email: sent to a\*\*\*@example\.com through sandbox/)

    const many = await cli('events publish -', { input: JSON.stringify([EVENT, { ...EVENT, type: 'unknown' }]) })
    assert.equal(many.code, 1)
    assert.deepEqual(
      many.rows.map(({ status }) => status),
      [202, 422],
    )
    assert.equal((await cli('events publish -', { input: '{"half": ' })).code, 1)

    const explained = await cli('explain --entity booking:42')
    assert.equal(explained.code, 0, explained.stderr)
    assert.match(explained.stdout, /email: sent to a\*\*\*@example\.com through sandbox/)
    const nothing = await cli('explain --entity booking:none')
    assert.equal(nothing.code, 1)
    assert.match(nothing.stderr, /no event about booking:none is known/)
  })

  it('send, list, show and move notifications', async () => {
    const input = JSON.stringify({
      channel: 'email',
      to: { email: 'ana@example.com' },
      subject: 'Hi',
      body: 'Hello Ana',
    })
    const [sent] = await json('notifications send -', { input })
    const id = String(sent?.['id'])
    await tenant.comesTo(id, 'sent')
    assert.equal((await json(`notifications status ${id}`))[0]?.['status'], 'sent')
    const shown = await cli(`notifications show ${id}`, inTerminal)
    assert.match(shown.stdout, /attempt 1 through sandbox: accepted, after \d+ ms\n.*send, sending → sent/)
    assert.match(shown.stdout, /what it says\n\nHi\n\nHello Ana/)

    const stopped = await parked()
    assert.deepEqual(
      (await json('notifications list --status parked,uncertain')).map((row) => row['id']),
      [stopped],
    )
    assert.ok((await json('notifications causes')).length > 0)
    assert.equal((await json(`notifications discard ${stopped}`))[0]?.['status'], 'discarded')
    assert.equal((await json(`notifications restore ${stopped}`))[0]?.['status'], 'parked')
    assert.match(
      (await cli(`notifications retry ${stopped} --note back`, inTerminal)).stdout,
      /^notification \S+ is queued$/m,
    )
    const waiting = await tenant.submit({ channel: 'email', to: { email: 'ana@example.com' }, body: 'x', dueAt: LATER })
    assert.equal((await json(`notifications cancel ${waiting}`))[0]?.['status'], 'cancelled')
    const audit = await json(`audit list --notification-id ${stopped}`)
    assert.ok(audit.some(({ action, note }) => action === 'park' && note === 'waits'))
    assert.ok(audit.some(({ action, note }) => action === 'retry' && note === 'back'))
  })

  it('page through lists, and say how to go on', async () => {
    const tenant = await world.tenant({ catalogue: CATALOGUE, channels: ['email'] })
    const { cli, json } = commandsOf(tenant)
    for (let i = 0; i < 3; i += 1)
      await tenant.submit({
        channel: 'email',
        to: { email: 'p@example.com' },
        body: 'x',
        dueAt: LATER,
        entity: { type: 'booking', id: 'pages' },
      })

    const first = await cli('notifications list --entity-type booking --entity-id pages --limit 2')
    const cursor = /--cursor (\S+)/.exec(first.stderr)?.[1]
    assert.equal(first.rows.length, 2)
    const rest = await json(`notifications list --entity-type booking --entity-id pages --cursor ${cursor}`)
    const all = await json('notifications list --entity-type booking --entity-id pages --all')

    assert.deepEqual(
      [...first.rows, ...rest].map(({ id }) => id),
      all.map(({ id }) => id),
    )
    assert.equal(all.length, 3)
    assert.equal((await cli('notifications list --limit 2 --all')).code, 2)
    assert.equal((await cli('notifications list --limit many')).code, 2)
    assert.equal((await cli('notifications list --from yesterday')).code, 2)
  })

  it('list and move schedules', async () => {
    const tenant = await world.tenant({ catalogue: CATALOGUE, channels: ['email'] })
    const { cli, json } = commandsOf(tenant)
    const publish = (id: string) =>
      tenant.publish({ ...EVENT, type: 'booking.checked', entity: { type: 'booking', id } })
    const scheduleOf = async (entity: string): Promise<string> => {
      await publish(entity)
      await tenant.settle()
      const [schedule] = await json(
        `schedules list --entity-type booking --entity-id ${entity} --status awaiting_approval`,
      )
      return String(schedule?.['id'])
    }
    const [one, two] = [await scheduleOf('s1'), await scheduleOf('s2')]

    assert.equal((await json(`schedules approve ${one} --note fine`))[0]?.['status'], 'pending')
    assert.equal((await json(`schedules reject ${two}`))[0]?.['status'], 'cancelled')
    await tenant.settle()
    assert.match((await cli(`schedules show ${one}`, inTerminal)).stdout, /^status +completed$/m)
    const due = { ...EVENT, entity: { type: 'booking', id: 's3' }, dueAt: LATER }
    await tenant.publish(due)
    await tenant.settle()
    const [later] = await json('schedules list --entity-type booking --entity-id s3 --due future')
    await json(`schedules send-now ${String(later?.['id'])}`)
    await until('it is planned', async () => {
      const [planned] = await json(`schedules show ${String(later?.['id'])}`)
      return planned?.['status'] === 'completed'
    })
    const refused = await cli(`schedules replay ${one}`)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /409 not_failed/)
  })

  it('list, show, preview and try templates', async () => {
    const [template] = await json('templates list --event-type booking.confirmed --active')
    const id = String(template?.['id'])

    assert.match(
      (await cli(`templates show ${id}`, inTerminal)).stdout,
      /^eventType +booking\.confirmed$[\s\S]*Hi \{\{guestName\}\}/m,
    )
    assert.equal((await json(`templates versions ${id}`)).length, 1)
    const [preview] = await json(`templates preview ${id} --context -`, { input: '{"guestName": "Ana"}' })
    assert.equal(preview?.['body'], 'Hi Ana')
    const [sent] = await json(`templates test-send ${id} --email ana@example.com`)
    await tenant.comesTo(String(sent?.['id']), 'sent')
    assert.equal((await cli(`templates test-send ${id}`)).code, 2)
  })

  it('show numbers, workers and the audit of one tenant and of all', async () => {
    const [own] = await json('kpis --by channel --from PT1H')
    assert.match(JSON.stringify(own?.['groups']), /"channel":"email"/)
    const table = await cli('kpis --by channel --from PT1H --step PT30M', { ...inTerminal, columns: 200 })
    assert.match(table.stdout, /^CHANNEL +QUEUED +SCHEDULED/m)
    assert.match(table.stdout, /^total +\d+/m)
    const all = await operatorCommand(world, ['kpis', '--by', 'tenantId'])
    assert.ok(JSON.stringify(all.rows[0]?.['groups']).includes(`"tenantId":"${tenant.id}"`))
    const workers = await operatorCommand(world, ['workers'], inTerminal)
    assert.match(workers.stdout, /alive/)
    const everywhere = await operatorCommand(world, ['audit', 'list', '--action', 'create'])
    assert.ok(everywhere.rows.length > 1)
    const narrow = await operatorCommand(world, ['audit', 'list', '--action', 'create', '--tenant', tenant.id])
    assert.ok(narrow.rows.every(({ tenantId }) => tenantId === tenant.id))
  })

  it('say who may not, what is not there, and what to do', async () => {
    const viewer = await tenant.key('viewer')
    const id = await parked()

    const forbidden = await cli(`notifications retry ${id}`, { key: viewer })
    assert.equal(forbidden.code, 1)
    assert.match(forbidden.stderr, /403 forbidden.*\n +→ this key’s role may not do that/)
    const unknown = await cli('kpis', { key: 'pbx_unknown' })
    assert.match(unknown.stderr, /401 unauthorized.*\n +→ the key is unknown, revoked or expired/)
    assert.doesNotMatch(unknown.stderr, /pbx_unknown/)
    const missing = await cli('notifications show 019b2c7e-0000-7000-8000-000000000000')
    assert.match(missing.stderr, /404 not_found.*\n +→ check the id, and the tenant/)
    const noTenant = await operatorCommand(world, ['accounts', 'list'])
    assert.match(noTenant.stderr, /tenantId is required with an ops key\n +→ name a tenant with --tenant/)
    const wrong = await cli('notifications list --status pigeon')
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /422 invalid_query/)
    const body = await cli('accounts create --channel sms --provider nobody --name x')
    assert.match(body.stderr, /\/provider /)
  })
})

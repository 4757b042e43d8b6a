import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { closedOutbound } from '../../../../test/support/providers.ts'
import { recordingLogger, storedAccount } from '../../../../test/support/samples.ts'
import type { StoredAccount } from '../model/account.ts'
import type { Tenant } from '../model/tenant.ts'
import type { OpenSecrets } from '../tenant/account-book.ts'
import { createTenantSnapshots } from '../tenant/snapshots.ts'
import { createReceivingAccounts } from './receiving-accounts.ts'
import { createReceiptSources } from './sources.ts'

const MAX_AGE_MS = 1_000
const SECRETS = { appSecret: 'opened' }

const meta = storedAccount({ id: 'meta-1', tenantId: 'acme', provider: 'meta', channel: 'whatsapp' })
const smtp = storedAccount({ id: 'smtp-1', tenantId: 'acme', provider: 'smtp', channel: 'email' })
const ses = storedAccount({ id: 'ses-1', tenantId: 'acme', provider: 'ses', channel: 'email' })
const otherSes = storedAccount({ id: 'ses-2', tenantId: 'other', provider: 'ses', channel: 'email' })

function setup(rows: StoredAccount[] = [meta, smtp, ses, otherSes], openSecrets: OpenSecrets = () => SECRETS) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const sources = createReceiptSources({ ...closedOutbound(), clock, certHosts: [] })
  const state = { reads: 0, isDown: false, opened: [] as string[] }
  const look = async <T>(answer: () => T): Promise<T> => {
    state.reads += 1
    if (state.isDown) throw new Error('the store is away')
    return answer()
  }
  const snapshots = createTenantSnapshots(
    {
      accounts: { list: (tenantId) => look(() => rows.filter((row) => row.tenantId === tenantId)) },
      tenants: { find: async (id) => (['acme', 'other', 'empty', 'new'].includes(id) ? ({ id } as Tenant) : null) },
      catalogue: { current: async () => null },
    },
    clock,
    MAX_AGE_MS,
  )
  const accounts = createReceivingAccounts({
    accounts: {
      listOfProviders: (providers) => look(() => rows.filter((row) => providers.includes(row.provider))),
    },
    snapshots,
    sources,
    openSecrets: (account) => {
      state.opened.push(account.id)
      return openSecrets(account)
    },
    clock,
    logger,
    maxAgeMs: MAX_AGE_MS,
  })
  const source = (name: string) => sources.get(name) ?? assert.fail(`there is no source ${name}`)
  const idsOf = async (name: string, tenantId: string | null): Promise<string[]> =>
    (await accounts.get(source(name), tenantId)).accounts.map(({ id }) => id)
  return { accounts, snapshots, source, idsOf, clock, logger, state, rows }
}

describe('the accounts a callback may be about', () => {
  it('are the tenant’s of that source, with their secrets', async () => {
    const { accounts, source } = setup()

    const { isTenantKnown, accounts: found } = await accounts.get(source('meta'), 'acme')

    assert.equal(isTenantKnown, true)
    assert.deepEqual(
      found.map(({ id, secrets }) => [id, secrets]),
      [['meta-1', SECRETS]],
    )
  })

  it('are everybody’s where the source is shared, with the tokens of those that name no topic and no other secret', async () => {
    const named = { ...ses, id: 'ses-3', settings: { topicArn: 'arn' }, secretNames: ['webhookToken'] }
    const withToken = { ...otherSes, secretNames: ['secretAccessKey', 'webhookToken'] }
    const { accounts, source, state } = setup([ses, withToken, named], () => ({
      webhookToken: 'token',
      secretAccessKey: 'key',
    }))

    const { accounts: found } = await accounts.get(source('ses'), null)

    assert.deepEqual(
      found.map(({ id, secrets }) => [id, secrets]),
      [
        ['ses-1', {}],
        ['ses-2', { webhookToken: 'token' }],
        ['ses-3', {}],
      ],
    )
    assert.deepEqual(state.opened, ['ses-2'])
  })

  it('open no secret that no callback is proven with', async () => {
    const { idsOf, state } = setup()

    await idsOf('meta', 'acme')

    assert.deepEqual(state.opened, ['meta-1'])
  })

  it('are read once in a while, however many ask, and of whichever source', async () => {
    const { idsOf, clock, state, rows } = setup()
    await Promise.all(Array.from({ length: 100 }, () => idsOf('meta', 'acme')))
    await idsOf('msg91', 'acme')
    rows.splice(0, 1)

    await clock.advance(MAX_AGE_MS - 1)
    assert.deepEqual(await idsOf('meta', 'acme'), ['meta-1'])
    assert.equal(state.reads, 1)
    await clock.advance(1)
    assert.deepEqual(await idsOf('meta', 'acme'), [])
    assert.equal(state.reads, 2)
  })

  it('are none, without a second look, for a tenant that is not there or has none', async () => {
    const { accounts, source, idsOf, state } = setup()

    assert.deepEqual(await accounts.get(source('meta'), 'nobody'), { isTenantKnown: false, accounts: [] })
    assert.deepEqual(await accounts.get(source('meta'), 'empty'), { isTenantKnown: true, accounts: [] })
    for (let i = 0; i < 10; i++) assert.deepEqual(await idsOf('meta', i % 2 ? 'nobody' : 'empty'), [])
    assert.equal(state.reads, 2)
  })

  it('are none, without any look, for what cannot be a tenant', async () => {
    const { idsOf, state } = setup()

    for (const name of ['', 'Acme', 'a b', '../acme', 'x'.repeat(64), '\0'])
      assert.deepEqual(await idsOf('meta', name), [])
    assert.equal(state.reads, 0)
  })

  it('stay in memory while somebody makes up tenants by the thousand', async () => {
    const { accounts, source, idsOf } = setup()
    await idsOf('meta', 'acme')

    for (let i = 0; i < 12_000; i++) await idsOf('meta', `made-up-${i}`)

    assert.equal(accounts.peek(source('meta'), 'acme')?.accounts.length, 1)
    assert.equal(accounts.peek(source('meta'), 'made-up-1'), null)
  })

  it('can be told from memory alone, however old, also while they are being read anew', async () => {
    const { accounts, source, idsOf, clock, state } = setup()
    assert.equal(accounts.peek(source('meta'), 'acme'), null)
    await idsOf('meta', 'acme')
    await clock.advance(MAX_AGE_MS * 1_000)
    const reading = idsOf('meta', 'acme')

    assert.equal(accounts.peek(source('meta'), 'acme')?.accounts.length, 1)
    assert.equal(accounts.peek(source('ses'), null), null)
    await reading
    assert.equal(state.reads, 2)
  })

  it('are read anew at once after a change made here', async () => {
    const { accounts, snapshots, idsOf, rows } = setup()
    await Promise.all([idsOf('meta', 'acme'), idsOf('ses', null), idsOf('meta', 'new')])
    rows.splice(0, rows.length, { ...meta, id: 'meta-2' }, { ...ses, id: 'ses-3' }, { ...meta, tenantId: 'new' })

    snapshots.outdate('acme')
    snapshots.outdate('new')
    accounts.forget()

    assert.deepEqual(await idsOf('meta', 'acme'), ['meta-2'])
    assert.deepEqual(await idsOf('ses', null), ['ses-3'])
    assert.deepEqual(await idsOf('meta', 'new'), ['meta-1'])
  })

  it('are asked for again after a read that failed', async () => {
    const { idsOf, state } = setup()
    state.isDown = true
    await assert.rejects(idsOf('meta', 'acme'))
    state.isDown = false

    assert.deepEqual(await idsOf('meta', 'acme'), ['meta-1'])
  })

  it('believe nobody where their secrets cannot be opened, which harms no other and is said once', async () => {
    const second = { ...meta, id: 'meta-2' }
    const { accounts, source, clock, logger } = setup([meta, second], ({ id }) => {
      if (id === 'meta-1') throw new Error('sealed with another key')
      return SECRETS
    })

    await accounts.get(source('meta'), 'acme')
    await clock.advance(MAX_AGE_MS)
    const { accounts: found } = await accounts.get(source('meta'), 'acme')

    assert.deepEqual(
      found.map(({ secrets }) => secrets),
      [{}, SECRETS],
    )
    assert.equal(logger.lines.length, 1)
  })
})

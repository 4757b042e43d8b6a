import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { storedAccount } from '../../../../test/support/samples.ts'
import type { StoredAccount } from '../model/account.ts'
import type { Tenant } from '../model/tenant.ts'
import { createTenantSnapshots } from './snapshots.ts'

const MAX_AGE_MS = 1_000

/** Every tenant exists whose name does not begin with `no`. */
function setup() {
  const clock = createManualClock()
  const reads: string[] = []
  const accounts: StoredAccount[] = [storedAccount({ id: 'first' }), storedAccount({ id: 'second' })]
  const store = {
    tenants: {
      find: async (id: string) => {
        reads.push(id)
        return id.startsWith('no') ? null : ({ id } as Tenant)
      },
    },
    accounts: { list: async () => [...accounts] },
    catalogue: { current: async () => null },
  }
  return { clock, reads, accounts, snapshots: createTenantSnapshots(store, clock, MAX_AGE_MS) }
}

it('answers all who ask with one snapshot, until it is too old', async () => {
  const { clock, reads, snapshots } = setup()

  const [one, other] = await Promise.all([snapshots.get('acme'), snapshots.get('acme')])
  await clock.advance(MAX_AGE_MS - 1)
  const later = await snapshots.get('acme')
  await clock.advance(1)
  const last = await snapshots.get('acme')

  assert.ok(one === other && one === later && one !== last)
  assert.deepEqual(reads, ['acme', 'acme'])
})

it('reads anew after a change made here, and has what it had until then', async () => {
  const { accounts, snapshots } = setup()
  await snapshots.get('acme')
  accounts.length = 0

  snapshots.outdate('acme')

  assert.equal(snapshots.last('acme')?.accounts.length, 2)
  assert.deepEqual((await snapshots.get('acme')).accounts, [])
})

it('chooses the first active account of a channel', async () => {
  const { accounts, snapshots } = setup()
  accounts[0] = storedAccount({ id: 'first', status: 'suspended' })

  assert.equal((await snapshots.choose('acme', 'sms', { phone: '+15550100' }))?.id, 'second')
  assert.equal(await snapshots.choose('acme', 'email', { email: 'a@example.com' }), null)
})

it('remembers for a while that a tenant does not exist, and finds it once it does', async () => {
  const { clock, reads, snapshots } = setup()

  assert.equal((await snapshots.get('nobody')).tenant, null)
  assert.equal((await snapshots.get('nobody')).tenant, null)
  assert.equal(snapshots.last('nobody')?.tenant, null)
  await clock.advance(MAX_AGE_MS)
  await snapshots.get('nobody')
  snapshots.outdate('nobody')
  await snapshots.get('nobody')

  assert.deepEqual(reads, ['nobody', 'nobody', 'nobody'])
})

it('keeps ten thousand tenants, however many names somebody makes up', async () => {
  const { reads, snapshots } = setup()
  const read = async (prefix: string, from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i++) await snapshots.get(`${prefix}-${i}`)
  }
  await read('tenant', 0, 10_001)
  await read('nobody', 0, 2_000)
  reads.length = 0

  await read('tenant', 1, 10_001)
  assert.deepEqual(reads, [])
  await read('tenant', 0, 1)
  await read('nobody', 0, 1)

  assert.deepEqual(reads, ['tenant-0', 'nobody-0'])
})

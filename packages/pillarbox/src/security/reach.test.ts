import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { systemClock } from '../runtime/system.ts'
import { createReach } from './reach.ts'

const lookup = async (name: string) => {
  if (name === 'nowhere.example') throw Object.assign(new Error('no'), { code: 'ENOTFOUND' })
  return [{ address: name === 'inside.example' ? '192.168.1.5' : '93.184.216.34', family: 4 }]
}

describe('whether a host would be dialled', () => {
  it('is told of addresses and of names', async () => {
    const reach = createReach({ clock: systemClock, allowPrivate: false, lookup })

    assert.match((await reach('127.0.0.1')) ?? '', /^127\.0\.0\.1 is not a public address/)
    const inside = (await reach('inside.example')) ?? ''
    assert.match(inside, /^inside\.example is not a public address/)
    assert.ok(!inside.includes('192.168.1.5'), 'it does not say where the name leads')
    assert.equal(await reach('93.184.216.34'), null)
    assert.equal(await reach('outside.example'), null)
  })

  it('is no question where private addresses are allowed', async () => {
    const reach = createReach({ clock: systemClock, allowPrivate: true, lookup })

    assert.equal(await reach('127.0.0.1'), null)
    assert.equal(await reach('inside.example'), null)
  })

  it('is left open for a name that is not known, or not known soon', async () => {
    const clock = createManualClock()
    const slow = createReach({ clock, allowPrivate: false, lookup: () => new Promise(() => {}) })
    const asked = slow('slow.example')

    await clock.advance(2_000)

    assert.equal(await asked, null)
    assert.equal(await createReach({ clock, allowPrivate: false, lookup })('nowhere.example'), null)
  })
})

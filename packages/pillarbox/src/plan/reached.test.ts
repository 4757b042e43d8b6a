import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Channel } from '../model/channel.ts'
import type { EventRecipient } from '../model/event.ts'
import { openPlanning } from './fixture.ts'

interface Given {
  /** Channels that have a template, and those that have an account. */
  worded: readonly Channel[]
  accounts: readonly Channel[]
  recipients?: EventRecipient[]
  suppressed?: readonly string[]
}

const ASKED = ['sms', 'email', 'push'] as const

/** The words of a schedule that was to tell somebody on all three channels. */
async function wordsOf(t: TestContext, { worded, accounts, recipients, suppressed = [] }: Given) {
  const bench = await openPlanning(t, {
    accounts,
    catalogue: {
      entities: { booking: 'bookings' },
      eventTypes: {
        'booking.confirmed': {
          entity: 'booking',
          recipients: [{ phone: 'phone', email: 'email' }],
          delivery: { channels: [...ASKED] },
          templates: worded.map((channel) => ({
            channel,
            locale: 'en',
            body: 'x',
            ...(channel === 'email' && { subject: 'S' }),
          })),
        },
      },
    },
  })
  for (const address of suppressed) await bench.suppress(address)
  await bench.publish(recipients ? { recipients } : { payload: { email: 'ada@example.test' } })
  await bench.plan()
  const { status, lastError } = await bench.schedule()
  return `${status}: ${lastError}`
}

describe('a schedule that could tell nobody anything says why', () => {
  it('with the one cause there is, and its channels', async (t) => {
    assert.equal(
      await wordsOf(t, { worded: [], accounts: ASKED }),
      'failed: Template not found: no active template for booking.confirmed on sms, email, push',
    )
    assert.equal(
      await wordsOf(t, { worded: ASKED, accounts: [] }),
      'failed: No active channel: the tenant has no active account for sms, email, push',
    )
    assert.equal(
      await wordsOf(t, { worded: ASKED, accounts: ASKED, recipients: [{ userId: 'u-1' }] }),
      'failed: No recipient: nobody has an address that can be used for sms, email, push',
    )
  })

  it('with each cause and the channels it is of, where there are several', async (t) => {
    assert.equal(
      await wordsOf(t, { worded: ['sms', 'email'], accounts: ['sms'] }),
      'failed: No recipient: nobody has an address that can be used for sms; ' +
        'the tenant has no active account for email; no active template for booking.confirmed on push',
    )
    assert.equal(
      await wordsOf(t, { worded: ['email'], accounts: ['sms'] }),
      'failed: No active channel: the tenant has no active account for email; ' +
        'no active template for booking.confirmed on sms, push',
    )
  })

  it('with what is suppressed, apart from what is missing', async (t) => {
    assert.equal(
      await wordsOf(t, { worded: ASKED, accounts: ['sms', 'email'], suppressed: ['ada@example.test'] }),
      'failed: No recipient: nobody has an address that can be used for sms, email; suppressed are those for email; ' +
        'the tenant has no active account for push',
    )
  })

  it('of all recipients together, also where they were planned in parts', async (t) => {
    const recipients = Array.from({ length: 1_500 }, (_, i): EventRecipient => {
      return i < 1_200 ? { userId: `u-${i}` } : { email: 'ada@example.test' }
    })
    assert.equal(
      await wordsOf(t, {
        worded: ['sms', 'email'],
        accounts: ['sms', 'email'],
        recipients,
        suppressed: ['ada@example.test'],
      }),
      'failed: No recipient: nobody has an address that can be used for sms, email; suppressed are those for email; ' +
        'no active template for booking.confirmed on push',
    )
  })
})

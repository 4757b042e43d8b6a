import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { interaktCallback, metaCallback } from '@pillarbox/vendors'
import {
  APP_SECRET,
  INTERAKT_SECRET,
  LINES,
  type Line,
  lineOf,
  type News,
  type Taken,
  TOPIC,
} from '../support/loopback-vendors.ts'
import { openReceiptWorld } from '../support/receipt-world.ts'
import type { Account, Notification, TestTenant } from '../support/tenant.ts'
import { until } from '../support/until.ts'
import { onEachStore } from '../support/world.ts'

let people = 0

/** Somebody nobody wrote to before. */
function somebody(): { phone: string; email: string } {
  people += 1
  return { phone: `+9198765${String(people).padStart(5, '0')}`, email: `guest-${people}@example.com` }
}

interface Desk {
  tenant: TestTenant
  account: Account
}

/** A notification that a vendor took, and what the vendor knows of it. */
interface Sent {
  notification: Notification
  message: Taken
}

onEachStore('receipts', openReceiptWorld, (world) => {
  const desks = new Map<string, Desk>()

  before(async () => {
    for (const line of LINES) desks.set(line.name, await openDesk(line))
  })

  /** A tenant of its own with an account of that vendor, and a sandbox on another channel to fall back to. */
  async function openDesk(line: Line, changes: object = {}): Promise<Desk> {
    const tenant = await world().product.tenant()
    const account = await tenant.account({ ...line.account(world().vendors), ...changes })
    await tenant.account({ channel: nextChannel(line), provider: 'sandbox', name: 'next' })
    return { tenant, account }
  }

  function deskOf(line: Line): Desk {
    return desks.get(line.name) ?? assert.fail(`no desk for ${line.name}`)
  }

  async function send(line: Line, tenant: TestTenant, rest: object = {}): Promise<Sent> {
    const to = somebody()
    const subject = line.channel === 'email' ? { subject: 'Hello' } : {}
    const notification = await tenant.send({ channel: line.channel, to, body: 'Hello', ...subject, ...rest })
    const address = line.channel === 'email' ? to.email : to.phone
    const message = line.taken(world().vendors, address) ?? assert.fail(`${line.name} took nothing`)
    return { notification, message }
  }

  async function report(line: Line, { account }: Desk, news: News, message: Taken): Promise<void> {
    const status = await world().callBack(account.webhookUrl, line.callback(world().vendors, news, message))
    assert.equal(status, 200)
  }

  // All at once, as vendors do.
  describe('of every vendor', { concurrency: true }, () => {
    for (const line of LINES) receiptsOf(line)
  })

  function receiptsOf(line: Line): void {
    describe(`by ${line.name}`, () => {
      it('make a notification delivered', async () => {
        const desk = deskOf(line)
        const { notification, message } = await send(line, desk.tenant)

        await report(line, desk, 'delivered', message)

        const delivered = await desk.tenant.comesTo(notification.id, 'delivered')
        assert.ok(delivered.deliveredAt !== null)
        assert.deepEqual(
          delivered.receipts.map(({ kind }) => kind),
          ['delivered'],
        )
      })

      if (line.reportsReads)
        it('make it read, and a delivery reported later changes nothing', async () => {
          const desk = deskOf(line)
          const { notification, message } = await send(line, desk.tenant)

          await report(line, desk, 'read', message)
          await desk.tenant.comesTo(notification.id, 'read')
          await report(line, desk, 'delivered', message)

          await world().callbacks(line.source)
          const { status, readAt } = await desk.tenant.notification(notification.id)
          assert.equal(status, 'read')
          assert.ok(readAt !== null)
        })

      it('park one that failed and has nowhere else to go, in words', async () => {
        const desk = deskOf(line)
        const { notification, message } = await send(line, desk.tenant)

        await report(line, desk, 'failed', message)

        const { reason, lastError } = await desk.tenant.comesTo(notification.id, 'parked')
        assert.equal(reason, line.reason)
        assert.match(lastError ?? '', /reported/)
      })

      it('let the next channel take over where one failed, linked both ways', async () => {
        const desk = deskOf(line)
        const channel = nextChannel(line)
        const { notification, message } = await send(line, desk.tenant, { fallback: [channel] })

        await report(line, desk, 'failed', message)

        const failed = await desk.tenant.comesTo(notification.id, 'failed')
        assert.equal(failed.reason, `fallback_triggered:${channel}`)
        const next = await desk.tenant.comesTo(failed.fallbackTo ?? assert.fail('it leads nowhere'), 'sent')
        assert.deepEqual([next.channel, next.fallbackOf], [channel, notification.id])
      })
    })
  }

  describe('that are not to be believed', () => {
    /** Once everything that was kept has been read, it still stands where it stood. */
    async function assertUnmoved(line: Line, tenant: TestTenant, { notification }: Sent): Promise<void> {
      await world().callbacks(line.source)
      const { status, receipts } = await tenant.notification(notification.id)
      assert.deepEqual([status, receipts], ['sent', []])
    }

    for (const line of LINES)
      it(`change nothing and are counted, forged in the name of ${line.name}`, async () => {
        const desk = deskOf(line)
        const sent = await send(line, desk.tenant)
        // Signed, but about something else.
        const { body, ...rest } = line.callback(world().vendors, 'delivered', { ...sent.message, id: 'made-up' })
        const withoutToken = desk.account.webhookUrl.split('?')[0] ?? ''
        const before = sumOf(await world().refused(line.source))

        const forged = { ...rest, body: body?.replaceAll('made-up', sent.message.id) ?? '' }
        const status = await world().callBack(withoutToken, forged)

        assert.equal(status, 403)
        assert.equal(sumOf(await world().refused(line.source)), before + 1)
        await assertUnmoved(line, desk.tenant, sent)
      })

    it('change nothing when another tenant proves to be itself, and speaks of a message that is not its own', async () => {
      for (const line of LINES.filter(({ source }) => source !== 'ses' && source !== 'sns-sms')) {
        const desk = deskOf(line)
        const sent = await send(line, desk.tenant)
        const theirs = await openDesk(line)

        await report(line, theirs, 'failed', sent.message)

        const [kept] = await world().callbacks(line.source)
        assert.deepEqual([kept?.status, kept?.result?.matched, kept?.result?.moved], ['unmatched', 0, 0], line.name)
        await assertUnmoved(line, desk.tenant, sent)
      }
    })

    it('change nothing when another account of the tenant proves to be itself', async () => {
      const line = lineOf('MSG91')
      const desk = deskOf(line)
      const sent = await send(line, desk.tenant)
      const second = await desk.tenant.account({ ...line.account(world().vendors), name: 'second', priority: 9 })

      await report(line, { ...desk, account: second }, 'failed', sent.message)

      await assertUnmoved(line, desk.tenant, sent)
      // The right account is believed, with the very same words.
      await report(line, desk, 'delivered', sent.message)
      await desk.tenant.comesTo(sent.notification.id, 'delivered')
    })

    it('change nothing when they come through a topic of somebody else', async () => {
      const line = lineOf('Amazon SES')
      const { vendors } = world()
      const topicArn = `${TOPIC}-of-another`
      const base = line.account(vendors)
      const settings = { ...(base['settings'] as object), topicArn }
      const theirs = await openDesk(line, { settings })
      const desk = deskOf(line)
      const sent = await send(line, desk.tenant)
      const callback = line.callback(
        vendors,
        'failed',
        { ...sent.message, reference: sent.notification.id },
        { topicArn },
      )

      assert.equal(await world().callBack(theirs.account.webhookUrl, callback), 200)

      await assertUnmoved(line, desk.tenant, sent)
    })

    it('change nothing when they are signed by SNS, but long ago', async () => {
      const line = lineOf('Amazon SES')
      const desk = deskOf(line)
      const sent = await send(line, desk.tenant)
      const callback = line.callback(world().vendors, 'failed', sent.message, { at: Date.now() - 7_200_000 })
      const before = (await world().refused('ses'))['replayed'] ?? 0

      assert.equal(await world().callBack(desk.account.webhookUrl, callback), 403)

      assert.equal((await world().refused('ses'))['replayed'], before + 1)
      await assertUnmoved(line, desk.tenant, sent)
    })
  })

  it('that are repeated are kept once and applied once', async () => {
    const line = lineOf('Meta')
    const desk = deskOf(line)
    const { notification, message } = await send(line, desk.tenant, { fallback: ['email'] })
    const callback = line.callback(world().vendors, 'failed', message)
    const before = (await world().callbacks('meta')).length

    const statuses = await Promise.all(
      Array.from({ length: 5 }, () => world().callBack(desk.account.webhookUrl, callback)),
    )

    assert.deepEqual(statuses, [200, 200, 200, 200, 200])
    const { fallbackTo, receipts } = await desk.tenant.comesTo(notification.id, 'failed')
    assert.equal(receipts.length, 1)
    const kept = await world().callbacks('meta')
    assert.equal(kept.length, before + 1)
    // Neither does one that is read again by hand.
    const replayed = await world().product.ops('POST', `/ops/callbacks/${kept[0]?.id}/replay`)
    assert.equal(replayed.status, 202)
    await until('it was read again', async () => (await world().callbacks('meta'))[0]?.status === 'applied')
    const after = await desk.tenant.notification(notification.id)
    assert.deepEqual([after.status, after.fallbackTo, after.receipts.length], ['failed', fallbackTo, 1])
  })

  it('settle a call whose answer never came: the vendor repeats our own reference', async () => {
    const line = lineOf('Meta')
    const desk = deskOf(line)
    const tenant = await world().product.tenant()
    const account = await tenant.account({ ...line.account(world().vendors), onUnknown: 'hold' })
    world().vendors.meta.answerWith('reset_after_accept')
    const to = somebody()
    const id = await tenant.submit({ channel: 'whatsapp', to, body: 'Hello' })
    await tenant.comesTo(id, 'uncertain')
    const message = line.taken(world().vendors, to.phone) ?? assert.fail('Meta took nothing')

    await report(line, { ...desk, account }, 'delivered', message)

    await tenant.comesTo(id, 'delivered')
  })

  it('are answered also where they speak of nothing we know', async () => {
    const meta = deskOf(lineOf('Meta'))
    const interakt = deskOf(lineOf('Interakt'))
    const stranger = metaCallback(APP_SECRET, [{ id: 'wamid.unknown', status: 'failed', at: Date.now(), errorCode: 1 }])
    const incoming = interaktCallback(
      { id: 'x', type: 'message_received', at: Date.now() },
      { secret: INTERAKT_SECRET },
    )

    assert.equal(await world().callBack(meta.account.webhookUrl, stranger), 200)
    assert.equal(await world().callBack(interakt.account.webhookUrl, incoming), 200)

    const [kept] = await world().callbacks('interakt')
    assert.deepEqual([kept?.status, kept?.result], ['applied', { reports: 0, matched: 0, moved: 0, unreadable: 0 }])
  })
})

function nextChannel({ channel }: Line): 'sms' | 'email' {
  return channel === 'email' ? 'sms' : 'email'
}

function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

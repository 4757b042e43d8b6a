import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LINES, lineOf } from '../support/loopback-vendors.ts'
import { openReceiptWorld } from '../support/receipt-world.ts'
import { until } from '../support/until.ts'
import { startGate } from '../support/vendor-gate.ts'
import { onEachStore } from '../support/world.ts'

onEachStore('receipts that come at an awkward time', openReceiptWorld, (world) => {
  it('are matched later where they come before our own commit', async (t) => {
    const line = lineOf('Amazon SES')
    const { vendors } = world()
    // SES has the mail and reports on it before its answer to our call has come.
    const gate = await startGate(vendors.ses.url)
    t.after(gate.close)
    const tenant = await world().product.tenant()
    const account = line.account(vendors)
    const settings = { ...(account['settings'] as object), endpoint: gate.url }
    const { webhookUrl } = await tenant.account({ ...account, settings })
    const emails = ['by-message-id@example.com', 'by-reference@example.com']
    const [byMessageId = '', byReference = ''] = await Promise.all(
      emails.map((email) => tenant.submit({ channel: 'email', to: { email }, subject: 'Hello', body: 'Hello' })),
    )
    for (const [i, to] of emails.entries()) {
      const message = await until('SES has the mail', async () => line.taken(vendors, to) ?? false)
      const reference = i === 0 ? null : byReference
      const callback = line.callback(vendors, 'delivered', { ...message, reference })
      assert.equal(await world().callBack(webhookUrl, callback), 200)
    }

    const early = await world().callbacks('ses')
    assert.deepEqual(
      early.map(({ status, result }) => [status, result?.moved]),
      [
        ['pending', 0],
        ['pending', 0],
      ],
    )
    for (const id of [byMessageId, byReference]) assert.equal((await tenant.notification(id)).status, 'sending')
    gate.open()

    for (const id of [byMessageId, byReference]) await tenant.comesTo(id, 'delivered')
    const done = await until('both are over', async () => {
      const kept = await world().callbacks('ses')
      return kept.every(({ status }) => status === 'applied') && kept
    })
    assert.deepEqual(
      done.map(({ result }) => result),
      [
        { reports: 1, matched: 1, moved: 1, unreadable: 0 },
        { reports: 1, matched: 1, moved: 1, unreadable: 0 },
      ],
    )
  })

  it('are not lost when the server stops between taking and applying them', async () => {
    const { vendors } = world()
    const sent = await Promise.all(
      LINES.map(async (line, i) => {
        const tenant = await world().product.tenant()
        const { webhookUrl } = await tenant.account(line.account(vendors))
        const to = { phone: `+91987600000${i}`, email: `restart-${i}@example.com` }
        const { id } = await tenant.send({ channel: line.channel, to, subject: 'Hello', body: 'Hello' })
        const address = line.channel === 'email' ? to.email : to.phone
        const message = line.taken(vendors, address) ?? assert.fail(`${line.name} took nothing`)
        return { line, tenant, webhookUrl, id, message }
      }),
    )

    // Nobody reads them while no worker runs.
    await world().product.stop()
    await world().product.start({ api: true, worker: false })
    for (const { line, webhookUrl, message } of sent)
      assert.equal(await world().callBack(webhookUrl, line.callback(vendors, 'delivered', message)), 200, line.name)
    assert.equal(await world().callBack(sent[0]?.webhookUrl ?? '', { method: 'POST', headers: {}, body: '{}' }), 403)
    for (const { tenant, id } of sent) assert.equal((await tenant.notification(id)).status, 'sent')
    await world().product.stop()
    await world().product.start()

    for (const { tenant, id } of sent) await tenant.comesTo(id, 'delivered')
    assert.deepEqual(await world().refused('meta'), { signature_missing: 1 })
  })
})

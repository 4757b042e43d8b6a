import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NOTIFICATION_STATUSES } from '../../model/notification.ts'
import { dialect } from '../sqlite/scripts.ts'
import { sharedEvents } from './events.ts'
import { sharedNotifications } from './notifications.ts'
import type { Script, ScriptRunner } from './script.ts'

/** Runs scripts on a store that has nothing but the row a cursor names, and keeps what they ask. */
function listener() {
  const asked: string[] = []
  async function read<T>(script: () => Script<T>): Promise<T> {
    const steps = script()
    let step = steps.next([])
    while (!step.done) {
      asked.push(step.value.text)
      step = steps.next(step.value.text.startsWith('select 1 ') ? [{}] : [])
    }
    return step.value
  }
  return { asked, runner: { dialect, read, report: read, write: read } as unknown as ScriptRunner }
}

describe('a list', () => {
  it('of notifications reads no words', async () => {
    const { asked, runner } = listener()
    const { list } = sharedNotifications(runner)

    await list({}, { limit: 50 })
    await list({ tenantId: 'acme', status: [...NOTIFICATION_STATUSES] }, { limit: 50 })
    await list({ tenantId: 'acme', eventId: 'e', q: 'x', possibleDuplicate: true }, { limit: 50 })

    assert.ok(asked.length >= 3)
    for (const text of asked) assert.doesNotMatch(text, /\bcontent\b|\.\*/)
  })

  it('of events reads nothing of what they carry', async () => {
    const { asked, runner } = listener()
    const { list } = sharedEvents(runner)
    const cursor = Buffer.from(JSON.stringify(['acme', 'e-1'])).toString('base64url')

    await list({}, { limit: 50 })
    await list({ tenantId: 'acme', status: 'failed', from: 0, to: 1 }, { limit: 50, cursor })

    assert.equal(asked.length, 3)
    for (const text of asked) assert.doesNotMatch(text, /\bpayload\b|\brecipients\b|\.\*/)
  })
})

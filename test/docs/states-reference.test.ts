import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { EVENT_STATUSES, SCHEDULE_STATUSES } from '../../packages/pillarbox/src/model/event.ts'
import { ACTIONS, NOTIFICATION_STATUSES } from '../../packages/pillarbox/src/model/notification.ts'
import { REASONS } from '../../packages/pillarbox/src/model/reason.ts'
import { OTHER_WORDS } from '../../packages/pillarbox/src/model/words.ts'

const page = await readFile(new URL('../../docs/reference/states.md', import.meta.url), 'utf8')

describe('docs/reference/states.md', () => {
  it('has every notification status, in order, and no other', () => {
    assert.deepEqual(firstCells('Notifications').slice(0, NOTIFICATION_STATUSES.length), [...NOTIFICATION_STATUSES])
    assert.deepEqual(firstCells('Notifications').slice(NOTIFICATION_STATUSES.length), Object.keys(ACTIONS))
  })

  it('says of every action where it may be asked for and what it leads to', () => {
    for (const [action, { from, to }] of Object.entries(ACTIONS)) {
      const row = `| \`${action}\` | ${from.map((status) => `\`${status}\``).join(', ')} | \`${to}\` |`
      assert.ok(page.includes(row), row)
    }
  })

  it('has every event and schedule status', () => {
    assert.deepEqual(firstCells('Events'), [...EVENT_STATUSES])
    assert.deepEqual(firstCells('Schedules'), [...SCHEDULE_STATUSES])
  })

  it('has every reason with its meaning', () => {
    assert.deepEqual(firstCells('Reasons'), Object.keys(REASONS))
    for (const [reason, meaning] of Object.entries(REASONS))
      assert.ok(page.includes(`| \`${reason}\` | ${meaning} |`), reason)
  })
})

describe('the words of other systems in docs/reference/states.md', () => {
  it('are those that are read', () => {
    const text = page.split(`\n## In other systems' words\n`)[1]?.split('\n## ')[0] ?? ''
    const rows = [...text.matchAll(/^\| (\S+) \| `([^`]+)` \|$/gm)].map(([, word = '', ours = '']) => [word, ours])

    assert.deepEqual(rows, Object.entries(OTHER_WORDS))
  })
})

/** What stands in code marks in the first column of a section's tables. */
function firstCells(section: string): string[] {
  const text = page.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? '')
}

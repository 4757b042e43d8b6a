import assert from 'node:assert/strict'
import type { Notification } from '../support/tenant.ts'

/** The words of an HTML mail, one line per paragraph, table row or break. */
export function wordsOf(html: string): string {
  return html
    .replace(/\s*\n\s*/g, ' ')
    .replace(/<\/(p|tr|div)>|<br>/g, '\n')
    .replace(/<\/td>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#34;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .split('\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')
}

/** Nothing was left unfilled, and nothing about it is odd. */
export function assertClean(notifications: readonly Notification[]): void {
  assert.ok(notifications.length > 0)
  for (const { eventType, channel, status, warnings, content, lastError } of notifications) {
    const which = `${eventType} by ${channel}`
    assert.deepEqual(warnings, [], which)
    assert.equal(status, 'sent', `${which}: ${lastError}`)
    assert.doesNotMatch(JSON.stringify(content), /\{\{|\{%|undefined|\[object|NaN/, which)
  }
}

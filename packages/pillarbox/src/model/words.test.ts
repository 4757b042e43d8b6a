import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CHANNELS } from './channel.ts'
import { CONVERSATION_STATUSES } from './conversation.ts'
import { EVENT_STATUSES } from './event.ts'
import { NOTIFICATION_STATUSES } from './notification.ts'
import { OTHER_WORDS, readWord } from './words.ts'

it('reads our own words in any case', () => {
  assert.equal(readWord('WHATSAPP', CHANNELS), 'whatsapp')
  assert.equal(readWord('Parked', NOTIFICATION_STATUSES), 'parked')
  assert.equal(readWord('fcm', ['FCM', 'WNS']), 'FCM')
})

it('reads other systems’ words', () => {
  assert.equal(readWord('Pending', NOTIFICATION_STATUSES), 'queued')
  assert.equal(readWord('DEADLETTERED', NOTIFICATION_STATUSES), 'parked')
  assert.equal(readWord('RESOLVED', CONVERSATION_STATUSES), 'closed')
})

it('leaves a word of ours its meaning, and an unknown one as it is', () => {
  assert.equal(readWord('Pending', EVENT_STATUSES), 'pending')
  assert.equal(readWord('Pigeon', CHANNELS), 'Pigeon')
})

it('means something we have by every word', () => {
  const ours: readonly string[] = [...NOTIFICATION_STATUSES, ...CHANNELS, ...CONVERSATION_STATUSES]
  for (const word of Object.values(OTHER_WORDS)) assert.ok(ours.includes(word), word)
})

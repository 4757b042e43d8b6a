import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Channel } from '../model/channel.ts'
import type { Provider } from './channel.ts'
import { createRegistry } from './registry.ts'

const provider = (name: string, channels: Channel[]): Provider => ({
  name,
  channels,
  capability: () => 'none',
  send: async () => ({ kind: 'accepted', providerMessageId: name }),
})

it('finds a provider by channel and name', () => {
  const smtp = provider('smtp', ['email'])
  const sandbox = provider('sandbox', ['email', 'sms'])

  const registry = createRegistry([smtp, sandbox])

  assert.equal(registry('email', 'smtp'), smtp)
  assert.equal(registry('sms', 'sandbox'), sandbox)
})

it('answers null for a name the channel does not have', () => {
  const registry = createRegistry([provider('smtp', ['email'])])

  assert.equal(registry('sms', 'smtp'), null)
  assert.equal(registry('email', 'constructor'), null)
})

it('names the providers of a channel in the order they were given', () => {
  const registry = createRegistry([provider('smtp', ['email']), provider('sandbox', ['email', 'sms'])])

  assert.deepEqual(registry.names('email'), ['smtp', 'sandbox'])
  assert.deepEqual(registry.names('push'), [])
})

it('refuses two providers of one name on one channel', () => {
  const twice = [provider('smtp', ['email']), provider('smtp', ['sms', 'email'])]

  assert.throws(() => createRegistry(twice), /two providers are called "smtp" on channel email/)
})

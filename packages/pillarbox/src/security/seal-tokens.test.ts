import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sampleCompletion, sampleNotification } from '../../../../test/support/samples.ts'
import type { Completion } from '../dispatch/dispatch-store.ts'
import type { Address } from '../model/recipient.ts'
import type { Store } from '../store/store.ts'
import { type TokenDoors, withSealedTokens } from './seal-tokens.ts'
import { createTokenSeal } from './token-seal.ts'

it('does not compile where a method that takes or answers something to send to is forgotten', () => {
  interface Post {
    letters: {
      post(letters: readonly { to: Address }[]): Promise<void>
      find(id: string): Promise<{ deep: { to: Address } | null }>
      count(tenantId: string, filter: Record<string, string>): Promise<number>
    }
    stamps: { count(): Promise<number> }
    close(): Promise<void>
  }
  const letters = { post: async () => {}, find: async () => ({ deep: null }) }

  const all: TokenDoors<Post> = { letters }
  // @ts-expect-error: a part is forgotten
  const none: TokenDoors<Post> = {}
  // @ts-expect-error: of a part, a method that takes
  const withoutPost: TokenDoors<Post> = { letters: { find: letters.find } }
  // @ts-expect-error: of a part, a method that answers
  const withoutFind: TokenDoors<Post> = { letters: { post: letters.post } }

  assert.equal([all, none, withoutPost, withoutFind].length, 4)
})

it('seals the tokens of whoever takes over, and of the channels that a chain passed over or ended with', async () => {
  const written: Completion[] = []
  const complete = async (_workerId: string, completions: readonly Completion[]) => {
    written.push(...completions)
    return { fenced: [], lanes: [] }
  }
  const tokens = createTokenSeal(Buffer.alloc(32, 1))
  const store = withSealedTokens({ dispatch: { complete } } as unknown as Store, tokens)
  const to = { email: 'ada@example.test', deviceToken: 'fcm-token', platform: 'fcm' as const }
  const next = { ...sampleNotification({ to }), passedOver: [sampleNotification({ to, channel: 'push' })] }

  await store.dispatch.complete('worker', [
    sampleCompletion({ next }),
    sampleCompletion({ skipped: next.passedOver }),
    sampleCompletion(),
  ])

  const [taken, ended, plain] = written
  const all = [taken?.next, ...(taken?.next?.passedOver ?? []), ...(ended?.skipped ?? [])]
  const sealed = [to.email, tokens.seal(next.tenantId, to.deviceToken)]
  assert.deepEqual(
    all.map((one) => [one?.to.email, one?.to.deviceToken]),
    [sealed, sealed, sealed],
  )
  assert.equal(plain?.next, null)
})

it('asks for the rows of the tenants whose turn it is', async () => {
  const asked: unknown[] = []
  const take = async (...given: unknown[]) => {
    asked.push(given)
    return { rows: [], crashes: [], write: async () => {}, release: async () => {} }
  }
  const plan = { takeEvents: take, takeSchedules: take }
  const store = withSealedTokens({ plan } as unknown as Store, createTokenSeal(Buffer.alloc(32, 1)))
  const turns = { after: 'acme', without: ['slow'] }

  await store.plan.takeEvents(5, turns)
  await store.plan.takeSchedules(6, { only: 'slow' })

  assert.deepEqual(asked, [
    [5, turns],
    [6, { only: 'slow' }],
  ])
})

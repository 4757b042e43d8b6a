import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createManualClock } from '../../../../test/support/manual-clock.ts'
import { recordingLogger, storedAccount } from '../../../../test/support/samples.ts'
import { DEFAULT_BREAKER } from '../model/account.ts'
import { SAFE_RETRY } from '../model/retry.ts'
import type { StoredAccount } from '../store/store.ts'
import { createAccountBook, type OpenSecrets } from './account-book.ts'

const MAX_AGE_MS = 1_000

function setup(rows: StoredAccount[] = [storedAccount()], openSecrets: OpenSecrets = () => ({ apiKey: 'opened' })) {
  const clock = createManualClock()
  const logger = recordingLogger()
  const stored = new Map(rows.map((row) => [row.id, row]))
  const read: string[] = []
  const book = createAccountBook({
    accounts: {
      find: async (_tenantId, id) => {
        read.push(id)
        return stored.get(id) ?? null
      },
    },
    openSecrets,
    clock,
    logger,
    maxAgeMs: MAX_AGE_MS,
  })
  return { book, clock, logger, stored, read }
}

it('opens secrets and policy, and hands out nothing that is sealed', async () => {
  const { book } = setup([storedAccount({ sealedSecrets: 'sealed!', secretNames: ['apiKey'] })])

  const account = (await book.get(['account-1'])).get('account-1')

  assert.deepEqual(account?.secrets, { apiKey: 'opened' })
  assert.deepEqual(account?.retry, { kind: 'fixed', maxAttempts: 3, delayMs: 1_000 })
  assert.equal(account?.retryWarning, null)
  assert.ok(!JSON.stringify(account).includes('sealed'))
})

it('reads an account once in a while, and feels a change within that time', async () => {
  const { book, clock, stored, read } = setup()
  await book.get(['account-1'])
  stored.set('account-1', storedAccount({ status: 'suspended' }))

  await clock.advance(MAX_AGE_MS - 1)
  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'active')
  await clock.advance(1)

  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'suspended')
  assert.equal(read.length, 2)
})

it('leaves out accounts that do not exist, and remembers that for a while too', async () => {
  const { book, read } = setup()

  const found = await book.get(['account-1', 'gone'])
  await book.get(['gone'])

  assert.deepEqual([...found.keys()], ['account-1'])
  assert.deepEqual(read, ['account-1', 'gone'])
})

it('lets callers that must not wait see what was last read, however old', async () => {
  const { book, clock } = setup()
  assert.equal(book.peek('account-1'), null)

  await book.get(['account-1'])
  await clock.advance(60 * MAX_AGE_MS)

  assert.equal(book.peek('account-1')?.id, 'account-1')
})

it('replaces a stored policy that makes no sense, and says so once', async () => {
  const { book, clock, logger } = setup([storedAccount({ retry: { maxAttempts: -1 } })])

  await book.get(['account-1'])
  await clock.advance(MAX_AGE_MS)
  const account = (await book.get(['account-1'])).get('account-1')

  assert.deepEqual(account?.retry, SAFE_RETRY)
  assert.match(account?.retryWarning ?? '', /maxAttempts/)
  assert.equal(logger.lines.length, 1)
})

it('gives an account without a breaker of its own the usual one', async () => {
  const { book } = setup([storedAccount({ breaker: null as never })])

  assert.deepEqual((await book.get(['account-1'])).get('account-1')?.breaker, DEFAULT_BREAKER)
})

it('keeps an account whose secrets cannot be opened from stopping the others (P7, P8)', async () => {
  const open: OpenSecrets = ({ id }) => {
    if (id === 'account-2') throw new Error('sealed with another key')
    return {}
  }
  const { book, clock, logger } = setup([storedAccount(), storedAccount({ id: 'account-2' })], open)

  const found = await book.get(['account-1', 'account-2'])
  await clock.advance(MAX_AGE_MS)
  await book.get(['account-1', 'account-2'])

  assert.deepEqual([found.get('account-1')?.status, found.get('account-2')?.status], ['active', 'paused'])
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => [level, fields['accountId']]),
    [['error', 'account-2']],
  )
})

it('still counts an account as suspended when its secrets cannot be opened: its rows stop', async () => {
  const { book } = setup([storedAccount({ status: 'suspended' })], () => {
    throw new Error('sealed with another key')
  })

  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'suspended')
})

it('uses an account again once its secrets can be opened', async () => {
  let canOpen = false
  const { book, clock } = setup([storedAccount()], () => {
    if (!canOpen) throw new Error('sealed with another key')
    return {}
  })
  await book.get(['account-1'])

  canOpen = true
  await clock.advance(MAX_AGE_MS)

  assert.equal((await book.get(['account-1'])).get('account-1')?.status, 'active')
})

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { allProviders } from '../../packages/pillarbox/src/channels/all.ts'
import { webhookPath } from '../../packages/pillarbox/src/http/webhooks.ts'
import { createReceiptSources } from '../../packages/pillarbox/src/receipts/sources.ts'
import { systemClock } from '../../packages/pillarbox/src/runtime/system.ts'
import { closedOutbound } from '../support/providers.ts'
import { providersPage } from './providers-page.ts'

const REFERENCE = new URL('../../docs/reference/providers.md', import.meta.url)
const UPDATE = 'UPDATE_DOCS=1 npm run test:file -- test/docs/providers-page.test.ts'

const { outbound } = closedOutbound()
const providers = allProviders({
  outbound,
  dial: async () => ({ kind: 'failure', code: 'connect_failed', error: 'no way out', hasLeft: false }),
  clock: systemClock,
  inbox: { put: () => assert.fail('nothing is sent here'), seal: () => assert.fail('nothing is sent here') },
})
const receipts = new Map(
  [...createReceiptSources({ outbound, clock: systemClock, certHosts: [] }).values()].flatMap((source) =>
    source.providers.map((provider): [string, string] => [provider, webhookPath(source, '{tenantId}')]),
  ),
)
const page = providersPage(providers, receipts)

if (process.env['UPDATE_DOCS'] === '1') writeFileSync(REFERENCE, page)

describe('docs/reference/providers.md', () => {
  it('is equal to what the providers say of themselves', () => {
    assert.equal(readFileSync(REFERENCE, 'utf8'), page, `providers.md is out of date: ${UPDATE}`)
  })

  it('has words for every provider, and every field of it', () => {
    for (const { name, words, fields } of providers) {
      assert.match(words ?? '', /\.$/, `${name} has no words, or ones that are no sentence`)
      assert.ok(fields, `${name} does not say what it takes`)
      for (const [field, { words: of }] of Object.entries({ ...fields.settings, ...fields.secrets }))
        assert.match(of, /\.$/, `${name}: ${field}`)
    }
  })

  it('names the vendors’ packages, each of which is an optional peer of ours', () => {
    const manifest = JSON.parse(
      readFileSync(new URL('../../packages/pillarbox/package.json', import.meta.url), 'utf8'),
    ) as {
      peerDependencies: Record<string, string>
      peerDependenciesMeta: Record<string, { optional?: boolean }>
    }
    const sdks = providers.flatMap(({ sdk }) => sdk ?? []).toSorted()

    assert.deepEqual(Object.keys(manifest.peerDependencies).toSorted(), sdks)
    for (const sdk of sdks) assert.equal(manifest.peerDependenciesMeta[sdk]?.optional, true, sdk)
  })

  it('knows of every provider that a receipt may speak of', () => {
    const names = new Set(providers.map(({ name }) => name))

    assert.deepEqual(
      [...receipts.keys()].filter((name) => !names.has(name)),
      [],
    )
  })
})

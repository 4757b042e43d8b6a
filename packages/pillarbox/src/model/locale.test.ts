import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bestByLocale } from './locale.ts'

function best(has: readonly string[], ...wanted: (string | null | undefined)[]): string | null {
  return (
    bestByLocale(
      has.map((locale) => ({ locale })),
      wanted,
    )?.locale ?? null
  )
}

describe('the best words for somebody', () => {
  it('are in the very locale they prefer', () => {
    assert.equal(best(['de', 'de-AT', 'de-DE', 'en'], 'de-AT'), 'de-AT')
  })

  it('are else in its language', () => {
    assert.equal(best(['de-DE', 'de', 'en'], 'de-AT'), 'de')
    assert.equal(best(['zh', 'zh-Hant', 'zh-Hans-CN'], 'zh-Hant-TW'), 'zh-Hant')
  })

  it('are else in any form of its language, the nearest first, then by name', () => {
    assert.equal(best(['de-DE', 'de-CH', 'en'], 'de-AT'), 'de-CH')
    assert.equal(best(['de-DE', 'en'], 'de'), 'de-DE')
    assert.equal(best(['zh-Hans-CN', 'zh-Hant-HK'], 'zh-Hant-TW'), 'zh-Hant-HK')
  })

  it('follow the preferences in their order: a form of the first beats the second itself', () => {
    assert.equal(best(['en', 'de-DE'], 'de-AT', 'en'), 'de-DE')
    assert.equal(best(['en', 'de-DE'], 'fr', 'en', 'de'), 'en')
  })

  it('are the first by locale where none fits, however they were stored', () => {
    assert.equal(best(['pt', 'en', 'it'], 'fr'), 'en')
    assert.equal(best(['it', 'pt', 'en']), 'en')
  })

  it('are found whatever the spelling of the locale', () => {
    assert.equal(best(['de-DE', 'en-IN'], 'EN_in'), 'en-IN')
    assert.equal(best(['pt-br', 'en'], 'pt-BR'), 'pt-br')
    assert.equal(best(['de', 'en'], ' en '), 'en')
  })

  it('are not those of a language that merely begins alike', () => {
    assert.equal(best(['den', 'fr'], 'de'), 'den')
    assert.equal(best(['den-CA', 'aa'], 'de'), 'aa')
  })

  it('skip preferences that are not known', () => {
    assert.equal(best(['de', 'en'], null, undefined, '', 'de'), 'de')
  })

  it('are none where there are none', () => {
    assert.equal(best([], 'de'), null)
  })

  it('do not depend on the order of the candidates', () => {
    const locale = fc.constantFrom('de', 'de-DE', 'de-AT', 'en', 'en-IN', 'zh-Hant', 'zh-Hant-TW', 'zh')
    fc.assert(
      fc.property(fc.uniqueArray(locale), fc.array(locale), (has, wanted) => {
        assert.equal(best(has, ...wanted), best(has.toReversed(), ...wanted))
      }),
    )
  })
})

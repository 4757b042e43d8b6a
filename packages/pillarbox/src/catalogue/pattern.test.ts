import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { boundedPattern, PATTERN_STEPS, patternMeter, patternProblem } from './pattern.ts'

const EVERYDAY = [
  '^[A-Z]{2}\\d+$',
  '^\\+[1-9]\\d{6,14}$',
  '^[^@\\s]+@[^@\\s]+\\.[a-z]+$',
  '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2})?Z?)?$',
  '^-?\\d+(\\.\\d+)?$',
  '^(sms|email|push)$',
  '^(foo|bar)(,(foo|bar))*$',
  '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$',
  '^(?=.*[A-Z])(?=.*\\d).+$',
  '^(?:ab)+$',
  '^\\p{Lu}\\p{Ll}*$',
  '^[\\]\\\\(+*]+$',
  'confirmed',
]

const CATASTROPHIC = [
  '(a+)+$',
  '^(a*)*b',
  '^(a|a)*$',
  '^(a|ab)*$',
  '^([a-z]+,?)+$',
  '^(\\w+\\s?)*$',
  '^(a?){30}a{30}$',
  '^(?:(?:a|b)?c)*$',
  `^${'a?'.repeat(40)}${'a'.repeat(40)}$`,
  `^${'a{0,9}'.repeat(20)}$`,
  'a*a*a*b',
  '^.*.*.*.*=$',
  '^(.*)(.*)(.*)(.*)$',
  '^(?<x>a+)+$',
]

describe('a pattern in a payload’s schema', () => {
  for (const pattern of EVERYDAY)
    it(`may be ${pattern}`, () => {
      assert.equal(patternProblem(pattern), null)
    })

  for (const pattern of CATASTROPHIC)
    it(`may not be ${pattern.slice(0, 40)}`, () => {
      assert.match(patternProblem(pattern) ?? 'was taken', /^could take (for ever|very long)/)
    })

  it('may not be long, nor be no pattern at all', () => {
    assert.match(patternProblem('a'.repeat(201)) ?? '', /at most 200 characters \(got 201\)/)
    assert.match(patternProblem('(') ?? '', /must be a regular expression: \S/)
    assert.match(patternProblem('[b-a]') ?? '', /must be a regular expression/)
  })

  it('answers in a moment, whatever it is and whatever it looks at', () => {
    const piece = fc.constantFrom('a', 'b', '.', '\\w', '[ab]', '(a|b)', '(a|ab)', '(?:ab)', '^', '$', '(a*)', '(?=a)')
    const times = fc.constantFrom('', '', '*', '+', '?', '{2}', '{0,3}', '{1,}', '*?')
    const pattern = fc.array(fc.tuple(piece, times), { minLength: 1, maxLength: 8 }).map((all) => all.flat().join(''))
    fc.assert(
      fc.property(pattern, (text) => {
        if (patternProblem(text) !== null) return
        const bounded = boundedPattern(text)
        const startedAt = performance.now()
        for (const length of [1_000, 10_000]) for (const end of ['', '!']) bounded.test('a'.repeat(length) + end)
        const took = performance.now() - startedAt
        assert.ok(took < 10_000, `${text} took ${took} ms`)
      }),
      { numRuns: 200 },
    )
  })

  it('does not match what is too long for it to look at', () => {
    const test = (pattern: string, length: number): boolean => {
      patternMeter.left = PATTERN_STEPS
      return boundedPattern(pattern).test('a'.repeat(length))
    }

    assert.equal(test('^a+$', 100_000), true)
    assert.equal(test('^a+b*$', 4_000), true)
    assert.equal(test('^a+b*$', 4_001), false)
    assert.equal(test('^a+b*c+$', 251), false)
  })
})

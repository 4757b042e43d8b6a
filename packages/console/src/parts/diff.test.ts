import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { diffOf } from './diff.ts'

const told = (before: string, after: string): string[] =>
  diffOf(before, after).map(({ kind, text, number }) => `${{ same: ' ', gone: '-', new: '+' }[kind]}${number} ${text}`)

describe('what changed between two texts', () => {
  it('is told line by line, with the numbers of the text that each line is of', () => {
    assert.deepEqual(told('a\nb\nc', 'a\nx\nc\nd'), [' 1 a', '-2 b', '+2 x', ' 3 c', '+4 d'])
  })

  it('is nothing where nothing changed', () => {
    assert.deepEqual(told('a\nb', 'a\nb'), [' 1 a', ' 2 b'])
  })

  it('finds a line that was moved on one side only', () => {
    assert.deepEqual(told('a\nb\nc', 'b\nc\na'), ['-1 a', ' 1 b', ' 2 c', '+3 a'])
  })
})

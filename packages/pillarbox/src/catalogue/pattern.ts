/** The longest pattern that a payload's schema may have. */
const MAX_PATTERN = 200

/** Powers of ten: an unbounded repetition counts as a thousand ways to match, and more than a thousand million are too many. */
const UNBOUNDED = 3
const MAX_COST = 9

/**
 * How many steps the patterns of one payload may still take, all texts together. Whoever checks a payload sets it; what is
 * looked at when it is used up does not match.
 */
export const patternMeter = { left: 0 }
export const PATTERN_STEPS = 20_000_000

/** Longer texts than a pattern can look at in a moment do not match it. */
export interface BoundedPattern {
  test(text: string): boolean
  maxLength: number
  toString(): string
}

/**
 * What is wrong with a regular expression that anybody may have written and that is to look at whatever anybody sends;
 * null where it is harmless. Backtracking takes as many steps as there are ways to match, so those are estimated:
 * repetition within repetition multiplies without end, and every further repetition by the length of the text.
 */
export function patternProblem(pattern: string): string | null {
  if (pattern.length > MAX_PATTERN) return `must have at most ${MAX_PATTERN} characters (got ${pattern.length})`
  try {
    new RegExp(pattern, 'u')
  } catch (error) {
    return `must be a regular expression: ${reasonOf(error)}`
  }
  const cost = costOf(pattern)
  if (cost === 'nested')
    return 'could take for ever on some texts: it repeats something that itself varies in length, such as (a+)*; take one of them out'
  return cost > MAX_COST
    ? 'could take very long on some texts: take some of its *, +, ? and | out, or begin it with ^'
    : null
}

/** A pattern that has no problem, for use. */
export function boundedPattern(pattern: string): BoundedPattern {
  const expression = new RegExp(pattern, 'u')
  const cost = costOf(pattern)
  const maxLength = cost === 'nested' || cost > 2 * UNBOUNDED ? 250 : cost > UNBOUNDED ? 4_000 : Infinity
  const degree = cost === 'nested' ? 3 : Math.max(1, Math.ceil(cost / UNBOUNDED))
  return {
    test(text) {
      const steps = text.length ** degree
      if (text.length > maxLength || steps > patternMeter.left) return false
      patternMeter.left -= steps
      return expression.test(text)
    },
    maxLength,
    toString: () => expression.toString(),
  }
}

/** Ways to match a long text, as a power of ten; `nested` where there is no telling. */
function costOf(pattern: string): number | 'nested' {
  const reader: PatternReader = { pattern, at: 0 }
  const body = alternatives(reader)
  if (body === 'nested') return 'nested'
  // Without an anchor every place of the text is tried as the beginning.
  return body + (pattern.startsWith('^') ? 0 : UNBOUNDED)
}

interface PatternReader {
  readonly pattern: string
  at: number
}

/** Up to the closing bracket, or the end. Alternatives that begin differently leave no choice, and cost nothing. */
function alternatives(reader: PatternReader): number | 'nested' {
  const costs: number[] = []
  const beginnings: (string | null)[] = []
  for (;;) {
    beginnings.push(literalAt(reader))
    const cost = sequence(reader)
    if (cost === 'nested') return 'nested'
    costs.push(cost)
    if (reader.pattern[reader.at] !== '|') break
    reader.at += 1
  }
  const isClear = !beginnings.includes(null) && new Set(beginnings).size === beginnings.length
  return Math.max(...costs) + (isClear ? 0 : Math.log10(costs.length))
}

function sequence(reader: PatternReader): number | 'nested' {
  let cost = 0
  while (reader.at < reader.pattern.length) {
    const next = reader.pattern[reader.at]
    if (next === '|' || next === ')') break
    const inner = atom(reader)
    if (inner === 'nested') return 'nested'
    const repeated = repetition(reader)
    if (repeated === null) cost += inner
    else {
      const [least, most] = repeated
      if (inner > 0 && most === Infinity) return 'nested'
      cost += most === Infinity ? UNBOUNDED : inner * most + Math.log10(most - least + 1)
    }
  }
  return cost
}

/** One character, class or group; answers how many ways the group itself can match. */
function atom(reader: PatternReader): number | 'nested' {
  const { pattern } = reader
  const first = pattern[reader.at]
  if (first === '[') {
    for (reader.at += 1; reader.at < pattern.length && pattern[reader.at] !== ']'; reader.at += 1)
      if (pattern[reader.at] === '\\') reader.at += 1
    reader.at += 1
    return 0
  }
  if (first !== '(') {
    reader.at += first === '\\' ? escapeLength(pattern, reader.at) : 1
    return 0
  }
  reader.at += /^\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?/.exec(pattern.slice(reader.at))?.[0].length ?? 1
  const cost = alternatives(reader)
  reader.at += 1
  return cost
}

/** Least and most times the atom before may occur; null where it occurs once. */
function repetition(reader: PatternReader): [number, number] | null {
  const match = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(reader.pattern.slice(reader.at))
  if (!match) return null
  const [whole, sign, least = '', comma, most = ''] = match
  reader.at += whole.length
  if (sign !== undefined) return sign === '?' ? [0, 1] : [sign === '+' ? 1 : 0, Infinity]
  if (comma === '') return [Number(least), Number(least)]
  return [Number(least), most === '' ? Infinity : Number(most)]
}

/** `\d` is two long, `\p{Letter}` and `\u{1f600}` as long as their braces. */
function escapeLength(pattern: string, at: number): number {
  return (
    /^\\(?:[pPu]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|k<[^>]*>|c[a-zA-Z]|.)/u.exec(pattern.slice(at))?.[0].length ??
    2
  )
}

/** The plain character that comes next; null where something else does. */
function literalAt({ pattern, at }: PatternReader): string | null {
  const [, escaped, plain] = /^(?:\\([^\w\s])|([^\\^$.*+?()[\]{}|]))(?![*?{])/u.exec(pattern.slice(at)) ?? []
  return escaped ?? plain ?? null
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.slice(text.lastIndexOf(': ') + 2)
}

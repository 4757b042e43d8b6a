import path from 'node:path'
import { importsOf, type SourceFile } from './source-files.ts'

/**
 * What can be said about test code by reading it without a parser: comments and the words of strings are blanked out, so
 * that brackets balance and names are names. A helper that asserts counts for the test that calls it as a statement.
 */

/** Each test whose body neither asserts nor calls a helper that does, as `<path>:<line>`. */
export function testsWithoutAssertion(files: readonly SourceFile[]): string[] {
  const code = new Map(files.map((file) => [file.path, blanked(file.text)]))
  const asserts = helperJudge(files, code)
  return files
    .filter((file) => file.path.endsWith('.test.ts'))
    .flatMap((file) => {
      const text = code.get(file.path) ?? ''
      return [...text.matchAll(/^[ \t]*(?:it|test)(?:\.only)?(?=\()/gm)]
        .filter(({ index, 0: { length } }) => !asserts(file.path, bracketed(text, index + length)))
        .map(({ index }) => placeOf(file.path, text, index))
    })
}

/** Where test code sleeps by the real clock, or sets a timer by it, as `<path>:<line>`. */
export function sleeps(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path: file, text }) => {
    const code = blanked(text)
    const timers = /import \{[^}]*\bsetTimeout(?: as (\w+))?[^}]*\} from 'node:timers\/promises'/.exec(text)
    const own = timers ? `|(?<![.\\w])${timers[1] ?? 'setTimeout'}\\(` : ''
    const calls = code.matchAll(new RegExp(`\\bsystemClock\\.sleep\\(|(?<![.\\w])setTimeout\\(${own}`, 'g'))
    return [...new Set([...calls].map(({ index }) => placeOf(file, code, index)))]
  })
}

/** Loops that ask again and again and never give up: without a condition of their own, or turn after turn. */
export function endlessPolls(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path: file, text }) => {
    const code = blanked(text)
    return [...code.matchAll(/\b(?:for \(;;\)|while (?=\())/g)].flatMap(({ index, 0: loop }) => {
      const at = index + loop.length
      const condition = loop.startsWith('for') ? '' : bracketed(code, at)
      const body = statementAt(code, at + condition.length)
      const isEndless = condition === '' || condition === '(true)'
      const isPoll = isEndless ? /\bawait\b/.test(body) : /\bsetImmediate\(|\bnextTurn\(/.test(body)
      return isPoll && !/\bthrow\b|\bassert\b|\bdone\b/.test(body) ? [placeOf(file, code, index)] : []
    })
  })
}

const ASSERTION = /\bassert\w*[.(]|\buntil\(|\bcomesTo\(/
/** Calls whose result nobody keeps: alone in their statement or loop, returned, or all that an arrow function does. */
const BARE_CALL = /(?:^[ \t]*|=> |\breturn |\) )(?:await |void )?(?:[\w.]+\.)?(\w+)\(/gm

/** Answers whether a piece of a file's code asserts, by itself or through functions of this or an imported file. */
function helperJudge(files: readonly SourceFile[], code: ReadonlyMap<string, string>) {
  const imports = new Map(files.map(({ path: file, text }) => [file, importedNames(file, text)]))
  return function asserts(file: string, piece: string, seen: ReadonlySet<string> = new Set()): boolean {
    if (ASSERTION.test(piece)) return true
    return [...piece.matchAll(BARE_CALL)].some(([, name = '']) => {
      const home = imports.get(file)?.get(name) ?? file
      const key = `${home} ${name}`
      if (seen.has(key)) return false
      const definitions = definitionsOf(name, code.get(home) ?? '')
      return definitions.some((definition) => asserts(home, definition, new Set([...seen, key])))
    })
  }
}

/** Which relative import a name comes from. */
function importedNames(file: string, text: string): Map<string, string> {
  const names = new Map<string, string>()
  for (const specifier of importsOf(text).filter((each) => each.startsWith('.'))) {
    const home = path.posix.join(path.posix.dirname(file), specifier)
    const clause = new RegExp(`import \\{([^}]*)\\} from '${specifier.replaceAll('.', '\\.')}'`).exec(text)?.[1] ?? ''
    for (const name of clause.matchAll(/\b(?!type\b)(\w+)\b(?! as )/g)) if (name[1]) names.set(name[1], home)
  }
  return names
}

function definitionsOf(name: string, code: string): string[] {
  return [
    ...code.matchAll(
      new RegExp(`\\bfunction\\*? ${name}\\b|\\b(?:const|let) ${name}\\b|\\b${name}(?=\\(.*\\{$)`, 'gm'),
    ),
  ].map(({ index }) => statementAt(code, index))
}

/** From an opening parenthesis to the one that closes it. */
function bracketed(code: string, at: number): string {
  let depth = 0
  for (let i = at; i < code.length; i++) {
    if ('([{'.includes(code[i] ?? ' ')) depth++
    if (')]}'.includes(code[i] ?? ' ') && --depth === 0) return code.slice(at, i + 1)
  }
  return code.slice(at)
}

/** To the end of the line on which every bracket is closed again. */
function statementAt(code: string, at: number): string {
  let depth = 0
  for (let i = at; i < code.length; i++) {
    if ('([{'.includes(code[i] ?? ' ')) depth++
    if (')]}'.includes(code[i] ?? ' ')) depth--
    if (depth < 0 || (depth === 0 && code[i] === '\n' && code.slice(at, i).trim() !== '')) return code.slice(at, i)
  }
  return code.slice(at)
}

function placeOf(file: string, code: string, index: number): string {
  const start = index + (/^\s*/.exec(code.slice(index))?.[0].length ?? 0)
  return `${file}:${code.slice(0, start).split('\n').length}`
}

/** The same text, as long, with blanks for comments and for what is inside strings, templates and patterns. */
function blanked(text: string): string {
  return text.replaceAll(TOKEN, (token, ...groups) => {
    const { value = '', comment, quoted, pattern } = groups.at(-1) as Record<string, string | undefined>
    if (comment !== undefined) return comment.replaceAll(/[^\n]/g, ' ')
    const inside = quoted ?? pattern
    if (inside === undefined) return token
    return `${value}${inside[0]}${inside.slice(1, -1).replaceAll(/[^\n]/g, ' ')}${inside.at(-1)}`
  })
}

/** A slash begins a pattern only where no value stands before it, so what may stand before it belongs to the match. */
const TOKEN =
  /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<quoted>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`)|(?<value>[(,=:[!&|?{};+\n]\s*|\breturn )(?<pattern>\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*)/g

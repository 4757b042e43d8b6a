/**
 * What moves the cursor of somebody's terminal, changes its colours, or turns the order of what is read: control characters,
 * C1's and those of Unicode included.
 */
const UNSAFE = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const UNSAFE_RUNS = new RegExp(`${UNSAFE.source}+`, 'gu')
/** Those of them that JSON does not escape by itself. */
const UNSAFE_IN_JSON = new RegExp(UNSAFE.source, 'gu')

/** What vendors and applications wrote, for one line of a terminal. */
export function onOneLine(text: string): string {
  return text.replaceAll(UNSAFE_RUNS, ' ')
}

/** The same for several lines. */
export function onLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => onOneLine(line))
    .join('\n')
}

/** JSON on one line that may be printed in a terminal, too. */
export function jsonLine(value: unknown): string {
  const escaped = JSON.stringify(value).replaceAll(
    UNSAFE_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${escaped}\n`
}

/** Those of East Asia and most emoji take two places of a line. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u
const PLACELESS = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** How many places of a line a text takes. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  return [...graphemes.segment(text)].reduce((width, { segment }) => width + placesOf(segment), 0)
}

/** So much of a text as fits, with … where some is left out. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let taken = 0
  for (const { segment } of graphemes.segment(text)) {
    const places = placesOf(segment)
    if (taken + places > width - 1) break
    kept += segment
    taken += places
  }
  return `${kept}…`
}

function placesOf(grapheme: string): number {
  return PLACELESS.test(grapheme) ? 0 : WIDE.test(grapheme) ? 2 : 1
}

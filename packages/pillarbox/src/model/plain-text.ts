import { compile } from 'html-to-text'
import type { Channel } from './channel.ts'

/** Elements within elements: mails made by hand or by an editor have twenty or so. */
const MAX_DEPTH = 100
/** Directly within one element. */
const MAX_CHILDREN = 20_000
const MAX_CHARACTERS = 1_000_000
/** Stands where the converter left something out; nobody's text has it. */
const LEFT_OUT = '\ufdd0left out\ufdd1'

/** What a reader without HTML is shown: a mail's lines are wrapped, as mail programs expect. */
const converters = { mail: converter(78), inbox: converter(false) }

function converter(wordwrap: number | false): (html: string) => string {
  return compile({
    wordwrap,
    selectors: [{ selector: 'img', format: 'skip' }],
    limits: { maxDepth: MAX_DEPTH, maxChildNodes: MAX_CHILDREN, ellipsis: LEFT_OUT },
  })
}

/**
 * The text of an HTML body, for the channels that carry HTML; or why there is none. What it costs is bounded, but may be
 * seconds for what somebody made to be slow, so that it is made once, when a notification is, and where it can be stopped.
 */
export function plainTextOf(html: string, channel: Channel): { text: string } | { problem: string } {
  if (html.length > MAX_CHARACTERS) return { problem: `the HTML has more than ${MAX_CHARACTERS} characters` }
  const text = converters[channel === 'in_app' ? 'inbox' : 'mail'](html)
  if (text.includes(LEFT_OUT))
    return { problem: `the HTML is nested more than ${MAX_DEPTH} deep, or has ${MAX_CHILDREN} elements side by side` }
  if (text.length > MAX_CHARACTERS)
    return { problem: `the text of the HTML has more than ${MAX_CHARACTERS} characters` }
  return { text }
}

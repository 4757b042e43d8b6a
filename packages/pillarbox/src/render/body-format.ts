import type { BodyFormat } from '../model/catalogue.ts'
import type { Channel } from '../model/channel.ts'

/** Whether a template's body is HTML, and what is filled into it escaped: as it says itself, else by its look. */
export function isHtmlBody(channel: Channel, body: string, format: BodyFormat | null): boolean {
  return takesHtml(channel) && (format === null ? looksLikeHtml(body) : format === 'html')
}

/** What is wrong with a body's format; null when the channel can carry it. */
export function formatProblem(channel: Channel, format: BodyFormat | null): string | null {
  return format !== 'html' || takesHtml(channel) ? null : `must be text: ${channel} carries no HTML`
}

function takesHtml(channel: Channel): boolean {
  return channel === 'email' || channel === 'in_app'
}

const ELEMENTS =
  'a|abbr|address|article|aside|b|big|blockquote|body|br|button|caption|center|cite|code|col|colgroup|dd|del|div|dl|dt|em|' +
  'figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|img|input|ins|kbd|label|li|link|main|map|mark|meta|nav|ol|' +
  'p|pre|q|s|section|small|span|strike|strong|style|sub|sup|svg|table|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|video'

/** The tag of an element that HTML has, or a doctype. Stops at the next `<`, so that tags that do not end cost no more than others. */
const ELEMENT = new RegExp(`<!doctype html|</?(?:${ELEMENTS})(?:\\s[^<>]*|/)?>`, 'i')

/** Whether a body is meant as HTML where nobody says: `a < b`, `<3` and `Ada <ada@example.com>` are text. */
export function looksLikeHtml(body: string): boolean {
  return ELEMENT.test(body)
}

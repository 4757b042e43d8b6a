/** W3C Trace Context: version, trace id, parent id and flags, in lower-case hex. */
const FORM = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The header `traceparent` where it has its form; null: there is none to carry on, and a wrong one counts as none. */
export function traceparentOf(header: unknown): string | null {
  return typeof header === 'string' && FORM.test(header) ? header : null
}

import { escapeHtml } from '../model/html.ts'

const MARK = '[redacted]'
const MAX_INPUT = 16_384
const MAX_OUTPUT = 1_000

/**
 * Text that came from outside or from an exception, made fit to be stored and shown: credentials are replaced by a
 * mark, control characters by spaces, and it is cut to 1,000 characters. `secrets` are values known to be secret, such as those
 * of the account in use; they are removed in plain, URL-encoded, HTML-escaped and base64 form, and short ones where they
 * stand as a word of their own. What else looks like a secret goes too; ordinary words stay, also after a name like "token:",
 * so that a vendor's message can still be read. Doing it twice changes nothing more. Takes time linear in the text.
 */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let clean = text.length > MAX_INPUT ? cutAtSpace(text) : text
  // The longest first: one secret may be the beginning of another.
  for (const secret of [...secrets].toSorted((a, b) => b.length - a.length)) {
    if (secret.length < SHORT && secret.length >= SHORTEST) clean = clean.replaceAll(asWord(secret), MARK)
    else for (const form of formsOf(secret)) clean = clean.replaceAll(form, MARK)
  }
  for (const [pattern, replacement] of PATTERNS)
    clean = typeof replacement === 'string' ? clean.replace(pattern, replacement) : clean.replace(pattern, replacement)
  clean = clean.replace(MARKS, MARK).replace(CONTROLS, ' ').trim()
  return clean.length > MAX_OUTPUT ? `${clean.slice(0, MAX_OUTPUT - 1).toWellFormed()}…` : clean
}

/**
 * For logs: also without email addresses and telephone numbers. Most of what a line says are ids and words of ours, in
 * which there is nothing to find: those are told at a glance, since a search takes 7 µs and a line has ten of them.
 */
export function redactForLog(text: string, secrets: readonly string[] = []): string {
  if (text.length < LONGEST_PLAIN && PLAIN.test(text) && !secrets.some((secret) => secret && text.includes(secret)))
    return text
  return redact(text, secrets).replace(EMAIL, '[address]').replace(PHONE, '[address]')
}

/** Shorter than anything that is taken for a secret by its length alone. */
const LONGEST_PLAIN = 40
/** A UUID, or words and small numbers with hyphens and the like between them, of which none begins like a known key. */
const PLAIN =
  /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?!.*(?:pb[xu]_|[prs]k_|gh[oprsu]_|xox|AIza|eyJ))(?:[A-Za-z]{1,15}|\d{1,6})(?:[._/-](?:[A-Za-z]{1,15}|\d{1,6}))*)$/

// Every pattern is made of classes that cannot overlap with what follows them, and repeats are bounded or anchored by
// a literal, so that none can backtrack its way to more than linear time.
const PATTERNS: readonly (readonly [RegExp, string | ((whole: string, ...groups: string[]) => string)])[] = [
  // PEM blocks; one that was cut off ends with the text.
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[^-]*(?:-----END [A-Z0-9 ]{1,40}-----)?/g, MARK],
  // user:password@ in URLs of any scheme
  [/([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"'<>]{1,1024}@/gi, `$1${MARK}@`],
  // Authorization schemes; "basic authentication is disabled" is a sentence.
  [
    /\b((?:bearer|basic|digest)(?:\s{1,4}|\s{0,4}[:=]\s{0,4}))([\w.~+/=:-]{8,})/gi,
    (whole, scheme = '', value = '') => (isWords(value) ? whole : `${scheme}${MARK}`),
  ],
  [/\bAWS4-HMAC-SHA256\b[^\r\n]{0,2048}/g, `AWS4-HMAC-SHA256 ${MARK}`],
  // A scheme that nobody has heard of, and what follows it
  [
    /(authorization["']?\s{0,4}[:=]\s{0,4}["']?[a-z][\w-]{0,30} {1,4})([^\s"',;[]{4,4096})/gi,
    (whole, scheme = '', value = '') => (isWords(value) ? whole : `${scheme}${MARK}`),
  ],
  // name: value, name=value, "name": "value" where the name says that the value is secret
  [
    /((pass(?:word|wd|phrase)?|pwd|secret|token|api[-_ ]?key|auth[-_ ]?key|access[-_ ]?key(?:[-_ ]?id)?|account[-_ ]?key|shared[-_]?access[-_]?key|private[-_ ]?key|signature|sig|credentials?|authorization|cookie|session[-_ ]?id|otp)["']?\s{0,4}[:=]\s{0,4})("[^"]{0,4096}"|'[^']{0,4096}'|(?:\[redacted\]|[^\s"'&,;)}\]]){1,4096})/gi,
    (whole, assigned = '', name = '', value = '') => (isRemark(assigned, name, value) ? whole : `${assigned}${MARK}`),
  ],
  // Well-known forms of keys
  [/\bpb[xu]_[\w.-]{8,}/g, MARK],
  [/\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}\b/g, MARK],
  [/\b(?:sk|pk|rk)_(?:live|test)_\w{8,}/g, MARK],
  [/\bgh[pousr]_\w{20,}/g, MARK],
  [/\bxox[abprs]-[\w-]{10,}/g, MARK],
  [/\bEAA[A-Za-z0-9]{20,}/g, MARK],
  [/\bya29\.[\w-]{10,}/g, MARK],
  [/\bAIza[\w-]{20,}/g, MARK],
  // JSON web tokens, whole or cut
  [/\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, MARK],
  // Long hex and base64, which is what unnamed secrets look like. UUIDs are shorter between their hyphens.
  [/(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{40,}={0,2}/g, (whole) => (isPath(whole) ? whole : MARK)],
  [/(?<![0-9A-Fa-f])[0-9A-Fa-f]{32,}(?![0-9A-Fa-f])/g, MARK],
]

/**
 * Whether what follows a name such as "token" is the rest of a sentence: after a colon and a space, unquoted, and in words.
 * Where people choose the secret themselves it may be any word, so only those stay that say what is wrong with it.
 */
function isRemark(assigned: string, name: string, value: string): boolean {
  if (value === MARK) return true
  if (!/:\s+$/.test(assigned) || /["']$/.test(assigned.trimEnd().slice(0, -1))) return false
  if (!CHOSEN.test(name)) return isWords(value)
  return REMARKS.has(value.toLowerCase().replaceAll(/^[(]|[.:!?]+$/g, ''))
}

const CHOSEN = /^(?:pass|pwd|secret|otp|cookie)/i

/** How sentences about a password go on. */
const REMARKS = new Set(
  `a access account already an and are authentication bad be but can cannot could credentials denied did disabled does empty
  error expected expired fail failed failure for format forbidden from has have if in incorrect invalid is it its key length
  locked login malformed match may mismatch missing must need needed needs no none not nothing null of only or parameter
  password please refused rejected required revoked secret should the their there this to token too try unauthorized unknown
  unset use used user value was were when wrong you your`.split(/\s+/),
)

/**
 * Ordinary words, also joined like not_found or re-authenticate. They are letters of one case, can be spoken, and are no
 * longer than words are; secrets that machines make have digits, both cases, or a length that no word has.
 */
function isWords(value: string): boolean {
  if (value.length > 48) return false
  const words = value.replaceAll(/^[(]|[.:!?…]+$/g, '').split(/[-_/’]/)
  return words.every(isWord) && words.some((word) => word !== '')
}

function isWord(word: string): boolean {
  if (word === '') return true
  if (word.length > LONGEST_WORD || !/^(?:[A-Z]?[a-z]+|[A-Z]{1,14})$/.test(word)) return false
  return word.length < 4 || (/[aeiouy]/i.test(word) && !/[^aeiouy]{5}/i.test(word))
}

const LONGEST_WORD = 16

/** Words, small numbers, versions and UUIDs between slashes and hyphens, as in the path of a URL or a template's name. */
function isPath(text: string): boolean {
  const parts = text.replaceAll(UUID, '').split(/[/_-]/)
  return parts.every((part) => isWord(part) || /^v?\d{1,6}$/.test(part))
}

const UUID = /(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])/gi

const MARKS = /(?:\[redacted\]){2,}/g
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu
const EMAIL = /[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,250}/g
const PHONE = /(?<!\w)\+[1-9]\d{6,14}(?!\d)/g

/** Very short values are left alone: removing every "a" or "25" would say nothing and hide nothing. */
const SHORTEST = 4
const SHORT = 6

function formsOf(secret: string): Set<string> {
  if (secret.length < SHORT) return new Set()
  const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '')
  return new Set([
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    escapeHtml(secret),
    base64,
  ])
}

/** A PIN such as 4711, but not the 4711 in 1047110. */
function asWord(secret: string): RegExp {
  const literally = secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(`(?<![\\p{L}\\p{N}])${literally}(?![\\p{L}\\p{N}])`, 'gu')
}

/** A cut through the middle of a secret could leave a half that no pattern knows. */
function cutAtSpace(text: string): string {
  const cut = text.slice(0, MAX_INPUT)
  const space = cut.lastIndexOf(' ')
  return space < MAX_INPUT / 2 ? '' : cut.slice(0, space)
}

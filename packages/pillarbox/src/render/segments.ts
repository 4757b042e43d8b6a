/** How an SMS is cut into the messages that are sent and paid for. */
export interface Segments {
  encoding: 'GSM-7' | 'UCS-2'
  /** Septets in GSM-7, where some characters take two; 16-bit units in UCS-2, where an emoji takes two. */
  units: number
  /** 0 only for an empty text. */
  segments: number
  /** Units still free in the last segment. */
  remaining: number
  /** The characters that GSM-7 lacks and that therefore make it UCS-2; each once, the first 20. */
  forcedBy: string[]
}

/** The basic character set of GSM 03.38 (3GPP TS 23.038 §6.2.1), without its escape character. */
const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
/** Its extension (§6.2.1.1): an escape and a second septet each. */
const EXTENSION = '\f^{}\\[~]|€'

const SEPTETS = new Map(Array.from(BASIC, (character) => [character, 1]))
for (const character of EXTENSION) SEPTETS.set(character, 2)

/** One message alone, and each of several: a header that joins them takes six octets. */
const CAPACITY = { 'GSM-7': { single: 160, joined: 153 }, 'UCS-2': { single: 70, joined: 67 } } as const
const MAX_FORCED_BY = 20

/** Counts as the phone networks do: a character that takes two units is never cut in two. */
export function segmentsOf(text: string): Segments {
  const forcedBy = new Set<string>()
  let septets = 0
  for (const character of text) {
    const width = SEPTETS.get(character)
    if (width === undefined) {
      if (forcedBy.size < MAX_FORCED_BY) forcedBy.add(character)
    } else septets += width
  }
  const encoding = forcedBy.size > 0 ? 'UCS-2' : 'GSM-7'
  const units = encoding === 'GSM-7' ? septets : text.length
  const { single, joined } = CAPACITY[encoding]
  if (units <= single) {
    return { encoding, units, segments: units === 0 ? 0 : 1, remaining: single - units, forcedBy: [...forcedBy] }
  }

  let segments = 1
  let remaining: number = joined
  for (const character of text) {
    const width = encoding === 'GSM-7' ? (SEPTETS.get(character) ?? 0) : character.length
    if (width > remaining) {
      segments += 1
      remaining = joined
    }
    remaining -= width
  }
  return { encoding, units, segments, remaining, forcedBy: [...forcedBy] }
}

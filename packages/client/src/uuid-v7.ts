import { randomBytes as hostRandomBytes, wallClock } from './host-process.ts'

export interface UuidSources {
  now: () => number
  randomBytes: (count: number) => Uint8Array
}

const MAX_SEQUENCE = 0xfff
const RANDOM_BYTES = 10
/** Asking the source costs far more than the bytes do, so it is asked for those of many ids at once. */
const IDS_PER_DRAW = 128
const HEX: readonly string[] = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))

/**
 * A source of UUIDv7 (RFC 9562): each one sorts after the one before it, also within a millisecond and when the wall
 * clock steps back. The twelve bits after the version count within the millisecond, from a random start.
 */
export function uuidV7Source({ now, randomBytes }: UuidSources): () => string {
  let lastMs = -1
  let time = ''
  let sequence = 0
  let random: Uint8Array = new Uint8Array()
  let used = 0

  return () => {
    if (used + RANDOM_BYTES > random.length) {
      random = randomBytes(RANDOM_BYTES * IDS_PER_DRAW)
      used = 0
    }
    const at = used
    used += RANDOM_BYTES

    const ms = now()
    if (ms > lastMs) {
      lastMs = ms
      time = timeText(lastMs)
      // Half the range is left to count up in before the next millisecond has to be borrowed.
      sequence = ((byte(random, at + 8) << 8) | byte(random, at + 9)) & (MAX_SEQUENCE >> 1)
    } else if (sequence < MAX_SEQUENCE) {
      sequence += 1
    } else {
      lastMs += 1
      time = timeText(lastMs)
      sequence = 0
    }

    const counter = `7${hexByte(sequence >> 8).slice(1)}${hexByte(sequence & 0xff)}`
    const variant = `${hexByte((byte(random, at) & 0x3f) | 0x80)}${hexByte(byte(random, at + 1))}`
    let node = ''
    for (let index = at + 2; index < at + 8; index += 1) node += hexByte(byte(random, index))
    return `${time}-${counter}-${variant}-${node}`
  }
}

/** A new UUIDv7 from the host's clock and random source. */
export const newUuidV7: () => string = uuidV7Source({ now: wallClock, randomBytes: hostRandomBytes })

/** The first two groups. */
function timeText(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

function byte(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}

function hexByte(value: number): string {
  return HEX[value] ?? ''
}

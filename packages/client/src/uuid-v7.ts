import { randomBytes as hostRandomBytes, wallClock } from './host-process.ts'

export interface UuidSources {
  now: () => number
  randomBytes: (count: number) => Uint8Array
}

const MAX_SEQUENCE = 0xfff

/**
 * A source of UUIDv7 (RFC 9562): each one sorts after the one before it, also within a millisecond and when the wall
 * clock steps back. The twelve bits after the version count within the millisecond, from a random start.
 */
export function uuidV7Source({ now, randomBytes }: UuidSources): () => string {
  let lastMs = -1
  let sequence = 0

  return () => {
    const random = randomBytes(10)
    const ms = now()
    if (ms > lastMs) {
      lastMs = ms
      // Half the range is left to count up in before the next millisecond has to be borrowed.
      sequence = ((byte(random, 8) << 8) | byte(random, 9)) & (MAX_SEQUENCE >> 1)
    } else if (sequence < MAX_SEQUENCE) {
      sequence += 1
    } else {
      lastMs += 1
      sequence = 0
    }

    const time = lastMs.toString(16).padStart(12, '0')
    const variant = ((byte(random, 0) & 0x3f) | 0x80).toString(16)
    const node = [1, 2, 3, 4, 5, 6, 7].map((index) => hexByte(byte(random, index))).join('')
    const counter = sequence.toString(16).padStart(3, '0')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${node.slice(0, 2)}-${node.slice(2)}`
  }
}

/** A new UUIDv7 from the host's clock and random source. */
export const newUuidV7: () => string = uuidV7Source({ now: wallClock, randomBytes: hostRandomBytes })

function byte(bytes: Uint8Array, index: number): number {
  return bytes[index] ?? 0
}

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

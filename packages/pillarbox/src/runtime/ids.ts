import type { Clock, IdSource, Random } from '../model/ports.ts'

/**
 * UUIDv7 ids that sort in the order they were made, also within one millisecond: the 12 bits after the version count
 * up, and a full counter borrows the next millisecond. Ids of one source never repeat, even when the clock goes back.
 */
export function createIdSource(clock: Clock, random: Random): IdSource {
  let lastMs = -1
  let counter = 0
  return () => {
    const now = Math.max(Math.floor(clock.now()), 0)
    if (now > lastMs) {
      lastMs = now
      counter = Math.floor(random() * 0x400)
    } else if (++counter > 0xfff) {
      lastMs += 1
      counter = 0
    }
    const time = lastMs.toString(16).padStart(12, '0').slice(-12)
    const high = (0x8000 | Math.floor(random() * 0x4000)).toString(16)
    const low = hex(random, 6) + hex(random, 6)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${high}-${low}`
  }
}

function hex(random: Random, digits: number): string {
  return Math.floor(random() * 16 ** digits)
    .toString(16)
    .padStart(digits, '0')
}

/** JSON pointers (RFC 6901): `/eventTypes/booking.confirmed/templates/0`. */

/** The pointer to what `key` names within what `pointer` leads to. */
export function pointerTo(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The keys that a pointer leads through, in order. */
export function pointerKeys(pointer: string): string[] {
  return pointer.split('/').slice(1).map(unescapedStep)
}

/** The key that one step of a pointer stands for. */
export function unescapedStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
